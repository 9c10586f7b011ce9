// SPDX-License-Identifier: MIT
#include "analysis/host_spans.hpp"

#include "analysis/collective_times.hpp"
#include "analysis/device_states.hpp"
#include "analysis/host_states.hpp"
#include "analysis/range_rollup.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace rangefinder::analysis {
namespace {

/// Span::kind of what blocks a thread: a WaitReason, or this.
constexpr std::uint8_t kInCollective = 64;

std::vector<std::vector<Span>> blocked_times(const Timeline& timeline) {
  std::vector<std::vector<Span>> blocked = times_in_collectives(timeline);
  for (std::vector<Span>& spans : blocked)
    for (Span& span : spans) span.kind = kInCollective;
  for (const Wait& wait : waits_without_work(timeline)) {
    if (wait.thread >= blocked.size() || !wait.blocks_host() || !is_in_reach(wait.begin_ns, wait.end_ns)) continue;
    blocked[wait.thread].push_back({wait.begin_ns, wait.end_ns, static_cast<std::uint8_t>(wait.reason)});
  }
  for (std::vector<Span>& spans : blocked) make_disjoint(spans);
  return blocked;
}

}  // namespace

HostSpans::HostSpans(const Timeline& timeline, const ProjectionOptions& options)
    : timeline_(timeline),
      options_(options),
      order_(timeline, {options.attribution, true, true}),
      blocked_(blocked_times(timeline)),
      engine_waits_(timeline.threads.size()),
      communications_(timeline.processes.size()),
      changes_(timeline.threads.size()) {
  find_engine_waits();
  find_communications();
}

void HostSpans::find_communications() {
  if (timeline_.collectives.size() == 0) return;
  std::vector<bool> has_operators(timeline_.processes.size());
  const RangeTable& ranges = timeline_.ranges;
  for (RangeIndex range{0}; range < ranges.size(); ++range)
    if (ranges.kind[range] == RangeKind::kOperator && ranges.thread[range] < timeline_.threads.size())
      has_operators[timeline_.threads[ranges.thread[range]].process] = true;
  const HostStates host(timeline_);
  for (const ProcessIndex process : host.processes()) {
    if (!has_operators[process]) continue;
    for (const HostCommunication& work : host.communications_of(process))
      communications_[process].push_back({work.begin_ns, work.end_ns});
    make_disjoint(communications_[process]);
  }
}

/// In the order in which they are candidates for the innermost one.
std::vector<RangeIndex> HostSpans::candidates_of(ThreadIndex thread) const {
  const auto scoped = order_.scoped(thread), start_end = order_.start_end(thread);
  std::vector<RangeIndex> candidates;
  candidates.reserve(scoped.size() + start_end.size());
  std::merge(scoped.begin(), scoped.end(), start_end.begin(), start_end.end(), std::back_inserter(candidates),
             [this](RangeIndex a, RangeIndex b) { return order_.before(a, b); });
  const RangeTable& ranges = timeline_.ranges;
  std::erase_if(candidates, [&](RangeIndex range) {
    return (ranges.flags[range] & kBeforeRecording) != 0 || !is_in_reach(ranges.begin_ns[range], ranges.end_ns[range]);
  });
  return candidates;
}

/// The innermost range of a thread at every moment: of those that are open, the one that came last.
std::vector<HostSpans::InRange> HostSpans::in_ranges(ThreadIndex thread) const {
  const RangeTable& ranges = timeline_.ranges;
  struct Open {
    RangeIndex range;
    RangeIndex shown;  // that range, or the innermost one around it that may be shown
    HostState state;   // an operator's, from the outermost one on
  };
  std::vector<InRange> out;
  std::vector<Open> open;  // ended ones stay until they are on top
  std::int64_t now = std::numeric_limits<std::int64_t>::min();
  const auto show_until = [&](std::int64_t time) {
    while (!open.empty() && now < time) {
      const Open& top = open.back();
      const std::int64_t end = std::min(ranges.end_ns[top.range], time);
      if (now < end) {
        const InRange span{now, end, top.state, top.shown};
        if (!out.empty() && out.back().end == now && out.back().state == span.state && out.back().range == span.range)
          out.back().end = end;
        else
          out.push_back(span);
        now = end;
      }
      if (ranges.end_ns[top.range] <= now) open.pop_back();
    }
    now = std::max(now, time);
  };
  for (const RangeIndex range : candidates_of(thread)) {
    show_until(ranges.begin_ns[range]);
    while (!open.empty() && ranges.end_ns[open.back().range] <= now) open.pop_back();
    const bool around = !open.empty() && ranges.end_ns[open.back().range] >= ranges.end_ns[range];
    Open next{range, around ? open.back().shown : RangeIndex(kNone), around ? open.back().state : HostState::kRange};
    if (takes_part(ranges.kind[range], options_)) next.shown = range;
    if (is_collective_work(timeline_.text(ranges.name[range])))
      next.state = HostState::kCollective;
    else if (ranges.kind[range] == RangeKind::kOperator && next.state == HostState::kRange)
      next.state = HostState::kOperator;
    open.push_back(next);
  }
  show_until(std::numeric_limits<std::int64_t>::max());
  return out;
}

