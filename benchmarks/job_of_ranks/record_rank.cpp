// SPDX-License-Identifier: MIT
#include "job_of_ranks/record_rank.hpp"

#include "buffer/held_records.hpp"
#include "buffer/thread_log.hpp"
#include "clock/clock.hpp"
#include "format/rows.hpp"
#include "session/session_core.hpp"
#include "source/source.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/range.hpp>

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace job {
namespace {

using namespace rangefinder;

// Of device rows in a chunk: what a buffer of CUPTI's holds.
constexpr std::size_t kRowsPerWrite = 4096;
constexpr std::int64_t kAhead_ns = 150'000;                      // the host launches so long before the device is there
constexpr std::uint32_t kLaunchKernel = 211, kMemcpyAsync = 41;  // ids of CUPTI's callbacks of the runtime API
constexpr std::uint32_t kContext = 1, kComputeStream = 7, kGatherStream = 20, kReduceStream = 24;
constexpr std::int64_t kWall_ns = 1'764'200'000'000'000'000;

/// A host's clocks. Time stands still until the job moves it.
class HostClock final : public clock::Clock {
 public:
  explicit HostClock(std::uint32_t host) noexcept
      : booted_ns_(3'600'000'000'000 + std::int64_t{host} * 977'000'000'123),
        drift_ppb_((std::int64_t{host} * 7919) % 40'001 - 20'000),
        wall_error_ns_((std::int64_t{host} * 104'729'001) % 6'000'000 - 3'000'000) {}

  void set(std::int64_t job_ns) noexcept { now_.store(monotonic(job_ns), std::memory_order_relaxed); }
  std::int64_t monotonic(std::int64_t job_ns) const noexcept {
    return booted_ns_ + job_ns + job_ns * drift_ppb_ / 1'000'000'000;
  }
  std::int64_t realtime(std::int64_t job_ns) const noexcept { return monotonic(job_ns) + to_realtime_ns(); }

  clock::ClockKind kind() const noexcept override { return clock::ClockKind::kManual; }
  std::uint64_t ticks_per_second() const noexcept override { return 1'000'000'000; }
  std::uint64_t ticks() noexcept override { return static_cast<std::uint64_t>(now_.load(std::memory_order_relaxed)); }
  clock::ClockPoint sample() noexcept override {
    const std::int64_t now = now_.load(std::memory_order_relaxed);
    return {static_cast<std::uint64_t>(now), now, now + to_realtime_ns(), 0};
  }
  bool inline_ticks() const noexcept override { return false; }

 private:
  std::int64_t to_realtime_ns() const noexcept { return kWall_ns + wall_error_ns_ - booted_ns_; }

  std::int64_t booted_ns_, drift_ppb_, wall_error_ns_;
  std::atomic<std::int64_t> now_{0};
};

/// What is recorded before a session, of CUDA graphs, is by its clock too.
class SessionsClock {
 public:
  explicit SessionsClock(clock::Clock& clock) noexcept { buffer::HeldRecords::instance().forget(&clock); }
  ~SessionsClock() { buffer::HeldRecords::instance().forget(); }
  SessionsClock(const SessionsClock&) = delete;
  SessionsClock& operator=(const SessionsClock&) = delete;
};

/// The rank's device and the CUDA calls of its threads.
class PlayedDevice final : public source::Source {
 public:
  std::string_view name() const noexcept override { return "played"; }
  source::SourceState start(source::RowSink& sink) noexcept override {
    sink_ = &sink;
    format::DeviceRow device{};
    device.name = sink.name("NVIDIA H100 80GB HBM3");
    device.compute_major = 9;
    device.multiprocessors = 132;
    const format::ContextRow context{kContext, 0, kComputeStream};
    sink.write(std::span<const format::DeviceRow>(&device, 1));
    sink.write(std::span<const format::ContextRow>(&context, 1));
    return state();
  }
  void set_active(bool) noexcept override {}
  void flush(std::chrono::steady_clock::time_point) noexcept override {}
  void stop(std::chrono::steady_clock::time_point) noexcept override {}
  source::SourceState state() const noexcept override { return {true, {}}; }

  format::NameId id(const char* text) noexcept { return sink_->name(text); }
  void add(const format::KernelRow& row) { add(kernels_, row); }
  void add(const format::MemcpyRow& row) { add(copies_, row); }
  void add(const format::ApiRow& row) { add(calls_, row); }
  /// By the thread that added them, before the session is stopped.
  void deliver() {
    write(kernels_);
    write(copies_);
    write(calls_);
  }

 private:
  template <typename Row>
  void write(std::vector<Row>& rows) {
    sink_->write(std::span<const Row>(rows));
    rows.clear();
  }
  template <typename Row>
  void add(std::vector<Row>& rows, const Row& row) {
    rows.push_back(row);
    if (rows.size() == kRowsPerWrite) write(rows);
  }

  source::RowSink* sink_ = nullptr;
  std::vector<format::KernelRow> kernels_;
  std::vector<format::MemcpyRow> copies_;
  std::vector<format::ApiRow> calls_;
};

/// Plays the job's steps on one rank.
class Player {
 public:
  Player(const Schedule& schedule, std::uint32_t rank, session::SessionCore& session, HostClock& clock,
         PlayedDevice& device)
      : schedule_(schedule), rank_(rank), session_(session), clock_(clock), device_(device) {
    for (const char* name : kernel_names()) kernel_ids_.push_back(device.id(name));
    for (const char* name : range_names()) range_ids_.emplace_back(name);
    launch_call_ = device.id("cudaLaunchKernel_v7000");
    copy_call_ = device.id("cudaMemcpyAsync_v3020");
    std::vector<std::int64_t> all(schedule.ranks());
    std::iota(all.begin(), all.end(), 0);
    const std::uint32_t first = rank - rank % kRanksPerHost;
    const std::uint32_t in_host = std::min(kRanksPerHost, schedule.ranks() - first);
    const std::string host_group = "host " + std::to_string(rank / kRanksPerHost);
    job_group_ = detail::collective_group({"0", "default_pg", all.data(), all.size(),
                                           static_cast<std::int32_t>(all.size()), static_cast<std::int32_t>(rank)});
    host_group_ =
        detail::collective_group({host_group, "tensor_parallel", all.data() + first, in_host,
                                  static_cast<std::int32_t>(in_host), static_cast<std::int32_t>(rank - first)});
  }

  void play() {
    for (step_ = 0; step_ < schedule_.steps(); ++step_) {
      in_step_ = 0;
      for (std::size_t op = 0; op < step_ops().size(); ++op) {
        const Op& what = step_ops()[op];
        host_ns_ = std::max(host_ns_ + 200, kBegin_ns + time_.compute_ns - kAhead_ns);
        clock_.set(host_ns_);
        run(what, op);
      }
      clock_.set(host_ns_ += 200);
      session_.step();
    }
  }
  static constexpr std::int64_t kBegin_ns = 1'000'000'000;  // of the job, after the session's start

 private:
  void run(const Op& op, std::size_t at) {
    switch (op.kind) {
      case OpKind::kBegin:
        ranges_.push_back(std::make_unique<ProfileRangeHolder>(range_ids_[op.name]));
        return;
      case OpKind::kEnd:
        ranges_.pop_back();
        return;
      case OpKind::kCopy:
        return copy(run_compute(time_, kCopy_ns));
      case OpKind::kKernel:
        launch(kLaunchKernel, launch_call_);
        return kernel(op.name, kComputeStream, run_compute(time_, kernel_ns(rank_, step_, at)));
      case OpKind::kAllReduce:
      case OpKind::kAllGather:
        return communicate(op);
      case OpKind::kWait:
        return wait_for_reduces(time_);
    }
  }

  /// ProfileRange lives on the stack; this is one whose begin and end are ops.
  struct ProfileRangeHolder {
    explicit ProfileRangeHolder(const RangeName& name) : range(name) {}
    ProfileRange range;
  };

  void launch(std::uint32_t callback, format::NameId call) {
    buffer::note_launch(++correlation_, callback);
    format::ApiRow row{};
    row.begin_ns = clock_.realtime(host_ns_ - 100);
    host_ns_ += 3'500;
    row.end_ns = clock_.realtime(host_ns_);
    row.correlation = correlation_;
    row.tid = static_cast<std::uint32_t>(::gettid());
    row.name = call;
    row.callback_id = callback;
    device_.add(row);
    clock_.set(host_ns_);
  }
  template <typename Row>
  void place(Row& row, std::uint32_t stream, Interval ran) const {
    row.begin_ns = clock_.realtime(kBegin_ns + ran.begin_ns);
    row.end_ns = clock_.realtime(kBegin_ns + ran.end_ns);
    row.correlation = correlation_;
    row.context = kContext;
    row.stream = stream;
  }
  void kernel(std::uint32_t name, std::uint32_t stream, Interval ran) {
    format::KernelRow row{};
    place(row, stream, ran);
    row.name = kernel_ids_[name];
    row.grid_x = 132 + name, row.grid_y = row.grid_z = 1;
    row.block_x = 128, row.block_y = row.block_z = 1;
    row.registers_per_thread = 64 + name;
    device_.add(row);
  }
  void copy(Interval ran) {
    launch(kMemcpyAsync, copy_call_);
    format::MemcpyRow row{};
    place(row, kComputeStream, ran);
    row.bytes = 4u << 20;
    row.copy_kind = 1;
    row.source_memory = 2;
    row.target_memory = 3;
    row.flags = 1;
    device_.add(row);
  }
  void communicate(const Op& op) {
    const bool reduces = op.kind == OpKind::kAllReduce;
    detail::CollectiveCall call;
    call.kind = reduces ? CollectiveKind::kAllReduce : CollectiveKind::kAllGather;
    call.name = reduces ? "allreduce_coalesced" : "_allgather_base";
    call.group = reduces ? job_group_ : host_group_;
    call.number = reduces ? reduces_++ : gathers_++;
    call.elements_in = reduces ? 6'553'600 : 1'048'576;
    call.elements_out = reduces ? call.elements_in : call.elements_in * kRanksPerHost;
    call.dtype = "Float";
    const std::uint32_t handle = detail::begin_collective(call);
    clock_.set(host_ns_ += 500);
    launch(kLaunchKernel, launch_call_);
    clock_.set(host_ns_ += 300);
    detail::note_collective(handle, detail::CollectivePhase::kReturned);
    const std::int64_t begin_ns = collective_begin(time_, op.kind);
    const std::int64_t done_ns = schedule_.done_ns(collective_number(step_, in_step_++), rank_);
    kernel(op.name, reduces ? kReduceStream : kGatherStream, {begin_ns, done_ns});
    finish_collective(time_, op.kind, done_ns);
  }

  const Schedule& schedule_;
  std::uint32_t rank_;
  session::SessionCore& session_;
  HostClock& clock_;
  PlayedDevice& device_;
  std::vector<format::NameId> kernel_ids_;
  std::vector<RangeName> range_ids_;
  std::vector<std::unique_ptr<ProfileRangeHolder>> ranges_;
  format::NameId launch_call_ = 0, copy_call_ = 0;
  std::uint32_t job_group_ = 0, host_group_ = 0;
  DeviceTime time_;
  std::int64_t host_ns_ = 0;
  std::uint32_t step_ = 0, in_step_ = 0, correlation_ = 0;
  std::int64_t reduces_ = 0, gathers_ = 0;
};

}  // namespace

Status record_rank(const Schedule& schedule, std::uint32_t rank, const std::string& path) {
  const std::uint32_t host = rank / kRanksPerHost;
  HostClock clock(host);
  clock.set(0);
  const SessionsClock sessions_clock(clock);
  SessionOptions options;
  options.output = path;
  options.nvtx = false;
  options.memory_bytes = std::uint64_t{8} << 20;
  options.overflow = OverflowPolicy::kWait;  // the job is played faster than a program runs
  const std::string name = "node-" + std::to_string(host);
  options.metadata = {{"host", name},
                      {"boot", "boot of " + name},
                      {"rank", std::to_string(rank)},
                      {"world_size", std::to_string(schedule.ranks())}};
  auto device = std::make_shared<PlayedDevice>();
  session::Dependencies parts;
  parts.clock = &clock;
  parts.sources.push_back(device);
  parts.simulated = true;
  auto session = session::SessionCore::start(std::move(options), std::move(parts));
  if (!session) return std::move(session).error();
  Player(schedule, rank, **session, clock, *device).play();
  device->deliver();
  return (*session)->stop();
}

}  // namespace job
