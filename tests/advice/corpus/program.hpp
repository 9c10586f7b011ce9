// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// What a program of the corpus did: the log that a simulation writes. It becomes a timeline at once, or is played
// through the recorder first.
namespace rangefinder::testing::corpus {

/// Threads by their place in Program::threads.
inline constexpr std::size_t kMainThread = 0, kEngineThread = 1;

struct ProgramRange {
  std::string name;
  RangeKind kind = RangeKind::kAnnotation;
  std::size_t thread = kMainThread;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::string shapes, types;  ///< of operators, as OperatorTable has them
  std::int64_t cpu_ns = -1;   ///< on a processor; -1: not counted
};

struct ProgramCall {
  std::string name;
  std::size_t thread = kMainThread;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::int32_t result = 0;  ///< cudaError_t
};

/// A kernel, copy or memset.
struct ProgramWork {
  ActivityKind kind = ActivityKind::kKernel;
  std::string name;
  std::int64_t stream = 7;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint64_t bytes = 0;
  KernelDetail kernel;
  CopyDetail copy;
  std::uint64_t graph_node = 0;
  std::uint32_t graph = 0;
  int collective = -1;  ///< position in Program::collectives
};

/// An event that was recorded on a stream.
struct ProgramEvent {
  std::uint32_t correlation = 0;
  std::int64_t stream = 7;
  std::int64_t done_ns = 0;  ///< when the work before it is done
};

struct ProgramSync {
  std::uint32_t type = 3;  ///< as SyncRow has it
  std::int64_t stream = 7;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
  ProgramEvent event{};  ///< of a wait for one
};

/// A call of CUDA's allocator, or of its opposite.
struct ProgramAllocation {
  std::int64_t time_ns = 0;
  bool freed = false;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t correlation = 0;
};

struct ProgramCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::string name;
  std::string dtype;
  std::int64_t elements_in = 0, elements_out = 0;
  std::int64_t number = 0;
  std::size_t thread = kMainThread;
  std::int64_t begin_ns = 0, end_ns = 0;                        ///< of the call
  std::int64_t started_ns = kNoTime, completed_ns = kNoTime;    ///< of its work, on the host
  std::int64_t wait_begin_ns = kNoTime, wait_end_ns = kNoTime;  ///< on the same thread
};

struct ProgramStep {
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// What an allocator did, a counter of it or of anything, a sensor's sample, and what is not the program's own work.
struct ProgramMemory {
  MemoryAction action = MemoryAction::kAllocate;
  std::size_t thread = kMainThread;
  std::int64_t time_ns = 0;
  std::uint64_t address = 0, bytes = 0;
  std::int64_t allocated = 0, reserved = 0;
};
struct ProgramCounter {
  std::string name;
  std::int64_t time_ns = 0;
  std::int64_t value = 0;
};
struct ProgramSensor {
  std::int64_t time_ns = 0;
  std::uint32_t sm_clock_mhz = 0, power_mw = 0, temperature_c = 0, utilisation_percent = 0;
  std::uint64_t throttle_reasons = 0;
};
struct ProgramOverhead {
  std::string name;  ///< as timeline::overhead_name says it
  std::int64_t begin_ns = 0, end_ns = 0;
  std::size_t thread = 0;  ///< that is held up
};

/// One process, which has a device or none.
struct Program {
  int rank = -1;
  int world_size = -1;
  std::uint32_t processors = 16;
  bool has_device = true;
  std::vector<std::string> threads{"main"};
  std::vector<ProgramRange> ranges;
  std::vector<ProgramCall> calls;
  std::vector<ProgramWork> works;
  std::vector<ProgramEvent> events;
  std::vector<ProgramSync> syncs;
  std::vector<ProgramAllocation> allocations;
  std::vector<ProgramCollective> collectives;
  std::vector<ProgramStep> steps;
  std::vector<ProgramMemory> memory;
  std::vector<ProgramCounter> counters;
  std::vector<ProgramSensor> sensors;
  std::vector<ProgramOverhead> overheads;
};

/// Mean of the steps, without the first quarter: the host has not yet filled the queue there, and caches are cold.
std::int64_t mean_step_ns(const Program& program);

/// The recording of a job, of one process or several on one machine, that lost nothing.
Timeline timeline_of(const std::vector<Program>& job);

}  // namespace rangefinder::testing::corpus
