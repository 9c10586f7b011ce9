// SPDX-License-Identifier: MIT
// The files of a recording: its capture, its live file, and dumps.
#include "buffer/held_records.hpp"
#include "buffer/recorder.hpp"
#include "format/chunk.hpp"
#include "session/options.hpp"
#include "session/output_name.hpp"
#include "session/session_core.hpp"
#include "session/signal_watch.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <utility>

namespace rangefinder::session {
namespace {

buffer::Overflow overflow_of(OverflowPolicy policy) noexcept {
  switch (policy) {
    case OverflowPolicy::kDrop:
      return buffer::Overflow::kDrop;
    case OverflowPolicy::kWait:
      return buffer::Overflow::kWait;
    case OverflowPolicy::kGrow:
      return buffer::Overflow::kGrow;
  }
  return buffer::Overflow::kDrop;
}

}  // namespace

OutputRules SessionCore::output_rules() const {
  OutputRules rules;
  rules.replace = options_.replace;
  rules.has_live = options_.mode != CaptureMode::kBuffered;
  rules.record = dependencies_.record;
  rules.names_process = names_process(options_.output);
  return rules;
}

void SessionCore::write_refusal(SessionOptions options, Dependencies dependencies, std::string_view why) {
  options.mode = CaptureMode::kBuffered;
  SessionCore core(std::move(options), std::move(dependencies));
  format::FileHeader header{};
  if (!core.open_file(header)) return;
  core.write_facts();
  core.writer_->meta("not_recorded", why);
  core.writer_->write_queued();
  core.writer_->write_end();
}

Status SessionCore::open_file(format::FileHeader& header) {
  const clock::ClockPoint now = clock_->sample();
  if (::getrandom(header.capture_id.data(), header.capture_id.size(), 0) !=
      static_cast<ssize_t>(header.capture_id.size()))
    return base::system_error("getrandom", "", errno);
  header.pid = static_cast<std::uint32_t>(pid_);
  header.clock_kind = static_cast<std::uint8_t>(clock_->kind());
  header.ticks_per_second = clock_->ticks_per_second();
  header.start_ticks = start_ticks_ = now.ticks;
  header.start_monotonic_ns = now.monotonic_ns;
  header.start_realtime_ns = now.realtime_ns;
  if (dependencies_.simulated) header.flags |= format::kFlagSimulated;
  if (options_.mode != CaptureMode::kBuffered) header.flags |= format::kFlagLive;
  if (dependencies_.record) header.record_id = dependencies_.record->id;
  return open_output(header);
}

Status SessionCore::open() {
  format::FileHeader header{};
  Status status = open_file(header);
  if (!status) return status;
  dump_requests_seen_ = signal_deliveries(options_.dump_signal);
  status = open_recorder(header);
  if (!status) file_->remove();  // nothing but a header
  return status;
}

Status SessionCore::open_output(format::FileHeader& header) {
  const bool is_ring = options_.mode == CaptureMode::kRing;
  if (is_ring) header.flags |= format::kFlagRing;
  const std::string asked = output_;
  Result<std::shared_ptr<OutputFile>> file =
      claim_output(asked, output_rules(), header, is_ring ? FirstBytes::kNone : FirstBytes::kHeader);
  if (!file) return std::move(file).error();
  file_ = std::move(*file);
  output_ = file_->path();
  std::unique_ptr<ChunkOutput> output;
  if (is_ring) {
    RingLimits limits{options_.ring_bytes, 0};
    limits.ticks = static_cast<std::uint64_t>(static_cast<unsigned __int128>(options_.ring_time.count()) *
                                              clock_->ticks_per_second() / 1000);
    auto ring = std::make_unique<RingOutput>(header, limits);
    ring_ = ring.get();
    output = std::move(ring);
  } else {
    output = std::make_unique<FileOutput>(file_);
  }
  writer_ = std::make_unique<CaptureWriter>(std::move(output), *clock_);
  if (output_ == asked || dependencies_.record) return {};
  log(LogLevel::kWarn, {asked, " belongs to another process; recording to ", output_,
                        ". Put %p (process id) or %r (rank) into the name"});
  writer_->meta("renamed", "another process uses the requested name");
  return {};
}

Status SessionCore::open_recorder(const format::FileHeader& header) {
  buffer::RecorderOptions recorder;
  recorder.arena.live_path = options_.mode == CaptureMode::kBuffered ? std::string() : output_ + ".live";
  recorder.arena.memory_bytes = options_.memory_bytes / (has_device_source() ? 2 : 1);
  recorder.arena.keep_newest = options_.mode == CaptureMode::kRing;
  recorder.arena.limit_bytes = options_.overflow == OverflowPolicy::kGrow ? options_.grow_limit_bytes : 0;
  recorder.arena.file_header = format::sealed(header);
  recorder.overflow = overflow_of(options_.overflow);
  recorder.autograd = options_.autograd;
  recorder.cpu_counters = dependencies_.cpu_counters;
  recorder.clock = clock_;
  has_live_ = !recorder.arena.live_path.empty();
  Status status = buffer::HeldRecords::instance().start_recorder(recorder);
  if (status.ok() || status.error().code() == ErrorCode::kBusy || recorder.arena.live_path.empty()) return status;
  // A file system that cannot hold or map the live file: record without it, and say so in the capture.
  const std::string reason = status.error().message();
  recorder.arena.live_path.clear();
  has_live_ = false;
  status = buffer::HeldRecords::instance().start_recorder(recorder);
  if (status.ok()) {
    writer_->meta("crash_safe", "no: " + reason);
    log(LogLevel::kWarn, {"no live file: a crash loses what is not yet written: ", reason});
  }
  return status;
}

void SessionCore::let_go_of_output() noexcept {
  for (OutputFile* const file : {file_.get(), written_.get()}) {
    if (file == nullptr) continue;
    if (unwanted_.load()) file->remove();
    file->let_go();
  }
}

// ---- a flight recorder's files ----------------------------------------------------------------------------------

Result<std::string> SessionCore::dump(const std::string& path) noexcept try {
  if (ring_ == nullptr)
    return Error(ErrorCode::kInvalidArgument, "dump: only a session with mode=ring keeps a flight recorder");
  if (Status status = flush(); !status.ok()) return std::move(status).error().with_context("dump");
  return write_dump(path);
} catch (const std::exception&) {
  return no_memory();
}

/// Under a name that is not yet published.
Result<base::TemporaryFile> SessionCore::write_ring(const std::string& path) {
  Result<base::TemporaryFile> made = base::TemporaryFile::create(path);
  if (!made) return made;
  // The disk may be slow: the recording goes on meanwhile.
  const RingSnapshot snapshot = writer_->with_output([&](ChunkOutput&) { return ring_->snapshot(); });
  if (Status status = snapshot.write(made->fd(), path); !status.ok()) return std::move(status).error();
  if (::fsync(made->fd().get()) != 0 && errno != EINVAL && errno != EROFS)
    return base::system_error("sync", path, errno);
  return made;
}

Result<std::string> SessionCore::write_dump(const std::string& path) {
  if (file_->has_name(path))
    return Error(ErrorCode::kInvalidArgument, "dump: " + path + " is the session's own capture, which stop writes");
  Result<base::TemporaryFile> made = write_ring(path.empty() ? output_ : path);
  if (!made) return std::move(made).error().with_context("dump");
  if (path.empty()) {
    Result<std::string> name = claim_next_dump(*made, output_, output_rules(), dumps_);
    return name.ok() ? std::move(name) : std::move(name).error().with_context("dump");
  }
  if (Status status = claim_dump(*made, path, output_rules()); !status.ok())
    return std::move(status).error().with_context("dump");
  return path;
}

/// In the place of the empty file that has kept the name; where that was removed, in the place of nothing.
Status SessionCore::write_ring_output() noexcept try {
  Result<base::TemporaryFile> made = write_ring(output_);
  if (!made) return std::move(made).error();
  const int error = file_->has_name(output_) ? made->take_name(output_) : made->take_free_name(output_);
  if (error != 0) return base::system_error("write to", output_, error);
  written_ = std::make_unique<OutputFile>(output_, made->release());
  return {};
} catch (const std::exception&) {
  return no_memory();
}

}  // namespace rangefinder::session
