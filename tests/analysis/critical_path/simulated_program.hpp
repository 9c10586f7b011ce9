// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::testing {

/// What a thread does next, in a program of which the running times are known.
struct Action {
  enum class What : std::uint8_t {
    kCompute,     ///< in a range named `name`
    kKernel,      ///< launches one
    kGraph,       ///< launches a graph: a chain on `stream`, and one on `other` that begins after node `fork` of it
    kStreamWait,  ///< makes `stream` wait for what `other` has
    kSyncStream,
    kSyncDevice,
    kBackward,  ///< a thread of the autograd engine does `inner`, and this one waits
    kStepEnd,
  };
  What what = What::kCompute;
  int stream = 0;
  int other = 0;
  std::int64_t duration_ns = 0;  ///< of computing, and of a kernel
  std::int64_t call_ns = 0;      ///< of the call
  std::string name;
  std::vector<std::int64_t> chain;  ///< durations of kernels
  std::vector<std::int64_t> branch;
  std::size_t fork = 0;
  std::vector<Action> inner;
};

/// Delays of the simulated device, the same each time.
struct DeviceDelays {
  std::int64_t launch_ns = 4000;  ///< from a call to the begin on an idle stream
  std::int64_t gap_ns = 900;      ///< from one kernel to the next
  std::int64_t return_ns = 2500;  ///< of a synchronisation, after the work is done
  /// So many launches of kernels can be on their way; the next one's call waits. 0: any number.
  std::size_t queue = 0;
  bool queue_of_device = false;  ///< all streams share it; else each has its own
  bool taken_at_begin = false;   ///< a kernel that has begun is out of the queue; else one that is done
};

/// How many times as long things take.
struct Changes {
  std::function<double(std::size_t kernel)> kernel = [](std::size_t) { return 1.0; };
  std::function<double(const std::string& range)> compute = [](const std::string&) { return 1.0; };
  double launch = 1;
  double return_time = 1;
};

struct Simulated {
  Timeline timeline;
  std::int64_t whole_ns = 0;
  std::vector<std::int64_t> step_ns;
  /// Calls that found the queue full, and how long they waited.
  std::vector<std::pair<CallIndex, std::int64_t>> held_up;
};

/// Runs the program as a device and its driver would, without looking at any graph: kernels are rows of the timeline
/// in the order in which the program launches them.
Simulated simulate(const std::vector<Action>& program, const DeviceDelays& delays, const Changes& changes = {});

/// Steps with kernels on several streams, graphs, events, synchronisations and backward passes.
std::vector<Action> random_program(std::mt19937_64& random);
/// Steps that launch hundreds of kernels without a pause, on one stream or two, with some computing between them. Calls
/// of launches take equally long.
std::vector<Action> random_launches(std::mt19937_64& random);

}  // namespace rangefinder::testing
