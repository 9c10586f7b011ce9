// SPDX-License-Identifier: MIT
#include "analysis/critical_path/host_lanes.hpp"

#include "analysis/step_rules.hpp"

#include <algorithm>
#include <optional>

namespace rangefinder::analysis::critical_path {
namespace {

/// Which names are those of ranges that get input; asks once for each name.
class InputNames {
 public:
  explicit InputNames(const Timeline& timeline) : timeline_(timeline), known_(timeline.string_count(), kNotAsked) {}
  bool has(StringId name) {
    std::uint8_t& known = known_[static_cast<std::size_t>(name)];
    if (known == kNotAsked) known = rules_.part_of(timeline_.text(name)) == StepPart::kData ? kYes : kNo;
    return known == kYes;
  }

 private:
  enum : std::uint8_t { kNotAsked, kNo, kYes };
  const Timeline& timeline_;
  StepRules rules_;
  std::vector<std::uint8_t> known_;
};

/// One thread after the other.
class LaneMaker {
 public:
  LaneMaker(Graph& graph, const ThreadFrames& frames, const std::vector<Cut>& cuts, const std::vector<HostWait>& waits)
      : graph_(graph), frames_(frames), cuts_(cuts), waits_(waits), input_(*graph.timeline) {
    returns_.assign(waits.size(), kNone);
    graph_.contexts.assign(1, {});
    graph_.lane.reserve(frames.thread_count() + 1);
  }

  std::vector<NodeIndex> make() {
    for (ThreadIndex thread{0}; thread < frames_.thread_count(); ++thread) {
      graph_.lane.push_back(graph_.size());
      start(thread);
      for (std::size_t at = 0; at < frames_.count_of(thread); ++at) enter(frames_.frame(thread, at));
      while (!open_.empty()) leave();
      finish();
    }
    graph_.lane.push_back(graph_.size());
    return std::move(returns_);
  }

 private:
  struct Open {
    std::int64_t end_ns;
    std::uint32_t context;
    bool is_input;
  };

  void start(ThreadIndex thread) {
    thread_ = thread;
    const auto of_thread = [&](const auto& a) { return a.first < thread; };
    next_cut_ = static_cast<std::size_t>(std::partition_point(cuts_.begin(), cuts_.end(), of_thread) - cuts_.begin());
    next_wait_ = static_cast<std::size_t>(
        std::partition_point(waits_.begin(), waits_.end(), [&](const HostWait& a) { return a.thread < thread; }) -
        waits_.begin());
    first_wait_without_return_ = next_wait_;
    now_ns_ = kFarthestNs;
    if (frames_.count_of(thread) != 0) now_ns_ = frames_.frame(thread, 0).begin_ns;
    if (has_cut()) now_ns_ = std::min(now_ns_, cuts_[next_cut_].second);
    if (has_wait()) now_ns_ = std::min(now_ns_, waits_[next_wait_].begin_ns);
  }
  bool has_cut() const noexcept { return next_cut_ < cuts_.size() && cuts_[next_cut_].first == thread_; }
  bool has_wait() const noexcept { return next_wait_ < waits_.size() && waits_[next_wait_].thread == thread_; }

  void enter(const Frame& frame) {
    while (!open_.empty() && open_.back().end_ns <= frame.begin_ns) leave();
    advance(frame.begin_ns);
    HostContext context = graph_.contexts[open_.empty() ? 0 : open_.back().context];
    bool is_input = !open_.empty() && open_.back().is_input;
    std::int64_t end = frame.end_ns;
    if (!open_.empty()) end = std::min(end, open_.back().end_ns);  // ranges that cross: the inner one ends first
    if (frame.call != kNone) {
      if (context.call == kNone) context.call = frame.call;
    } else if (graph_.timeline->ranges.kind[frame.range] == RangeKind::kOperator) {
      context.op = frame.range;
      is_input = is_input || input_.has(graph_.timeline->ranges.name[frame.range]);
    } else {
      context.range = frame.range;
      is_input = is_input || input_.has(graph_.timeline->ranges.name[frame.range]);
    }
    open_.push_back({end, static_cast<std::uint32_t>(graph_.contexts.size()), is_input});
    graph_.contexts.push_back(context);
  }

  void leave() {
    advance(open_.back().end_ns);
    open_.pop_back();
  }