/// Whether no range of the thread begins or ends in between.
bool HostSpans::is_quiet(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) const {
  const std::vector<std::int64_t>& changes = changes_[thread];
  const auto next = std::lower_bound(changes.begin(), changes.end(), begin_ns);
  return next == changes.end() || *next >= end_ns;
}

void HostSpans::find_engine_waits() {
  const AutogradNodeTable& nodes = timeline_.autograd_nodes;
  const std::size_t threads = timeline_.threads.size();
  const auto waits_for_another = [&](AutogradNodeIndex node) {
    return nodes.forward_thread[node] < threads && nodes.forward_thread[node] != nodes.thread[node];
  };
  for (AutogradNodeIndex node{0}; node < nodes.size(); ++node) {
    if (!waits_for_another(node) || !changes_[nodes.forward_thread[node]].empty()) continue;
    std::vector<std::int64_t>& changes = changes_[nodes.forward_thread[node]];
    for (const RangeIndex range : candidates_of(nodes.forward_thread[node])) {
      changes.push_back(timeline_.ranges.begin_ns[range]);
      changes.push_back(timeline_.ranges.end_ns[range]);
    }
    std::sort(changes.begin(), changes.end());
  }
  // By the engine's thread: who waited for its last node, and until when.
  struct Last {
    ThreadIndex waiting = kNone;
    std::int64_t end_ns = 0;
  };
  std::vector<Last> last(threads);
  for (AutogradNodeIndex node{0}; node < nodes.size(); ++node) {
    const std::int64_t begin_ns = nodes.begin_ns[node], end_ns = nodes.end_ns[node];
    if (nodes.thread[node] >= threads || !is_in_reach(begin_ns, end_ns)) continue;
    Last& before = last[nodes.thread[node]];
    // A node that is not known to be anyone's (gradients are added up) is of the backward pass around it.
    const bool is_known = nodes.forward_thread[node] < threads;
    const ThreadIndex waiting = is_known ? nodes.forward_thread[node] : before.waiting;
    if (waiting >= threads || waiting == nodes.thread[node]) continue;
    const bool goes_on = before.waiting == waiting && is_quiet(waiting, before.end_ns, begin_ns);
    if (!is_known && !goes_on) continue;
    engine_waits_[waiting].push_back({goes_on ? std::min(before.end_ns, begin_ns) : begin_ns, end_ns});
    before = {waiting, goes_on ? std::max(before.end_ns, end_ns) : end_ns};
  }
  for (std::vector<Span>& spans : engine_waits_) make_disjoint(spans);
}

namespace {

/// Lays `blocks` over what a thread did: both disjoint and in order.
template <typename InRange>
std::vector<HostSpan> put_together(const std::vector<InRange>& ranges, const std::vector<Span>& blocks,
                                   const std::vector<Span>& engine, const std::vector<Span>& communications) {
  std::vector<HostSpan> out;
  std::size_t r = 0, b = 0, e = 0, c = 0;
  const auto at_or_after = [](const auto& spans, std::size_t& next, std::int64_t time) {
    while (next < spans.size() && spans[next].end <= time) ++next;
    return next < spans.size() ? &spans[next] : nullptr;
  };
  std::int64_t now = -kFarthestNs;
  while (true) {
    const auto* const range = at_or_after(ranges, r, now);
    const Span* const block = at_or_after(blocks, b, now);
    const Span* const wait = at_or_after(engine, e, now);
    const Span* const communication = at_or_after(communications, c, now);
    if (range == nullptr && block == nullptr && wait == nullptr) return out;
    std::int64_t until = kFarthestNs;
    const auto is_open = [&](const auto* span) {
      if (span == nullptr) return false;
      until = std::min(until, span->begin <= now ? span->end : span->begin);
      return span->begin <= now;
    };
    const bool in_range = is_open(range), in_block = is_open(block), in_wait = is_open(wait);
    const bool communicates = is_open(communication);
    HostSpan span{now, until, HostState::kRange, std::nullopt, in_range ? range->range : RangeIndex(kNone)};
    if (in_range) span.state = range->state;
    if (communicates && span.state == HostState::kRange) span.state = HostState::kBesideCollective;
    if (in_wait && (!in_range || range->state == HostState::kRange)) span.state = HostState::kEngineWait;
    if (in_block) {
      span.state = block->kind == kInCollective ? HostState::kCollective : HostState::kDeviceWait;
      if (block->kind != kInCollective) span.wait = static_cast<WaitReason>(block->kind);
    }
    now = until;
    if (!in_range && !in_block && !in_wait) continue;
    HostSpan* const before = out.empty() ? nullptr : &out.back();
    if (before != nullptr && before->end_ns == span.begin_ns && before->state == span.state &&
        before->wait == span.wait && before->range == span.range)
      before->end_ns = span.end_ns;
    else
      out.push_back(span);
  }
}

}  // namespace

std::vector<HostSpan> HostSpans::of(ThreadIndex thread) const {
  if (thread >= timeline_.threads.size()) return {};
  return put_together(in_ranges(thread), blocked_[thread], engine_waits_[thread],
                      communications_[timeline_.threads[thread].process]);
}

}  // namespace rangefinder::analysis
