// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rangefinder::testing {

/// What NVTX is told of a range or a mark.
struct RecordedText {
  std::string text;
  std::string domain;       ///< empty: the default one
  bool registered = false;  ///< handed over by the handle of a registered string
  std::uint32_t category = 0;
  std::variant<std::monostate, std::uint64_t, std::int64_t, double> payload{};
};

struct RecordedThread {
  std::int64_t tid = 0;
  std::string name;
  std::optional<std::int32_t> priority;
};

struct RecordedRange {
  RecordedText text;
  bool start_end = false;  ///< nvtxRangeStart and nvtxRangeEnd, else push and pop
  std::size_t thread = 0;  ///< in RecordedProcess::threads
  std::size_t end_thread = 0;
  std::int64_t begin_ns = 0;
  std::optional<std::int64_t> end_ns;  ///< none: still open at the end
  std::int64_t row = 0;                ///< by which the tool knows it
};

struct RecordedMark {
  RecordedText text;
  std::size_t thread = 0;
  std::int64_t time_ns = 0;
};

/// A call of CUDA's runtime or driver.
struct RecordedCall {
  std::string function;  ///< as CUPTI names it, "cudaLaunchKernel_v7000"
  std::size_t thread = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t result = 0;
};

struct RecordedKernel {
  std::string name;  ///< mangled, as CUPTI has it
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t cluster[3] = {0, 0, 0};
  std::uint32_t registers = 0;
  std::uint32_t static_shared = 0;
  std::uint32_t dynamic_shared = 0;
  std::uint32_t local = 0;
  std::uint32_t launch_type = 0;
  std::uint32_t shared_executed = 0;
};

/// Kinds of copies and of memory are CUPTI's.
struct RecordedCopy {
  std::uint64_t bytes = 0;
  std::uint32_t kind = 0;
  std::uint32_t source = 0;
  std::uint32_t target = 0;
};

struct RecordedSet {
  std::uint64_t bytes = 0;
  std::uint32_t value = 0;
  std::uint32_t memory = 0;
};

/// What a device did.
struct RecordedWork {
  std::variant<RecordedKernel, RecordedCopy, RecordedSet> what;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::uint64_t graph_node = 0;  ///< 0: of no graph
  std::uint32_t graph = 0;
};

struct RecordedSync {
  std::uint32_t type = 0;  ///< CUpti_ActivitySynchronizationType
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
};

struct RecordedOverhead {
  std::uint32_t kind = 0;  ///< CUpti_ActivityOverheadKind
  std::size_t thread = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
};

struct RecordedDevice {
  std::uint32_t id = 0;
  std::string name;
};

struct RecordedStream {
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t id = 0;
};

/// One process of a program, as a tool recorded it. Times are those of the tool.
struct RecordedProcess {
  std::int64_t pid = 0;
  std::vector<RecordedThread> threads;
  std::vector<RecordedDevice> devices;
  std::vector<RecordedStream> streams;
  std::vector<RecordedRange> ranges;
  std::vector<RecordedMark> marks;
  std::vector<RecordedCall> calls;
  std::vector<RecordedWork> works;
  std::vector<RecordedSync> syncs;
  std::vector<RecordedOverhead> overheads;
};

}  // namespace rangefinder::testing
