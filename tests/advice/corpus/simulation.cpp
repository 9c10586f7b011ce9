// SPDX-License-Identifier: MIT
#include "advice/corpus/simulation.hpp"

#include "advice/corpus/meeting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

constexpr std::size_t kQueueLength = 1022;  // launches that a stream takes before the host has to wait
constexpr std::int64_t kGapNs = 600;        // between two kernels of a stream that are both there
constexpr std::int64_t kLaunchNs = 1'200;   // from the end of a launching call to the device
constexpr std::int64_t kSamplePeriodNs = 20'000'000;
constexpr std::uint32_t kFullClockMhz = 1980;
constexpr double kComputeNoise = 0.006;  // of work on processors that are the program's alone

}  // namespace

Simulation::Simulation(std::uint64_t seed, Program program) : program_(std::move(program)), random_(seed) {
  if (program_.has_device) program_.threads.emplace_back(kEngineName);
}

// ---- the host ------------------------------------------------------------------------------------------------------

std::int64_t Simulation::noisy_ns(double us, double deviation) {
  const double factor = std::exp(std::normal_distribution<double>(0, deviation)(random_));
  return std::max<std::int64_t>(1, std::llround(us * 1000 * factor));
}

void Simulation::pass(std::int64_t ns) {
  now_ns_ += ns;
  while (next_sample_ns_ != kNoTime && next_sample_ns_ <= now_ns_) {
    const bool slow = clock_mhz_ < kFullClockMhz;
    program_.sensors.push_back(
        {next_sample_ns_, clock_mhz_, slow ? 540'000u : 610'000u, temperature_c_, 97, throttle_reasons_});
    next_sample_ns_ += kSamplePeriodNs;
  }
}

std::size_t Simulation::open(const std::string& name, RangeKind kind) {
  ProgramRange range;
  range.name = name;
  range.kind = kind;
  range.thread = thread_;
  range.begin_ns = now_ns_;
  range.end_ns = std::numeric_limits<std::int64_t>::max();
  program_.ranges.push_back(std::move(range));
  pass(50);
  return program_.ranges.size() - 1;
}

void Simulation::close(std::size_t range) {
  pass(50);
  program_.ranges[range].end_ns = now_ns_;
}

Simulation::Scope Simulation::op(const std::string& name, const std::string& shapes, const std::string& types) {
  host(2.2);  // Python, or the engine between two nodes
  const std::size_t range = open(name, RangeKind::kOperator);
  program_.ranges[range].shapes = shapes;
  program_.ranges[range].types = types;
  host(1.3);
  return Scope(*this, range);
}

void Simulation::begin_step() {
  end_step();
  program_.steps.push_back({now_ns_, now_ns_});
  in_step_ = true;
}

void Simulation::end_step() {
  if (in_step_) program_.steps.back().end_ns = now_ns_;
  in_step_ = false;
}

std::uint32_t Simulation::begin_call(const std::string& name) {
  program_.calls.push_back({name, thread_, now_ns_, now_ns_, ++correlation_, 0});
  return correlation_;
}

/// The call returns after so long, and not before that time.
void Simulation::end_call(std::int64_t at_least_ns, double us) {
  host(us);
  wait_until(at_least_ns);
  program_.calls.back().end_ns = now_ns_;
}

std::uint32_t Simulation::call(const std::string& name, double us, std::int32_t result) {
  const std::uint32_t correlation = begin_call(name);
  program_.calls.back().result = result;
  end_call(now_ns_, us);
  return correlation;
}

void Simulation::overhead(const std::string& name, double us) {
  const std::int64_t begin_ns = now_ns_;
  host(us);
  program_.overheads.push_back({name, begin_ns, now_ns_, thread_});
}

