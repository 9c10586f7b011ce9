// SPDX-License-Identifier: MIT
#include "session/chunk_output.hpp"

#include "format/chunk.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rangefinder::session {

Status FileOutput::put(const format::ChunkHeader& header, base::ByteView chunk) {
  Status status = base::write_at(file_->fd(), chunk, offset_, file_->path());
  if (!status) {
    // Where even this fails, the next chunk is written over the piece.
    [[maybe_unused]] const int cut = ::ftruncate(file_->fd().get(), static_cast<off_t>(offset_));
    return status;
  }
  if (format::holds_events(static_cast<format::ChunkKind>(header.kind)))
    events_at_ = offset_, events_bytes_ = chunk.size(), events_rows_ = header.rows;
  offset_ += chunk.size();
  ++sequence_;
  return {};
}

Status FileOutput::read_since(OutputCursor& cursor, const Use& use) const {
  base::Bytes bytes;
  while (cursor.offset < offset_) {
    format::ChunkHeader header;
    Result<std::size_t> size =
        base::read_at(file_->fd(), std::as_writable_bytes(std::span(&header, 1)), cursor.offset, file_->path());
    if (!size) return std::move(size).error();
    // What another hand has cut or written over is found out by the checks of read_chunk.
    bytes.resize(
        std::min<std::uint64_t>(offset_ - cursor.offset, sizeof header + format::padded(header.payload_bytes)));
    size = base::read_at(file_->fd(), bytes, cursor.offset, file_->path());
    if (!size) return std::move(size).error();
    const Result<format::ChunkView> chunk = format::read_chunk({bytes.data(), *size}, 0, false);
    if (!chunk) return chunk.error();
    if (!use(chunk->header, chunk->payload)) return {};
    cursor.offset += chunk->next_offset;
    cursor.sequence = chunk->header.sequence + 1;
  }
  return {};
}

/// What stands behind it moves to its place: no byte more is needed.
std::optional<std::uint64_t> FileOutput::take_back_events() {
  if (events_bytes_ == 0) return std::nullopt;
  const std::uint64_t behind = events_at_ + events_bytes_;
  base::Bytes rest(offset_ - behind);
  const Result<std::size_t> read = base::read_at(file_->fd(), rest, behind, file_->path());
  if (!read || *read != rest.size()) return std::nullopt;
  if (!base::write_at(file_->fd(), rest, events_at_, file_->path()).ok()) return std::nullopt;
  offset_ = events_at_ + rest.size();
  [[maybe_unused]] const int cut = ::ftruncate(file_->fd().get(), static_cast<off_t>(offset_));
  events_bytes_ = 0;
  return events_rows_;
}

Status FileOutput::check() const {
  struct stat info {};
  const std::string& path = file_->path();
  if (::fstat(file_->fd().get(), &info) != 0) return base::system_error("look at", path, errno);
  if (info.st_nlink == 0) return Error(ErrorCode::kIo, path + ": was removed while it was being recorded");
  if (static_cast<std::uint64_t>(info.st_size) < offset_) {
    return Error(ErrorCode::kIo, path + ": was cut while it was being recorded, from " + std::to_string(offset_) +
                                     " bytes to " + std::to_string(info.st_size));
  }
  return {};
}

// ---- the flight recorder ----------------------------------------------------------------------------------------

namespace {
// Threads that nothing is held of: they may record again, and would have no name then.
constexpr std::size_t kMaxIdleThreads = 16384;
}  // namespace

Status RingOutput::put(const format::ChunkHeader& header, base::ByteView chunk) {
  ++sequence_;
  if (header.kind == static_cast<std::uint16_t>(format::ChunkKind::kHostEvents))
    newest_ticks_ = std::max(newest_ticks_, header.last);
  Kept kept{header, newest_ticks_, std::make_shared<const base::Bytes>(chunk.begin(), chunk.end())};
  const auto kind = static_cast<format::ChunkKind>(header.kind);
  if (format::holds_events(kind) && !stays(kind, kept.bytes->size()))
    keep_event(std::move(kept));
  else
    keep_context(std::move(kept));
  return {};
}

bool RingOutput::stays(format::ChunkKind kind, std::size_t bytes) noexcept {
  if (keeping_) return true;
  if (kind != format::ChunkKind::kGraphNodes || graph_bytes_ + bytes > limits_.bytes / 4) return false;
  graph_bytes_ += bytes;
  return true;
}

void RingOutput::leave_behind(const format::ChunkHeader& header, base::ByteView chunk) {
  // Where the chunk stays, or was larger than the bound, there is none.
  if (events_.empty() || events_.back().header.sequence + 1 != sequence_) return;
  Kept& kept = events_.back();
  kept.left = std::make_shared<const base::Bytes>(chunk.begin(), chunk.end());
  kept.left_header = header;
  event_bytes_ += chunk.size();
  drop_old_events();
}

/// How many records stay of one that goes.
std::uint64_t RingOutput::keep_left(Kept& oldest) {
  if (oldest.left == nullptr || graph_bytes_ + oldest.left->size() > limits_.bytes / 4) return 0;
  graph_bytes_ += oldest.left->size();
  keep_context({oldest.left_header, oldest.newest_ticks, oldest.left});
  return oldest.left_header.rows;
}

void RingOutput::keep_event(Kept kept) {
  events_.push_back(std::move(kept));  // first: without memory for it, nothing has changed
  const Kept& newest = events_.back();
  event_bytes_ += cost(newest);
  if (newest.header.kind == static_cast<std::uint16_t>(format::ChunkKind::kHostEvents)) {
    if (const auto thread = threads_.find(newest.header.subject); thread != threads_.end()) ++thread->second.chunks;
  }
  drop_old_events();
}

