// SPDX-License-Identifier: MIT
#include "analysis/critical_path/simulated_program.hpp"

#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace rangefinder::testing {
namespace {

constexpr std::int64_t kMainThread = 1, kEngineThread = 2;

std::int64_t times(std::int64_t ns, double factor) {
  return factor == 1 ? ns : static_cast<std::int64_t>(std::llround(static_cast<double>(ns) * factor));
}

class Simulator {
 public:
  Simulator(const DeviceDelays& delays, const Changes& changes) : changes_(changes) {
    launch_ns_ = times(delays.launch_ns, changes.launch);
    gap_ns_ = delays.gap_ns;
    return_ns_ = times(delays.return_ns, changes.return_time);
    queue_ = delays.queue;
    queue_of_device_ = delays.queue_of_device;
    taken_at_begin_ = delays.taken_at_begin;
  }

  Simulated run(const std::vector<Action>& program) {
    for (const Action& action : program) run(action);
    Simulated out;
    out.whole_ns = std::max(now_ns_, last_end_ns_);
    out.step_ns = steps_;
    out.held_up = std::move(held_up_);
    out.timeline = builder_.build();
    return out;
  }

 private:
  struct Stream {
    std::int64_t free_ns = 0;
    bool used = false;
    std::int64_t awaited_ns = 0;  ///< by events, of its next work
  };

  void run(const Action& action) {
    switch (action.what) {
      case Action::What::kCompute: {
        const std::int64_t begin = now_ns_;
        now_ns_ += times(action.duration_ns, changes_.compute(action.name));
        if (begin < now_ns_) builder_.range(action.name, begin, now_ns_);
        return;
      }
      case Action::What::kKernel:
        return launch_kernel(action);
      case Action::What::kGraph:
        return launch_graph(action);
      case Action::What::kStreamWait:
        return make_wait(action);
      case Action::What::kSyncStream:
      case Action::What::kSyncDevice:
        return synchronise(action);
      case Action::What::kBackward:
        return run_backward(action);
      case Action::What::kStepEnd:
        return end_step();
    }
  }

  void call(const char* name, std::int64_t call_ns) {
    call_begin_ns_ = now_ns_;
    now_ns_ += call_ns;
    builder_.launch_call(name, call_begin_ns_, now_ns_);
  }

  void launch_kernel(const Action& action) {
    std::vector<std::int64_t>& taken = taken_ns_[queue_of_device_ ? 0 : action.stream];
    const std::int64_t begin = now_ns_;
    if (queue_ != 0 && taken.size() >= queue_) {  // until less than the queue's length is left of what was launched
      std::vector<std::int64_t> times(taken);
      const auto last = times.begin() + static_cast<std::ptrdiff_t>(taken.size() - queue_);
      std::nth_element(times.begin(), last, times.end());
      now_ns_ = std::max(now_ns_, *last);
    }
    const std::int64_t launched = now_ns_;
    now_ns_ += action.call_ns;
    builder_.launch_call("cudaLaunchKernel", begin, now_ns_);
    if (begin < launched) held_up_.emplace_back(builder_.timeline().calls.size() - 1, launched - begin);
    const std::int64_t end = kernel(action.stream, launched, action.duration_ns, 0);
    taken.push_back(taken_at_begin_ ? last_begin_ns_ : end);
  }

  /// Not before `earliest_ns` either. When it is done.
  std::int64_t kernel(int stream, std::int64_t launched_ns, std::int64_t duration_ns, std::int64_t earliest_ns) {
    Stream& on = streams_[stream];
    std::int64_t begin = std::max({launched_ns + launch_ns_, on.awaited_ns, earliest_ns});
    if (on.used) begin = std::max(begin, on.free_ns + gap_ns_);
    const std::int64_t end = begin + times(duration_ns, changes_.kernel(kernels_++));
    builder_.on_stream(stream).kernel(begin, end);
    on = {end, true, 0};
    last_begin_ns_ = begin;
    last_end_ns_ = std::max(last_end_ns_, end);
    step_end_ns_ = std::max(step_end_ns_, end);
    return end;
  }

  void launch_graph(const Action& action) {
    call("cudaGraphLaunch", action.call_ns);
    const std::int64_t launched = call_begin_ns_;
    std::int64_t fork_ns = 0, done = 0;
    for (std::size_t i = 0; i < action.chain.size(); ++i) {
      done = kernel(action.stream, launched, action.chain[i], 0);
      if (i == action.fork) fork_ns = done;
    }
    for (std::size_t i = 0; i < action.branch.size(); ++i)
      done = std::max(done, kernel(action.other, launched, action.branch[i], i == 0 ? fork_ns + gap_ns_ : 0));
    streams_[action.stream].free_ns = done;
  }

