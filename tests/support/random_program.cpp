// SPDX-License-Identifier: MIT
#include "support/random_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::testing {
namespace {

constexpr std::uint32_t kGraphLaunch = 311;

class ProgramWriter {
 public:
  ProgramWriter(std::mt19937_64& random, const RandomProgramShape& shape) : random_(random), shape_(shape) {}

  CaptureBuilder run() {
    capture_.h100().meta("program", "random");
    const auto count = static_cast<std::uint32_t>(pick(2, 4));
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool is_engine = shape_.autograd && i + 1 == count;
      threads_.push_back({i + 1, is_engine ? "pt_autograd_0" : "worker " + std::to_string(i + 1), is_engine});
      capture_.on_thread(i + 1, threads_.back().name);
    }
    for (int event = 0; event < shape_.events; ++event) step();
    finish();
    if (chance(2)) capture_.chunk_rows(static_cast<std::size_t>(pick(1, 12)));
    if (chance(2)) capture_.shuffle(random_());
    return std::move(capture_);
  }

 private:
  struct Open {
    bool is_node;
    std::string name;
    std::int64_t begin_ns;
    std::int64_t sequence = -1;
    std::uint32_t forward_thread = 0;
    bool is_operator = false;
  };
  struct Thread {
    std::uint32_t tid;
    std::string name;
    bool is_engine = false;
    std::vector<Open> open;
    std::uint64_t taken = 0;             // numbers of nodes
    std::optional<std::uint64_t> noted;  // of these
    std::int64_t requests_to_ns = 0;
  };
  struct Graph {
    std::uint32_t id;
    std::vector<std::uint64_t> nodes;
    bool is_known = false;  // was launched node by node
  };

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  std::int64_t tick() { return now_ += 10 + pick(0, shape_.step_ns / 10) * 10; }