void RingOutput::drop_old_events() {
  const auto too_old = [&](const Kept& kept) {
    // Device chunks have no ticks: they leave with the host chunks around them.
    const bool host = kept.header.kind == static_cast<std::uint16_t>(format::ChunkKind::kHostEvents);
    const std::uint64_t ticks = host ? kept.header.last : kept.newest_ticks;
    return limits_.ticks != 0 && newest_ticks_ > limits_.ticks && ticks < newest_ticks_ - limits_.ticks;
  };
  const std::size_t before = events_.size();
  while (!events_.empty() && (event_bytes_ > limits_.bytes || too_old(events_.front()))) {
    Kept& oldest = events_.front();
    overwritten_ += oldest.header.rows - keep_left(oldest);
    event_bytes_ -= cost(oldest);
    if (oldest.header.kind == static_cast<std::uint16_t>(format::ChunkKind::kHostEvents)) {
      if (const auto thread = threads_.find(oldest.header.subject); thread != threads_.end()) --thread->second.chunks;
    }
    events_.pop_front();
  }
  if (events_.size() < before) drop_old_context();
}

void RingOutput::keep_context(Kept kept) {
  const std::uint64_t bytes = cost(kept);
  switch (static_cast<format::ChunkKind>(kept.header.kind)) {
    case format::ChunkKind::kClock:
      clock_.push_back(std::move(kept));
      break;
    case format::ChunkKind::kWindows:
      windows_.push_back(std::move(kept));
      break;
    case format::ChunkKind::kHealth:
      health_.push_back(std::move(kept));
      if (health_.size() == 1) break;
      context_bytes_ -= cost(health_.front());
      health_.pop_front();
      break;
    case format::ChunkKind::kThreads: {
      const std::uint64_t thread = kept.header.subject;
      threads_.insert_or_assign(thread, Thread{std::move(kept), 0});
      break;
    }
    default:
      always_.push_back(std::move(kept));
  }
  context_bytes_ += bytes;
}

/// What is older than the oldest events, but for the last of it.
void RingOutput::drop_old(std::deque<Kept>& chunks) {
  const auto host = std::find_if(events_.begin(), events_.end(), [](const Kept& kept) {
    return kept.header.kind == static_cast<std::uint16_t>(format::ChunkKind::kHostEvents);
  });
  const std::uint64_t oldest = host != events_.end() ? host->header.first : newest_ticks_;
  while (chunks.size() > 2 && chunks[1].header.last < oldest) {
    context_bytes_ -= cost(chunks.front());
    chunks.pop_front();
  }
}

void RingOutput::drop_old_context() {
  drop_old(clock_);
  drop_old(windows_);
  for (auto thread = threads_.begin(); thread != threads_.end() && threads_.size() > kMaxIdleThreads;) {
    if (thread->second.chunks != 0) {
      ++thread;
      continue;
    }
    context_bytes_ -= cost(thread->second.kept);
    thread = threads_.erase(thread);
  }
}

/// Events last: what they depend on stands before them.
template <typename Take>
void RingOutput::for_each_kept(const Take& take) const {
  for (const auto* chunks : {&always_, &clock_, &windows_, &health_})
    std::for_each(chunks->begin(), chunks->end(), take);
  for (const auto& [index, thread] : threads_) take(thread.kept);
  std::for_each(events_.begin(), events_.end(), take);
}

Status RingOutput::read_since(OutputCursor& cursor, const Use& use) const {
  std::vector<const Kept*> fresh;
  for_each_kept([&](const Kept& kept) {
    if (kept.header.sequence >= cursor.sequence) fresh.push_back(&kept);
  });
  std::sort(fresh.begin(), fresh.end(),
            [](const Kept* a, const Kept* b) { return a->header.sequence < b->header.sequence; });
  for (const Kept* kept : fresh) {
    const Result<format::ChunkView> chunk = format::read_chunk(*kept->bytes, 0, true);
    if (!chunk) return chunk.error();
    cursor.sequence = chunk->header.sequence;
    if (!use(chunk->header, chunk->payload)) return {};
  }
  cursor.sequence = sequence_;
  return {};
}

/// Of the records that get old.
std::uint64_t RingOutput::oldest_ticks() const noexcept {
  std::uint64_t oldest = newest_ticks_;
  for (const Kept& kept : events_)
    if (kept.header.kind == static_cast<std::uint16_t>(format::ChunkKind::kHostEvents))
      oldest = std::min(oldest, kept.header.first);
  return oldest;
}

RingSnapshot RingOutput::snapshot() const {
  RingSnapshot taken;
  taken.header_ = header_;
  taken.header_.held_since_ticks = oldest_ticks();
  for_each_kept([&](const Kept& kept) { taken.chunks_.push_back(kept.bytes); });
  return taken;
}

Status RingSnapshot::write(const base::Fd& fd, const std::string& path) const {
  std::uint64_t at = 0;
  const auto append = [&](base::ByteView bytes) {
    Status status = base::write_at(fd, bytes, at, path);
    at += bytes.size();
    return status;
  };
  format::FileHeader header = header_;
  header.flags |= format::kFlagRing;
  header = format::sealed(header);
  Status status = append(std::as_bytes(std::span(&header, 1)));
  for (const auto& chunk : chunks_) {
    if (status.ok()) status = append(*chunk);
  }
  base::Bytes end;
  format::ChunkHeader end_header{};
  end_header.kind = static_cast<std::uint16_t>(format::ChunkKind::kEnd);
  end_header.sequence = chunks_.size();
  format::append_chunk(end, end_header, {});
  return status.ok() ? append(end) : status;
}

}  // namespace rangefinder::session