  void make_wait(const Action& action) {
    const std::int64_t begin = now_ns_;
    now_ns_ += action.call_ns;
    builder_.call("cudaStreamWaitEvent", begin, now_ns_);
    Stream& awaited = streams_[action.other];
    if (awaited.used)
      streams_[action.stream].awaited_ns = std::max(streams_[action.stream].awaited_ns, awaited.free_ns);
    record_sync(2, action.stream, action.other, begin);
  }

  void synchronise(const Action& action) {
    const std::int64_t begin = now_ns_;
    std::int64_t done = begin;
    const bool all = action.what == Action::What::kSyncDevice;
    for (const auto& [id, stream] : streams_)
      if (stream.used && (all || id == action.stream)) done = std::max(done, stream.free_ns);
    now_ns_ = done + return_ns_;
    builder_.call(all ? "cudaDeviceSynchronize" : "cudaStreamSynchronize", begin, now_ns_);
    record_sync(all ? 4 : 3, action.stream, action.stream, begin);
  }

  /// Of the last call.
  void record_sync(std::uint32_t type, int stream, int event_stream, std::int64_t begin_ns) {
    builder_.on_stream(event_stream);
    const StreamIndex event(place_of(event_stream));
    builder_.on_stream(stream);
    Timeline& timeline = builder_.timeline();
    timeline.syncs.append({.type = type,
                           .stream = place_of(stream),
                           .device = DeviceIndex(0),
                           .begin_ns = begin_ns,
                           .end_ns = now_ns_,
                           .correlation = timeline.calls.correlation[CallIndex(timeline.calls.size() - 1)],
                           .event_stream = type == 2 ? event : StreamIndex(kNone)});
  }
  StreamIndex place_of(int id) {
    const std::vector<StreamInfo>& streams = builder_.timeline().streams;
    for (StreamIndex stream{0}; stream < streams.size(); ++stream)
      if (streams[stream].id == id) return stream;
    return kNone;
  }

  void run_backward(const Action& action) {
    const std::int64_t begin = now_ns_;
    now_ns_ += action.duration_ns;
    builder_.on_thread(kEngineThread).engine();
    for (const Action& inner : action.inner) {
      now_ns_ += 700;  // between nodes
      const std::int64_t node_begin = now_ns_;
      run(inner);
      now_ns_ += 300;
      builder_.range("node", node_begin, now_ns_).of_kind(RangeKind::kOperator);
      builder_.node(node_begin, now_ns_, ++nodes_, kMainThread, 0);
    }
    builder_.on_thread(kMainThread);
    now_ns_ += action.call_ns;
    builder_.range("backward", begin, now_ns_);
  }

  void end_step() {
    builder_.step(static_cast<std::int64_t>(steps_.size()), step_begin_ns_, now_ns_);
    const std::int64_t done = std::max(step_end_ns_, now_ns_);
    const std::int64_t begin = std::max(step_begin_ns_, steps_done_ns_);
    steps_.push_back(std::max<std::int64_t>(done - begin, 0));
    steps_done_ns_ = steps_.size() == 1 ? done : std::max(done, steps_done_ns_);
    step_begin_ns_ = now_ns_;
    step_end_ns_ = 0;
  }

  const Changes& changes_;
  std::int64_t launch_ns_ = 0, gap_ns_ = 0, return_ns_ = 0;
  TimelineBuilder builder_;
  std::map<int, Stream> streams_;
  std::int64_t now_ns_ = 0;
  std::int64_t call_begin_ns_ = 0;
  std::int64_t last_begin_ns_ = 0;
  std::int64_t last_end_ns_ = 0;
  std::int64_t step_begin_ns_ = 0;
  std::int64_t step_end_ns_ = 0;
  std::int64_t steps_done_ns_ = 0;
  std::vector<std::int64_t> steps_;
  std::size_t kernels_ = 0;
  std::int64_t nodes_ = 0;
  std::size_t queue_ = 0;
  bool queue_of_device_ = false, taken_at_begin_ = false;
  std::map<int, std::vector<std::int64_t>> taken_ns_;  // by stream: when kernels left the queue, as they were launched
  std::vector<std::pair<CallIndex, std::int64_t>> held_up_;
};

std::int64_t between(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(most - least)));
}