  void step() {
    thread_ = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(threads_.size()) - 1));
    Thread& thread = threads_[thread_];
    capture_.on_thread(thread.tid);
    switch (pick(0, 15)) {
      case 0:
      case 1:
      case 2:
        return begin(thread, false);
      case 3:
      case 4:
      case 5:
        if (!thread.open.empty()) end(thread);
        return;
      case 6:
        if (now_ > thread.requests_to_ns) thread.taken += static_cast<std::uint64_t>(pick(1, 3));
        return;
      case 7:
      case 8:
        if (shape_.autograd) begin(thread, true);
        return;
      case 9:
        if (shape_.graphs) capture_graph();
        return;
      case 10:
        if (shape_.graphs) replay_graph();
        return;
      case 11:
        if (shape_.start_end) {
          note_numbers(thread);
          const std::int64_t from = tick(), to = from + pick(1, 12) * shape_.step_ns + 5;
          capture_.start_end("request", from, to);
          thread.requests_to_ns = std::max(thread.requests_to_ns, to);  // their ends tell no numbers
        }
        return;
      case 12:
        if (shape_.elsewhere) elsewhere(thread);
        return;
      default:
        launch();
    }
  }

  /// What was numbered is told right before the next begin or end; of what was numbered before the first one, the range
  /// is not known.
  void note_numbers(Thread& thread) {
    if (!shape_.autograd || thread.taken == thread.noted) return;
    capture_.numbers(tick(), thread.taken, thread.tid, !thread.noted);
    thread.noted = thread.taken;
  }

  void begin(Thread& thread, bool is_node) {
    if (thread.open.size() > 5) return;
    note_numbers(thread);
    Open open{is_node, {}, 0};
    open.name = (is_node ? "node " : "range ") + std::to_string(pick(0, 9));
    if (is_node) {
      const Thread& maker = threads_[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(threads_.size()) - 1))];
      open.forward_thread = maker.tid;
      if (maker.taken > 0 && !chance(5)) open.sequence = pick(0, static_cast<std::int64_t>(maker.taken) - 1);
    }
    open.is_operator = !is_node && chance(6);
    open.begin_ns = tick();
    thread.open.push_back(open);
  }

  void end(Thread& thread) {
    note_numbers(thread);
    const Open open = thread.open.back();
    thread.open.pop_back();
    const std::int64_t end = tick();
    if (open.is_node)
      capture_.node(open.name, open.begin_ns, end, open.sequence, open.forward_thread);
    else
      capture_.range(open.name, open.begin_ns, end, open.is_operator ? "operator" : "");
    if (!open.is_node && chance(4)) capture_.payload(static_cast<std::uint64_t>(pick(0, 99)));
  }

  void elsewhere(Thread& thread) {
    if (!thread.open.empty()) return;  // what it would be in ends by its own end
    note_numbers(thread);
    const std::int64_t from = tick();
    if (chance(2)) {
      std::int64_t suspended = tick();
      capture_.range_part("coroutine", from, suspended, -1, false);
      for (bool is_last = false; !is_last;) {
        is_last = chance(2);
        Thread& next = threads_[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(threads_.size()) - 1))];
        capture_.on_thread(next.tid);
        note_numbers(next);
        const std::int64_t again = tick(), until = tick();
        capture_.range_part("coroutine", again, until, suspended, is_last);
        suspended = until;
      }
      capture_.on_thread(thread.tid);
    } else {
      launch();
      const std::uint32_t other = threads_[(thread_ + 1) % threads_.size()].tid;
      capture_.range_ended_on(other, "moved", from, tick());
      capture_.on_thread(thread.tid);
    }
  }

  void launch(std::uint32_t callback = 211) {
    if (!shape_.launches) return;
    capture_.on_device(0).on_context(1).on_stream(static_cast<std::uint32_t>(pick(7, 9)));
    const std::int64_t time = tick();
    const bool only_a_call = callback != kGraphLaunch && chance(12);  // the recorder notes all others
    capture_.correlation(++correlation_);
    if (!only_a_call) capture_.launch(time, callback);
    if (only_a_call || !chance(4)) capture_.call("cudaLaunchKernel", time - 2, time + 3);
    if (callback == kGraphLaunch) return;
    for (std::int64_t count = chance(8) ? pick(0, 3) : 1; count > 0; --count) {
      const auto [from, to] = run_on_device();
      if (chance(4))
        capture_.memcpy(from, to, static_cast<std::uint64_t>(pick(0, 9999)));
      else
        capture_.kernel("kernel " + std::to_string(pick(0, 4)), from, to);
    }
  }

  /// Mostly the device is a little behind; at times it is far.
  std::pair<std::int64_t, std::int64_t> run_on_device() {
    const std::int64_t wait = chance(10) ? pick(1, 40) * shape_.step_ns : pick(1, 9) * shape_.step_ns / 10;
    const std::int64_t from = std::max(free_at_, now_ + 5) + wait / 10 * 10 + 3;
    free_at_ = from + 10 * pick(1, 30);
    return {from, free_at_};
  }

  void capture_graph() {
    Graph graph{static_cast<std::uint32_t>(graphs_.size() + 1), {}};
    for (std::int64_t count = pick(1, 3); count > 0; --count) {
      capture_.correlation(++correlation_);
      capture_.launch(tick());
      graph.nodes.push_back(++last_node_);
      capture_.graph_node(last_node_, now_ + 1);
    }
    graphs_.push_back(graph);
  }

  void replay_graph() {
    if (graphs_.empty()) return;
    Graph& graph = graphs_[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(graphs_.size()) - 1))];
    launch(kGraphLaunch);
    if (graph.is_known && chance(3)) {
      const auto [from, to] = run_on_device();
      capture_.graph_launch(from, to + 500, graph.id);
      free_at_ += 500;
      return;
    }
    for (const std::uint64_t node : graph.nodes) {
      const auto [from, to] = run_on_device();
      capture_.kernel("kernel " + std::to_string(node), from, to).of_graph(node, graph.id);
    }
    graph.is_known = true;
  }

  void finish() {
    for (thread_ = 0; thread_ < threads_.size(); ++thread_) {
      Thread& thread = threads_[thread_];
      capture_.on_thread(thread.tid);
      while (!thread.open.empty() && !chance(6)) end(thread);
      // Whatever is open now never ends.
      for (const Open& open : thread.open)
        if (!open.is_node) capture_.open_range(open.name, open.begin_ns);
      thread.open.clear();
    }
  }

  std::mt19937_64& random_;
  const RandomProgramShape& shape_;
  CaptureBuilder capture_;
  std::vector<Thread> threads_;
  std::vector<Graph> graphs_;
  std::size_t thread_ = 0;
  std::uint64_t last_node_ = 0;
  std::uint32_t correlation_ = 0;  // of the last launch or call
  std::int64_t now_ = 0;
  std::int64_t free_at_ = 0;
};

}  // namespace

CaptureBuilder random_program(std::mt19937_64& random, const RandomProgramShape& shape) {
  return ProgramWriter(random, shape).run();
}

}  // namespace rangefinder::testing