  void finish() {
    std::int64_t last = now_ns_;
    while (has_cut() || has_wait()) {
      if (has_cut()) last = std::max(last, cuts_[next_cut_].second);
      if (has_wait()) last = std::max(last, waits_[next_wait_].end_ns);
      const std::size_t cut = next_cut_, wait = next_wait_;
      advance(last);
      if (cut == next_cut_ && has_cut()) ++next_cut_;
      if (wait == next_wait_ && has_wait()) ++next_wait_;
    }
    // A thread that ends in a wait still comes back from it.
    if (first_wait_without_return_ < next_wait_) add(now_ns_, NodeKind::kHost, CriticalReason::kHost, 0);
  }

  /// What the thread does from now on until then, in what is open.
  void advance(std::int64_t to_ns) {
    while (now_ns_ < to_ns) {
      while (has_cut() && cuts_[next_cut_].second <= now_ns_) ++next_cut_;
      while (has_wait() && waits_[next_wait_].end_ns <= now_ns_) ++next_wait_;
      std::int64_t until = to_ns;
      if (has_cut()) until = std::min(until, cuts_[next_cut_].second);
      NodeKind kind = NodeKind::kHost;
      bool returns = false;
      if (has_wait()) {
        const HostWait& wait = waits_[next_wait_];
        if (now_ns_ < wait.begin_ns) {
          until = std::min(until, wait.begin_ns);
        } else if (now_ns_ < wait.release_ns) {
          until = std::min(to_ns, wait.release_ns);
          kind = NodeKind::kWait;
        } else {
          until = std::min(until, wait.end_ns);
          returns = true;
        }
      }
      add(until, kind, reason_now(kind, returns), open_.empty() ? 0 : open_.back().context);
    }
  }

  CriticalReason reason_now(NodeKind kind, bool returns) const {
    if (kind == NodeKind::kWait) {
      if (waits_[next_wait_].for_room) return CriticalReason::kLaunchQueue;
      return waits_[next_wait_].for_thread ? CriticalReason::kThreadWait : CriticalReason::kSynchronisation;
    }
    if (returns && !waits_[next_wait_].for_room) return CriticalReason::kSynchronisation;
    if (open_.empty()) return CriticalReason::kHost;
    if (graph_.contexts[open_.back().context].call != kNone) return CriticalReason::kCall;
    return open_.back().is_input ? CriticalReason::kInput : CriticalReason::kHost;
  }

  void add(std::int64_t until_ns, NodeKind kind, CriticalReason reason, std::uint32_t context) {
    const bool goes_on = kind == NodeKind::kWait && graph_.size() > graph_.lane.back() &&
                         graph_.kind.back() == NodeKind::kWait && waits_[next_wait_].begin_ns < now_ns_;
    if (goes_on) {
      graph_.end_ns.back() = until_ns;
    } else {
      const NodeIndex node = graph_.add(kind, reason, context, now_ns_, until_ns);
      if (kind != NodeKind::kWait) note_returns(node);
    }
    now_ns_ = until_ns;
  }

  void note_returns(NodeIndex node) {
    for (; first_wait_without_return_ < waits_.size() && waits_[first_wait_without_return_].thread == thread_ &&
           waits_[first_wait_without_return_].release_ns <= now_ns_;
         ++first_wait_without_return_)
      returns_[first_wait_without_return_] = node;
  }

  Graph& graph_;
  const ThreadFrames& frames_;
  const std::vector<Cut>& cuts_;
  const std::vector<HostWait>& waits_;
  InputNames input_;
  std::vector<NodeIndex> returns_;
  ThreadIndex thread_ = kNone;
  std::vector<Open> open_;
  std::int64_t now_ns_ = 0;
  std::size_t next_cut_ = 0;
  std::size_t next_wait_ = 0;
  std::size_t first_wait_without_return_ = 0;
};

}  // namespace

std::vector<NodeIndex> add_host_lanes(Graph& graph, const ThreadFrames& frames, std::vector<Cut> cuts,
                                      const std::vector<HostWait>& waits) {
  if (!std::is_sorted(cuts.begin(), cuts.end())) std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return LaneMaker(graph, frames, cuts, waits).make();
}

}  // namespace rangefinder::analysis::critical_path