std::vector<std::int64_t> durations(std::mt19937_64& random) {
  std::vector<std::int64_t> all(1 + below(random, 4));
  for (std::int64_t& one : all) one = between(random, 2000, 60'000);
  return all;
}

Action launch(std::mt19937_64& random, int stream) {
  return {.what = Action::What::kKernel,
          .stream = stream,
          .duration_ns = between(random, 500, 90'000),
          .call_ns = between(random, 1500, 9000)};
}

Action random_action(std::mt19937_64& random, bool may_go_back) {
  constexpr int kGraphBranch = 30;  // a stream that only graphs use, and they follow each other
  const int stream = 1 + static_cast<int>(below(random, 3));
  switch (below(random, may_go_back ? 13 : 9)) {
    case 0:
    case 1:
    case 2:
      return {.duration_ns = between(random, 200, 40'000), .name = "range " + std::to_string(below(random, 4))};
    case 9:
      return {.what = Action::What::kSyncStream, .stream = stream};
    case 10:
      return {.what = Action::What::kStreamWait, .stream = stream, .other = 1 + stream % 3, .call_ns = 800};
    case 11: {
      Action graph{
          .what = Action::What::kGraph, .stream = 1, .other = kGraphBranch, .call_ns = between(random, 3000, 12'000)};
      graph.chain = durations(random);
      if (below(random, 4) != 0) graph.branch = durations(random);
      graph.fork = below(random, graph.chain.size());
      return graph;
    }
    case 12: {
      Action backward{.what = Action::What::kBackward, .duration_ns = 5000, .call_ns = 3000};
      for (std::uint64_t nodes = 1 + below(random, 6); nodes > 0; --nodes)
        backward.inner.push_back(random_action(random, false));
      return backward;
    }
    default:
      return launch(random, stream);
  }
}

/// Hundreds of launches without a pause.
void add_burst(std::mt19937_64& random, int stream, std::int64_t call_ns, std::vector<Action>& program) {
  const std::int64_t shortest = between(random, 500, 12'000);
  for (std::uint64_t kernels = 50 + below(random, 800); kernels > 0; --kernels) {
    program.push_back(launch(random, stream));
    program.back().call_ns = call_ns;
    program.back().duration_ns = shortest + between(random, 0, 4000) * (below(random, 20) == 0 ? 10 : 1);
    if (below(random, 60) == 0) program.push_back({.duration_ns = between(random, 200, 20'000), .name = "range 0"});
  }
}

}  // namespace

Simulated simulate(const std::vector<Action>& program, const DeviceDelays& delays, const Changes& changes) {
  return Simulator(delays, changes).run(program);
}

std::vector<Action> random_program(std::mt19937_64& random) {
  std::vector<Action> program;
  // Each delay is seen once on each stream: an idle stream, and two kernels in a row.
  for (int stream = 1; stream <= 3; ++stream) {
    program.push_back(launch(random, stream));
    program.back().duration_ns = 50'000;
    program.push_back(launch(random, stream));
  }
  program.push_back({.what = Action::What::kSyncDevice});
  for (std::uint64_t steps = 1 + below(random, 4); steps > 0; --steps) {
    for (std::uint64_t actions = 5 + below(random, 40); actions > 0; --actions)
      program.push_back(random_action(random, true));
    if (below(random, 3) == 0) program.push_back({.what = Action::What::kSyncDevice});
    program.push_back({.what = Action::What::kStepEnd});
  }
  return program;
}

std::vector<Action> random_launches(std::mt19937_64& random) {
  std::vector<Action> program;
  const std::int64_t call_ns = between(random, 2000, 7000);
  const int streams = 1 + static_cast<int>(below(random, 2));
  for (int stream = 1; stream <= streams; ++stream) {  // as in random_program()
    program.insert(program.end(), 2, launch(random, stream));
    for (std::size_t kernel = program.size() - 2; kernel < program.size(); ++kernel) {
      program[kernel].duration_ns = 50'000;
      program[kernel].call_ns = call_ns;
    }
  }
  program.push_back({.what = Action::What::kSyncDevice});
  for (std::uint64_t steps = 1 + below(random, 3); steps > 0; --steps) {
    for (std::uint64_t bursts = 1 + below(random, 3); bursts > 0; --bursts)
      add_burst(random, 1 + static_cast<int>(below(random, static_cast<std::uint64_t>(streams))), call_ns, program);
    if (below(random, 3) != 0) program.push_back({.what = Action::What::kSyncDevice});
    program.push_back({.what = Action::What::kStepEnd});
  }
  return program;
}

}  // namespace rangefinder::testing