void Simulation::in_parallel(const std::string& name, const std::vector<double>& us) {
  const std::size_t own_threads = program_.has_device ? 2 : 1;
  std::int64_t last_ns = now_ns_;
  for (std::size_t i = 0; i < us.size(); ++i) {
    const std::size_t thread = own_threads + i;
    while (program_.threads.size() <= thread)
      program_.threads.push_back("worker_" + std::to_string(program_.threads.size() - own_threads));
    ProgramRange range;
    range.name = name;
    range.thread = thread;
    range.begin_ns = now_ns_ + noisy_ns(4, 0.2);
    range.cpu_ns = noisy_ns(us[i], kComputeNoise);
    range.end_ns = range.begin_ns + range.cpu_ns;
    last_ns = std::max(last_ns, range.end_ns);
    program_.ranges.push_back(std::move(range));
  }
  const auto wait = range("join_workers");
  wait_until(last_ns + 3'000);
}

void Simulation::compute(const std::string& name, const std::string& shapes, const std::string& types, double us) {
  const auto computed = op(name, shapes, types);
  pass(noisy_ns(us, kComputeNoise));
}

// ---- the device ----------------------------------------------------------------------------------------------------

std::int64_t Simulation::work_ns(double us) {
  return noisy_ns(us * static_cast<double>(kFullClockMhz) / static_cast<double>(clock_mhz_), 0.015);
}

ProgramWork Simulation::work(ActivityKind kind, std::int64_t stream) const {
  ProgramWork made;
  made.kind = kind;
  made.stream = stream;
  made.correlation = correlation_;
  return made;
}

/// Puts work on a stream; answers when it begins.
std::int64_t Simulation::place(Stream& stream, std::int64_t from_ns, std::int64_t length_ns) {
  const std::int64_t begin_ns = std::max(from_ns, stream.free_ns + kGapNs);
  stream.free_ns = begin_ns + length_ns;
  stream.begins.push_back(begin_ns);
  if (stream.begins.size() > kQueueLength) stream.begins.pop_front();
  return begin_ns;
}

void Simulation::wait_for_room(Stream& stream) {
  if (stream.begins.size() == kQueueLength) wait_until(stream.begins.front());
}

void Simulation::launch(const Kernel& kernel, std::int64_t stream) {
  Stream& on = streams_[stream];
  begin_call(kernel.registers > 128 ? "cudaLaunchKernelExC" : "cudaLaunchKernel");
  wait_for_room(on);
  end_call(now_ns_, 3.4);
  ProgramWork made = work(ActivityKind::kKernel, stream);
  made.name = kernel.name;
  const std::int64_t length_ns = work_ns(kernel.us);
  made.begin_ns = place(on, now_ns_ + kLaunchNs, length_ns);
  made.end_ns = made.begin_ns + length_ns;
  made.kernel = kernel_detail(kernel);
  program_.works.push_back(std::move(made));
}

void Simulation::copy(double latency_us, std::uint64_t bytes, HostMemory memory, std::int64_t stream, CopyDetail detail,
                      std::uint64_t staged_bytes) {
  const bool pageable = memory == HostMemory::kPageable;
  Stream& on = streams_[stream];
  begin_call("cudaMemcpyAsync");
  wait_for_room(on);
  host(4.2);
  const double us = latency_us + static_cast<double>(bytes) / (pageable ? kPageableBytes : kPinnedBytes) / 1000;
  ProgramWork made = work(ActivityKind::kMemcpy, stream);
  const std::int64_t length_ns = noisy_ns(us);
  made.begin_ns = place(on, now_ns_ + kLaunchNs, length_ns);
  made.end_ns = made.begin_ns + length_ns;
  made.bytes = bytes;
  made.copy = detail;
  made.copy.asynchronous = true;
  end_call(pageable && bytes > staged_bytes ? made.end_ns : now_ns_, 0.3);
  program_.works.push_back(std::move(made));
}

void Simulation::copy_to_device(std::uint64_t bytes, HostMemory from, std::int64_t stream) {
  // What fits into the staging buffer is taken out of the program's memory at once.
  copy(1.6, bytes, from, stream,
       {.copy_kind = 1, .source_memory = static_cast<std::uint32_t>(from), .target_memory = 3}, 65536);
}

void Simulation::copy_to_host(std::uint64_t bytes, HostMemory to, std::int64_t stream) {
  copy(1.4, bytes, to, stream, {.copy_kind = 2, .source_memory = 3, .target_memory = static_cast<std::uint32_t>(to)},
       0);
}

void Simulation::item() {
  const auto outer = op("aten::item", "[[]]", "[\"float\"]");
  const auto inner = op("aten::_local_scalar_dense", "[[]]", "[\"float\"]");
  copy_to_host(4, HostMemory::kPinned);
  synchronize_stream();
}

void Simulation::synchronize_stream(std::int64_t stream) {
  const std::uint32_t correlation = begin_call("cudaStreamSynchronize");
  const std::int64_t begin_ns = now_ns_ + 700;
  end_call(streams_[stream].free_ns + 1'500, 2.4);
  program_.syncs.push_back({3, stream, begin_ns, now_ns_ - 600, correlation});
}

void Simulation::synchronize_device(const char* function) {
  const std::uint32_t correlation = begin_call(function);
  const std::int64_t begin_ns = now_ns_ + 700;
  end_call(all_done_ns() + 2'000, 3.1);
  program_.syncs.push_back({4, kComputeStream, begin_ns, now_ns_ - 600, correlation});
}

ProgramEvent Simulation::record_event(std::int64_t stream) {
  const std::uint32_t correlation = call("cudaEventRecordWithFlags", 0.9);
  const ProgramEvent event{correlation, stream, std::max(now_ns_, streams_[stream].free_ns)};
  program_.events.push_back(event);
  return event;
}

void Simulation::synchronize_event(const ProgramEvent& event) {
  const std::uint32_t correlation = begin_call("cudaEventSynchronize");
  const std::int64_t begin_ns = now_ns_ + 500;
  end_call(event.done_ns + 1'500, 1.6);
  program_.syncs.push_back({1, event.stream, begin_ns, now_ns_ - 400, correlation, event});
}

std::int64_t Simulation::all_done_ns() const {
  std::int64_t done_ns = 0;
  for (const auto& [id, stream] : streams_) done_ns = std::max(done_ns, stream.free_ns);
  return done_ns;
}

void Simulation::wait_event(std::int64_t stream, std::int64_t other) {
  const ProgramEvent event = record_event(other);
  const std::int64_t begin_ns = now_ns_;
  const std::uint32_t correlation = call("cudaStreamWaitEvent", 0.8);
  program_.syncs.push_back({2, stream, begin_ns, now_ns_, correlation, event});
  streams_[stream].free_ns = std::max(streams_[stream].free_ns, event.done_ns + 500 - kGapNs);
}

std::uint64_t Simulation::allocate(std::uint64_t bytes, double us) {
  const std::uint64_t address = next_address_;
  next_address_ += (bytes + 0x1fffff) & ~std::uint64_t{0x1fffff};
  const std::uint32_t correlation = call("cudaMalloc", us);
  program_.allocations.push_back({now_ns_ - 300, false, address, bytes, correlation});
  return address;
}

void Simulation::free(std::uint64_t address, double us) {
  const std::uint32_t correlation = begin_call("cudaFree");
  wait_until(all_done_ns() + 1'000);
  end_call(now_ns_, us);
  program_.allocations.push_back({now_ns_ - 300, true, address, 0, correlation});
}

void Simulation::launch_graph(const std::vector<Kernel>& kernels, std::uint32_t graph) {
  Stream& on = streams_[kComputeStream];
  begin_call("cudaGraphLaunch");
  wait_for_room(on);
  end_call(now_ns_, 6 + 0.02 * static_cast<double>(kernels.size()));
  std::int64_t from_ns = now_ns_ + 3 * kLaunchNs;
  std::uint64_t node = std::uint64_t{graph} << 16;
  for (const Kernel& kernel : kernels) {
    ProgramWork made = work(ActivityKind::kKernel, kComputeStream);
    made.name = kernel.name;
    made.kernel = kernel_detail(kernel);
    made.graph = graph;
    made.graph_node = ++node;
    const std::int64_t length_ns = work_ns(kernel.us);
    made.begin_ns = std::max(from_ns, on.free_ns + kGapNs);
    made.end_ns = on.free_ns = made.begin_ns + length_ns;
    program_.works.push_back(std::move(made));
  }
  on.begins.push_back(on.free_ns);
  if (on.begins.size() > kQueueLength) on.begins.pop_front();
}

// ---- other ranks ---------------------------------------------------------------------------------------------------

std::size_t Simulation::collective(CollectiveKind kind, std::int64_t elements, const char* dtype, Meeting& meeting,
                                   double slower) {
  ProgramCollective made = describe_collective(kind, elements, dtype, meeting.ranks());
  made.number = static_cast<std::int64_t>(program_.collectives.size());
  made.thread = thread_;
  const std::size_t index = program_.collectives.size();
  const auto call_of_c10d = op("c10d::" + made.name + "_");
  made.begin_ns = now_ns_;
  host(6);
  const std::int64_t length_ns = noisy_ns(collective_us(made, meeting.ranks(), program_.has_device) * slower);
  if (program_.has_device) {
    wait_event(kNcclStream, kComputeStream);
    Stream& on = streams_[kNcclStream];
    begin_call("cudaLaunchKernelExC");
    end_call(now_ns_, 4.5);
    ProgramWork kernel = work(ActivityKind::kKernel, kNcclStream);
    kernel.name = nccl_kernel_name(kind);
    kernel.kernel = kernel_detail({kernel.name, 0, 24, 544, 96, 84'992});
    kernel.collective = static_cast<int>(index);
    kernel.begin_ns = place(on, now_ns_ + kLaunchNs, 0);
    kernel.end_ns = on.free_ns = meeting.meet(index, kernel.begin_ns, length_ns);
    program_.works.push_back(std::move(kernel));
  } else {
    made.started_ns = std::max(now_ns_ + 8'000, gloo_free_ns_);
    made.completed_ns = gloo_free_ns_ = meeting.meet(index, made.started_ns, length_ns);
  }
  host(2);
  made.end_ns = now_ns_;
  program_.collectives.push_back(std::move(made));
  return index;
}

void Simulation::wait_for(std::size_t collective) {
  ProgramCollective& one = program_.collectives[collective];
  one.wait_begin_ns = now_ns_;
  wait_until(one.completed_ns + 4'000);
  host(1);
  one.wait_end_ns = now_ns_;
}

// ---- what others see -----------------------------------------------------------------------------------------------

void Simulation::set_clock(std::uint32_t mhz, std::uint64_t throttle_reasons, std::uint32_t temperature_c) {
  clock_mhz_ = mhz;
  throttle_reasons_ = throttle_reasons;
  temperature_c_ = temperature_c;
}

void Simulation::memory(MemoryAction action, std::uint64_t address, std::uint64_t bytes, std::int64_t allocated,
                        std::int64_t reserved) {
  program_.memory.push_back({action, thread_, now_ns_, address, bytes, allocated, reserved});
  pass(40);
}

void Simulation::counter(const std::string& name, std::int64_t value) {
  program_.counters.push_back({name, now_ns_, value});
  pass(60);
}

Program Simulation::finish() {
  end_step();
  if (program_.has_device) synchronize_device();
  for (ProgramRange& range : program_.ranges) range.end_ns = std::min(range.end_ns, now_ns_);
  return std::move(program_);
}

}  // namespace rangefinder::testing::corpus
