// SPDX-License-Identifier: MIT
#include "session/chunk_output.hpp"

#include "format/chunk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rangefinder::session {
namespace {

bool holds_events(const format::ChunkHeader& header) noexcept {
  switch (static_cast<format::ChunkKind>(header.kind)) {
    case format::ChunkKind::kHostEvents:
    case format::ChunkKind::kKernels:
    case format::ChunkKind::kMemcpys:
    case format::ChunkKind::kMemsets:
    case format::ChunkKind::kApiCalls:
    case format::ChunkKind::kSyncs:
    case format::ChunkKind::kOverheads: return true;
    default: return false;
  }
}

}  // namespace

Result<FileOutput> FileOutput::create(const std::string& path, bool replace, const format::FileHeader& header) {
  FileOutput output;
  output.path_ = path;
  int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  output.fd_ = base::Fd(::open(path.c_str(), flags, 0600));
  if (!output.fd_.valid() && errno == EEXIST && replace) {
    // A new file under the old name, so that a reader that has the old one open keeps it whole. Only plain files go.
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
      return Error(ErrorCode::kExists, path + ": is there and is no plain file; not replaced");
    ::unlink(path.c_str());
    output.fd_ = base::Fd(::open(path.c_str(), flags, 0600));
  }
  if (!output.fd_.valid()) return base::system_error("create", path, errno);
  const format::FileHeader sealed = format::sealed(header);
  Status status = base::write_at(output.fd_, std::as_bytes(std::span(&sealed, 1)), 0, path);
  if (!status) return std::move(status).error();
  output.offset_ = sizeof sealed;
  return output;
}

Status FileOutput::put(const format::ChunkHeader&, base::ByteView chunk) {
  Status status = base::write_at(fd_, chunk, offset_, path_);
  if (!status) return status;
  offset_ += chunk.size();
  ++sequence_;
  return {};
}

Status RingOutput::put(const format::ChunkHeader& header, base::ByteView chunk) {
  ++sequence_;
  Kept kept{header, base::Bytes(chunk.begin(), chunk.end())};
  if (!holds_events(header)) {
    context_.push_back(std::move(kept));
    return {};
  }
  event_bytes_ += kept.bytes.size();
  const bool host = header.kind == static_cast<std::uint16_t>(format::ChunkKind::kHostEvents);
  events_.push_back(std::move(kept));
  drop_old(host ? header.last : 0);
  return {};
}

void RingOutput::drop_old(std::uint64_t newest_ticks) {
  const auto too_old = [&](const Kept& kept) {
    // Device chunks have no ticks: they leave with the host chunks around them.
    const bool host = kept.header.kind == static_cast<std::uint16_t>(format::ChunkKind::kHostEvents);
    return host && limits_.ticks != 0 && newest_ticks > limits_.ticks && kept.header.last < newest_ticks - limits_.ticks;
  };
  while (!events_.empty() && (event_bytes_ > limits_.bytes || too_old(events_.front()))) {
    overwritten_ += events_.front().header.rows;
    event_bytes_ -= events_.front().bytes.size();
    events_.pop_front();
  }
}

Status RingOutput::dump(const std::string& path, bool replace) const {
  Result<base::AtomicFile> file = base::AtomicFile::create(path, replace);
  if (!file) return std::move(file).error();
  format::FileHeader header = header_;
  header.flags |= format::kFlagRing;
  header = format::sealed(header);
  Status status = file->write(std::as_bytes(std::span(&header, 1)));
  std::uint64_t written = 0;
  for (const auto* kept : {&context_, &events_}) {
    for (const Kept& chunk : *kept) {
      if (status.ok()) status = file->write(chunk.bytes);
      ++written;
    }
  }
  base::Bytes end;
  format::ChunkHeader end_header{};
  end_header.kind = static_cast<std::uint16_t>(format::ChunkKind::kEnd);
  end_header.sequence = written;
  format::append_chunk(end, end_header, {});
  if (status.ok()) status = file->write(end);
  return status.ok() ? file->commit() : status;
}

}  // namespace rangefinder::session
