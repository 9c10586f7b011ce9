// SPDX-License-Identifier: MIT
#include "importer/kineto/window.hpp"

#include <pthread.h>

#include <csignal>
#include <cstring>
#include <new>
#include <system_error>

namespace rangefinder::importer::kineto {

ChunkReader::ChunkReader(ByteSource& source, std::uint64_t max_bytes) : source_(source), max_bytes_(max_bytes) {}

ChunkReader::~ChunkReader() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  freed_.notify_one();
  thread_.join();
}

void ChunkReader::fill(Chunk& chunk) {
  if (!chunk.memory) chunk.memory = std::make_unique_for_overwrite<char[]>(kHeadroom + kChunk + kPadding);
  chunk.size = 0;
  while (chunk.size < kChunk) {
    const std::size_t count = source_.read({chunk.data() + chunk.size, kChunk - chunk.size});
    if (count == 0) break;
    chunk.size += count;
  }
  bytes_ += chunk.size;
  exhausted_ = chunk.size < kChunk;
  if (exhausted_) end_ = source_.end();
  if (max_bytes_ != 0 && bytes_ > max_bytes_) {
    end_ = {SourceEnd::Kind::kRefused, "larger than the limit of " + std::to_string(max_bytes_) + " bytes", 0};
    exhausted_ = true;
    chunk.size = 0;
  }
  std::memset(chunk.data() + chunk.size, 0, kPadding);
  chunk.newlines = count_newlines(chunk.data(), chunk.data() + chunk.size);
  chunk.file_position = source_.file_position();
}

/// Nothing may be thrown out of the reader's thread.
void ChunkReader::fill_or_fail(Chunk& chunk) noexcept {
  try {
    fill(chunk);
  } catch (const std::bad_alloc&) {
    chunk.size = 0;
    exhausted_ = true;
    end_.kind = SourceEnd::Kind::kFailed;
    end_.reason = "no memory";
  }
}

void ChunkReader::run() {
  for (;;) {
    Chunk* chunk = nullptr;
    {
      std::unique_lock lock(mutex_);
      if (filled_ - released_ == kChunks)
        freed_.wait(lock, [&] { return stop_ || kChunks - (filled_ - released_) >= kWakeAt; });
      if (stop_) return;
      chunk = &chunks_[filled_ % kChunks];
    }
    fill_or_fail(*chunk);
    bool awaited = false;
    {
      const std::lock_guard lock(mutex_);
      finished_ = exhausted_;
      awaited = filled_ == taken_;
      filled_ += chunk->size != 0 ? 1 : 0;
    }
    if (awaited) filled_more_.notify_one();
    if (exhausted_) return;
  }
}

void ChunkReader::start_thread() noexcept {
  // Signals belong to the threads of the program that called us.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // No thread to be had: the chunks are read as they are asked for.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

const ChunkReader::Chunk* ChunkReader::next() {
  if (thread_.joinable()) return next_from_thread();
  if (finished_) return nullptr;
  Chunk& chunk = chunks_[taken_ % kChunks];
  fill(chunk);
  finished_ = exhausted_;
  if (chunk.size == 0) return nullptr;
  released_ = taken_;
  filled_ = ++taken_;
  if (!finished_ && taken_ == 1) start_thread();
  return &chunk;
}

const ChunkReader::Chunk* ChunkReader::next_from_thread() {
  std::unique_lock lock(mutex_);
  // The chunk before the last one given out is free now: its tail was copied when the last one was taken.
  released_ = taken_ - 1;
  // While the reader sleeps this count grows by one a call, so it does not step over kWakeAt.
  if (kChunks - (filled_ - released_) == kWakeAt) freed_.notify_one();
  filled_more_.wait(lock, [&] { return finished_ || filled_ > taken_; });
  if (filled_ == taken_) return nullptr;
  return &chunks_[taken_++ % kChunks];
}

bool TextWindow::take_chunk(const ChunkReader::Chunk*& chunk) {
  chunk = finished_ ? nullptr : reader_.next();
  if (chunk == nullptr) {
    finished_ = true;
    return false;
  }
  end_offset_ += chunk->size;
  lines_ += chunk->newlines;
  file_position_ = chunk->file_position;
  return true;
}

bool TextWindow::refill() {
  const ChunkReader::Chunk* chunk = nullptr;
  const char* const keep = cursor.at;
  const auto kept = static_cast<std::size_t>(cursor.end - keep);
  if (kept > kMaxValue) {
    too_long_ = true;
    return false;
  }
  if (!take_chunk(chunk)) return false;
  if (kept > ChunkReader::kHeadroom) return refill_spilled(keep, kept, chunk);
  char* const begin = chunk->data() - kept;
  if (kept != 0) std::memcpy(begin, keep, kept);
  cursor.at = begin;
  cursor.end = chunk->data() + chunk->size;
  return true;
}

// A value that is longer than a chunk's headroom is put together elsewhere, at least doubling each time: it is scanned
// again from its beginning whenever more has come.
bool TextWindow::refill_spilled(const char* keep, std::size_t kept, const ChunkReader::Chunk* chunk) {
  std::vector<char> text;
  text.reserve(2 * kept + 2 * ChunkReader::kChunk + kPadding);
  text.assign(keep, keep + kept);
  do {
    text.insert(text.end(), chunk->data(), chunk->data() + chunk->size);
  } while (text.size() < 2 * kept && take_chunk(chunk));
  const std::size_t size = text.size();
  text.resize(size + kPadding, '\0');
  spill_ = std::move(text);
  cursor.at = spill_.data();
  cursor.end = spill_.data() + size;
  return true;
}

std::uint64_t TextWindow::line_of(const char* at) const noexcept { return lines_ - count_newlines(at, cursor.end) + 1; }

std::uint64_t TextWindow::drain(const char* at) {
  const std::uint64_t from = offset_of(at);
  const ChunkReader::Chunk* chunk = nullptr;
  while (take_chunk(chunk)) {
  }
  return end_offset_ - from;
}

}  // namespace rangefinder::importer::kineto
