// SPDX-License-Identifier: MIT
#include "projection/slow_projection.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace rangefinder::testing {

namespace {

using Set = std::set<std::pair<std::int64_t, std::int64_t>>;

class Slow {
 public:
  Slow(const Timeline& timeline, const ProjectionOptions& options) : t_(timeline), options_(options) {}

  Projection run() {
    const std::size_t ranges = t_.ranges.size();
    exclusive_.resize(ranges);
    inclusive_.resize(ranges);
    Projection result;
    for (std::size_t l = 0; l < t_.launches.size() && forward(); ++l)
      result.pass.push_back(pass(static_cast<std::uint32_t>(l)));
    for (ActivityIndex a{0}; a < t_.activities.size(); ++a) result.owner.push_back(place(a));
    result.attribution = forward()       ? Attribution::kForward
                         : captured_any_ ? Attribution::kCapture
                                         : Attribution::kLaunch;
    result.exclusive = result.inclusive = RangeFigures(ranges);
    result.exclusive_offset.push_back(0);
    result.inclusive_offset.push_back(0);
    for (RangeIndex r{0}; r < ranges; ++r) {
      result.exclusive.set(r, figures(exclusive_[r]));
      result.inclusive.set(r, figures(inclusive_[r]));
      rows(r, exclusive_[r], result.exclusive_streams, result.exclusive_offset);
      rows(r, inclusive_[r], result.inclusive_streams, result.inclusive_offset);
      result.parent.push_back(takes_part(r) ? encloser(r, [](RangeIndex) { return true; }) : kNone);
    }
    for (RangeIndex r{0}; r < ranges; ++r) {
      std::uint32_t depth = 0;
      for (RangeIndex up = result.parent[r]; up != kNone; up = result.parent[up]) ++depth;
      result.depth.push_back(depth);
    }
    for (ActivityIndex a{0}; a < t_.activities.size(); ++a) {
      Account::Part& part = result.owner[a] == static_cast<std::uint32_t>(Unowned::kUnknown)   ? result.account.unknown
                            : result.owner[a] == static_cast<std::uint32_t>(Unowned::kBefore)  ? result.account.before
                            : result.owner[a] == static_cast<std::uint32_t>(Unowned::kOutside) ? result.account.outside
                                                                                               : result.account.owned;
      part.gpu_ops += 1;
      part.gpu_sum_ns += end(a) - t_.activities.begin_ns[a];
      result.account.total.gpu_ops += 1;
      result.account.total.gpu_sum_ns += end(a) - t_.activities.begin_ns[a];
    }
    return result;
  }

 private:
  std::int64_t end(ActivityIndex a) const { return std::max(t_.activities.begin_ns[a], t_.activities.end_ns[a]); }

  bool takes_part(RangeIndex r) const {
    const bool kind = (t_.ranges.kind[r] == RangeKind::kAnnotation && options_.annotations) ||
                      (t_.ranges.kind[r] == RangeKind::kOperator && options_.operators);
    return kind && (t_.ranges.flags[r] & kOwnerless) == 0 && t_.ranges.thread[r] < t_.threads.size();
  }
  bool scoped(RangeIndex r) const {
    return t_.ranges.style[r] == RangeStyle::kScoped && (t_.ranges.flags[r] & kEndedElsewhere) == 0;
  }
  auto order(RangeIndex r) const { return std::tuple(t_.ranges.begin_ns[r], -t_.ranges.end_ns[r], r); }
  bool contains(RangeIndex r, std::int64_t time) const {
    const bool ends_later = t_.range_end == RangeEnd::kOpen ? time < t_.ranges.end_ns[r] : time <= t_.ranges.end_ns[r];
    return t_.ranges.begin_ns[r] <= time && ends_later;
  }
  bool encloses(RangeIndex outer, RangeIndex inner) const {
    const bool open_there = t_.range_end == RangeEnd::kClosed || t_.ranges.begin_ns[inner] < t_.ranges.end_ns[outer];
    return order(outer) < order(inner) && t_.ranges.end_ns[inner] <= t_.ranges.end_ns[outer] && open_there;
  }
  template <typename Allowed>
  RangeIndex encloser(RangeIndex inner, Allowed&& allowed) const {
    RangeIndex best = kNone;
    for (RangeIndex r{0}; r < t_.ranges.size(); ++r)
      if (r != inner && takes_part(r) && allowed(r) && t_.ranges.thread[r] == t_.ranges.thread[inner] &&
          encloses(r, inner) && (best == kNone || order(best) < order(r)))
        best = r;
    return best;
  }

  bool forward() const {
    const bool wanted = options_.attribution == Attribution::kAuto || options_.attribution == Attribution::kForward;
    return wanted && t_.autograd_nodes.size() != 0;
  }
  bool capture() const {
    return options_.attribution == Attribution::kAuto || options_.attribution == Attribution::kCapture;
  }

  std::uint32_t node_of(std::uint32_t launch) const {
    if (t_.launches.source[launch] == LaunchSource::kUnknown || t_.launches.time_ns[launch] == kNoTime) return kNone;
    return node_at(t_.launches.thread[launch], t_.launches.time_ns[launch]);
  }

  // The node that ran there and then; of several the one that began last, of two the shorter. On a thread of the engine
  // a node that has ended inside of that one, or inside of none, goes on until the next one begins.
  std::uint32_t node_at(ThreadIndex thread, std::int64_t time) const {
    const AutogradNodeTable& nodes = t_.autograd_nodes;
    const auto order_of = [&](std::uint32_t n) { return std::tuple(nodes.begin_ns[n], -nodes.end_ns[n], n); };
    std::uint32_t best = kNone;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      if (nodes.thread[n] == thread && nodes.begin_ns[n] <= time && !over(n, time) &&
          (best == kNone || order_of(best) < order_of(n)))
        best = n;
    }
    if (!t_.threads[thread].is_engine) return best;
    std::uint32_t ended = kNone;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      if (nodes.thread[n] == thread && nodes.begin_ns[n] <= time && over(n, time) &&
          (best == kNone || order_of(best) < order_of(n)) && (ended == kNone || nodes.end_ns[ended] < nodes.end_ns[n]))
        ended = n;
    }
    return ended == kNone ? best : ended;
  }
  bool over(std::uint32_t node, std::int64_t time) const {
    const std::int64_t end = t_.autograd_nodes.end_ns[node];
    return t_.range_end == RangeEnd::kOpen ? end <= time : end < time;
  }

  Pass pass(std::uint32_t launch) const {
    const std::uint32_t node = node_of(launch);
    if (node == kNone) return Pass::kForward;
    const AutogradNodeTable& nodes = t_.autograd_nodes;
    if (nodes.sequence[node] < 0) return Pass::kAccumulation;
    if (opened_inside(launch, node)) {
      for (std::size_t n = 0; n < nodes.size(); ++n)
        if (nodes.forward_thread[n] == nodes.thread[node] && nodes.begin_ns[node] <= nodes.forward_ns[n] &&
            nodes.forward_ns[n] < nodes.end_ns[node])
          return Pass::kRecompute;
      return Pass::kBackward;
    }
    return matched(node) ? Pass::kBackward : Pass::kUnmatched;
  }

  bool matched(std::uint32_t node) const {
    return t_.autograd_nodes.sequence[node] >= 0 && t_.autograd_nodes.forward_thread[node] < t_.threads.size() &&
           t_.autograd_nodes.forward_ns[node] != kNoTime;
  }

  // Where a node counts as made: one that another node made counts as made where that one was.
  std::uint32_t origin(std::uint32_t node) const {
    const AutogradNodeTable& nodes = t_.autograd_nodes;
    const std::uint32_t maker = node_at(nodes.forward_thread[node], nodes.forward_ns[node]);
    if (maker == kNone || nodes.begin_ns[maker] >= nodes.begin_ns[node] || !matched(maker)) return node;
    for (RangeIndex r{0}; r < t_.ranges.size(); ++r)
      if (takes_part(r) && scoped(r) && t_.ranges.thread[r] == nodes.forward_thread[node] &&
          contains(r, nodes.forward_ns[node]) && t_.ranges.begin_ns[r] >= nodes.begin_ns[maker])
        return node;
    return origin(maker);
  }

  bool moves(std::uint32_t launch) const {
    return forward() && pass(launch) == Pass::kBackward && !opened_inside(launch, node_of(launch));
  }

  // In a range that was opened while the node ran.
  bool opened_inside(std::uint32_t launch, std::uint32_t node) const {
    const RangeIndex noted = t_.launches.range[launch];
    const bool by_note = noted < t_.ranges.size() && takes_part(noted);
    for (RangeIndex r{0}; r < t_.ranges.size(); ++r) {
      const bool open = by_note ? r == noted
                                : takes_part(r) && scoped(r) && t_.ranges.thread[r] == t_.autograd_nodes.thread[node] &&
                                      contains(r, t_.launches.time_ns[launch]);
      if (open && t_.ranges.begin_ns[r] >= t_.autograd_nodes.begin_ns[node]) return true;
    }
    return false;
  }

  std::uint32_t place(ActivityIndex a) {
    Site site;
    if (capture()) site = find_site(t_.activities.captured[a]);
    if (site.owner != kNone)
      captured_any_ = true;
    else
      site = find_site(t_.activities.launch[a]);
    if (!site.known) return without_launch(a);
    for (const RangeIndex r : site.members) inclusive_[r].push_back(a);
    if (site.owner == kNone) return without_range(a, site.launched);
    exclusive_[site.owner].push_back(a);
    return site.owner;
  }

  struct Site {
    bool known = false;
    std::int64_t launched = 0;
    std::set<RangeIndex> members;
    RangeIndex owner = kNone;
  };
  Site find_site(std::uint32_t launch) const {
    Site site;
    if (launch >= t_.launches.size()) return site;
    RangeIndex noted = t_.launches.range[launch];
    if (noted >= t_.ranges.size()) noted = kNone;
    site.launched = t_.launches.time_ns[launch];
    std::int64_t time = site.launched;
    ThreadIndex thread = t_.launches.thread[launch];
    if (moves(launch)) {
      const std::uint32_t node = origin(node_of(launch));
      noted = kNone;
      thread = t_.autograd_nodes.forward_thread[node];
      time = t_.autograd_nodes.forward_ns[node];
    }
    if (noted != kNone && t_.ranges.thread[noted] < t_.threads.size())
      thread = t_.ranges.thread[noted];
    else if (t_.launches.source[launch] == LaunchSource::kUnknown || time == kNoTime || thread >= t_.threads.size())
      return site;
    site.known = true;
    if (noted != kNone && t_.ranges.thread[noted] >= t_.threads.size()) noted = kNone;

    std::set<RangeIndex>& members = site.members;
    for (RangeIndex r{0}; r < t_.ranges.size(); ++r) {
      const bool by_time = !scoped(r) || noted == kNone || !scoped(noted);
      if (takes_part(r) && t_.ranges.thread[r] == thread && by_time && contains(r, time)) members.insert(r);
    }
    if (noted != kNone && scoped(noted)) {
      if (takes_part(noted)) members.insert(noted);
      const auto is_scoped = [this](RangeIndex r) { return scoped(r); };
      for (RangeIndex r = encloser(noted, is_scoped); r != kNone; r = encloser(r, is_scoped)) members.insert(r);
    }
    const bool note_counts = noted != kNone && (scoped(noted) || contains(noted, time));
    RangeIndex& owner = site.owner;
    for (const RangeIndex r : members)
      if ((!note_counts || order(r) < order(noted)) && (owner == kNone || order(owner) < order(r))) owner = r;
    if (note_counts && takes_part(noted)) owner = noted;
    return site;
  }

  std::vector<Window> windows() const {
    std::vector<Window> merged;
    std::vector<Window> sorted = t_.windows;
    std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.begin_ns < b.begin_ns; });
    for (const Window& w : sorted) {
      if (w.end_ns < w.begin_ns) continue;
      if (!merged.empty() && w.begin_ns <= merged.back().end_ns)
        merged.back().end_ns = std::max(merged.back().end_ns, w.end_ns);
      else
        merged.push_back(w);
    }
    return merged;
  }
  static bool inside(const Window& w, std::int64_t time) { return w.begin_ns <= time && time <= w.end_ns; }

  std::uint32_t without_range(ActivityIndex a, std::int64_t launched) const {
    const std::vector<Window> all = windows();
    const std::int64_t begin = t_.activities.begin_ns[a];
    bool recorded = all.empty();
    bool begun_between = false;
    for (const Window& w : all) {
      recorded = recorded || inside(w, launched);
      begun_between = begun_between || (launched < w.begin_ns && w.begin_ns <= begin);
    }
    return static_cast<std::uint32_t>(!recorded && begun_between ? Unowned::kBefore : Unowned::kOutside);
  }

  // Correlation ids are small in these tests: no wrapping.
  std::uint32_t without_launch(ActivityIndex a) const {
    const std::uint64_t id = t_.activities.correlation[a];
    const std::int64_t begin = t_.activities.begin_ns[a];
    const ProcessIndex process = t_.devices[t_.streams[t_.activities.stream[a]].device].process;
    const auto before = static_cast<std::uint32_t>(Unowned::kBefore);
    const auto unknown = static_cast<std::uint32_t>(Unowned::kUnknown);
    if (id == 0) return unknown;
    std::vector<Window> all = windows();
    if (!all.empty() && begin + t_.clock_error_ns < all.front().begin_ns) return before;
    if (all.empty())
      all.push_back({std::numeric_limits<std::int64_t>::min() + 1, std::numeric_limits<std::int64_t>::max()});
    std::size_t ran_in = 0;
    for (std::size_t w = 0; w < all.size(); ++w)
      if (all[w].begin_ns <= begin) ran_in = w;
    std::map<std::size_t, std::set<std::uint64_t>> ids;
    std::set<std::int64_t> times;
    const auto note = [&](ProcessIndex of, std::uint64_t correlation, std::int64_t time) {
      for (std::size_t w = 0; w < all.size(); ++w)
        if (of == process && correlation != 0 && inside(all[w], time)) ids[w].insert(correlation), times.insert(time);
    };
    for (std::size_t l = 0; l < t_.launches.size(); ++l)
      if (t_.launches.source[l] != LaunchSource::kUnknown)
        note(t_.launches.process[l], t_.launches.correlation[l], t_.launches.time_ns[l]);
    for (std::size_t c = 0; c < t_.calls.size(); ++c)
      note(t_.threads[t_.calls.thread[c]].process, t_.calls.correlation[c], t_.calls.begin_ns[c]);
    if (times.empty()) return unknown;
    if (begin + t_.clock_error_ns < *times.begin()) return before;
    for (std::size_t w = ran_in + 1; w-- > 0;) {
      if (!ids.count(w) || *ids[w].begin() > id) continue;
      return w == ran_in || id <= *ids[w].rbegin() ? unknown : before;
    }
    return before;
  }

  std::int64_t union_of(const std::vector<ActivityIndex>& list) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> intervals;
    for (const ActivityIndex a : list) intervals.emplace_back(t_.activities.begin_ns[a], end(a));
    std::sort(intervals.begin(), intervals.end());
    std::int64_t total = 0;
    std::int64_t to = std::numeric_limits<std::int64_t>::min();
    for (const auto& [b, e] : intervals) {
      if (e > to) total += e - std::max(b, to);
      to = std::max(to, e);
    }
    return total;
  }

  DeviceFigures figures(const std::vector<ActivityIndex>& list) const {
    DeviceFigures f;
    std::map<DeviceIndex, std::vector<ActivityIndex>> by_device;
    for (const ActivityIndex a : list) {
      const std::int64_t begin = t_.activities.begin_ns[a];
      f.first_ns = f.gpu_ops == 0 ? begin : std::min(f.first_ns, begin);
      f.last_ns = f.gpu_ops == 0 ? end(a) : std::max(f.last_ns, end(a));
      f.gpu_ops += 1;
      f.gpu_sum_ns += end(a) - begin;
      f.bytes += t_.activities.bytes[a];
      const std::uint32_t launch = t_.activities.launch[a];
      if (launch < t_.launches.size()) f.launch_delay_ns += begin - t_.launches.time_ns[launch];
      by_device[t_.streams[t_.activities.stream[a]].device].push_back(a);
    }
    for (const auto& [device, activities] : by_device) f.gpu_busy_ns += union_of(activities);
    f.any_busy_ns = union_of(list);
    return f;
  }

  void rows(RangeIndex r, const std::vector<ActivityIndex>& list, std::vector<StreamFigures>& out,
            std::vector<std::uint32_t>& offset) const {
    std::map<StreamIndex, std::vector<ActivityIndex>> by_stream;
    for (const ActivityIndex a : list) by_stream[t_.activities.stream[a]].push_back(a);
    for (const auto& [stream, activities] : by_stream) {
      const DeviceFigures f = figures(activities);
      out.push_back({r, stream, f.gpu_ops, f.gpu_sum_ns, f.any_busy_ns, f.first_ns, f.last_ns});
    }
    offset.push_back(static_cast<std::uint32_t>(out.size()));
  }

  const Timeline& t_;
  const ProjectionOptions& options_;
  std::vector<std::vector<ActivityIndex>> exclusive_;
  std::vector<std::vector<ActivityIndex>> inclusive_;
  bool captured_any_ = false;
};

[[noreturn]] void differ(const std::string& what, std::size_t row, const std::string& expected,
                         const std::string& actual) {
  throw std::logic_error(what + " of row " + std::to_string(row) + ": expected " + expected + ", got " + actual);
}

std::string text(const DeviceFigures& f) {
  return "ops " + std::to_string(f.gpu_ops) + " sum " + std::to_string(f.gpu_sum_ns) + " busy " +
         std::to_string(f.gpu_busy_ns) + " any " + std::to_string(f.any_busy_ns) + " first " +
         std::to_string(f.first_ns) + " last " + std::to_string(f.last_ns) + " bytes " + std::to_string(f.bytes) +
         " delay " + std::to_string(f.launch_delay_ns);
}
std::string text(const StreamFigures& f) {
  return "range " + std::to_string(f.range) + " stream " + std::to_string(f.stream) + " ops " +
         std::to_string(f.gpu_ops) + " sum " + std::to_string(f.gpu_sum_ns) + " busy " + std::to_string(f.gpu_busy_ns) +
         " first " + std::to_string(f.first_ns) + " last " + std::to_string(f.last_ns);
}
std::string text(std::uint32_t value) { return std::to_string(value); }
std::string text(const Account::Part& part) {
  return "ops " + std::to_string(part.gpu_ops) + " sum " + std::to_string(part.gpu_sum_ns);
}

template <typename Rows>
void require_rows(const std::string& what, const Rows& expected, const Rows& actual) {
  if (expected.size() != actual.size()) differ("number of " + what, 0, text(expected.size()), text(actual.size()));
  for (RangeIndex row{0}; row < expected.size(); ++row)
    if (text(expected[row]) != text(actual[row])) differ(what, row, text(expected[row]), text(actual[row]));
}

}  // namespace

Projection project_slowly(const Timeline& timeline, const ProjectionOptions& options) {
  return Slow(timeline, options).run();
}

void require_equal(const Projection& expected, const Projection& actual) {
  if (expected.attribution != actual.attribution) differ("attribution", 0, "another", "this");
  if (expected.pass.size() != actual.pass.size())
    differ("number of passes", 0, std::to_string(expected.pass.size()), std::to_string(actual.pass.size()));
  for (std::size_t launch = 0; launch < expected.pass.size(); ++launch) {
    const auto number = [](Pass pass) { return std::to_string(static_cast<int>(pass)); };
    if (expected.pass[launch] != actual.pass[launch])
      differ("pass", launch, number(expected.pass[launch]), number(actual.pass[launch]));
  }
  require_rows("owner", expected.owner, actual.owner);
  require_rows("parent", expected.parent, actual.parent);
  require_rows("depth", expected.depth, actual.depth);
  require_rows("exclusive figures", expected.exclusive, actual.exclusive);
  require_rows("inclusive figures", expected.inclusive, actual.inclusive);
  require_rows("exclusive stream rows", expected.exclusive_streams, actual.exclusive_streams);
  require_rows("inclusive stream rows", expected.inclusive_streams, actual.inclusive_streams);
  require_rows("exclusive offset", expected.exclusive_offset, actual.exclusive_offset);
  require_rows("inclusive offset", expected.inclusive_offset, actual.inclusive_offset);
  const auto part = [](const char* name, const Account::Part& a, const Account::Part& b) {
    if (text(a) != text(b)) differ(name, 0, text(a), text(b));
  };
  part("account total", expected.account.total, actual.account.total);
  part("account owned", expected.account.owned, actual.account.owned);
  part("account outside", expected.account.outside, actual.account.outside);
  part("account before", expected.account.before, actual.account.before);
  part("account unknown", expected.account.unknown, actual.account.unknown);
}

void require_sound_account(const Timeline& timeline, const Projection& projection) {
  const Account& account = projection.account;
  const auto sum = [](auto member, const Account& a) {
    return a.owned.*member + a.outside.*member + a.before.*member + a.unknown.*member;
  };
  std::int64_t total = 0;
  for (ActivityIndex a{0}; a < timeline.activities.size(); ++a)
    total += std::max<std::int64_t>(0, timeline.activities.end_ns[a] - timeline.activities.begin_ns[a]);
  std::uint64_t owned_ops = 0;
  std::int64_t owned_ns = 0;
  for (RangeIndex range{0}; range < projection.exclusive.size(); ++range) {
    owned_ops += projection.exclusive[range].gpu_ops;
    owned_ns += projection.exclusive[range].gpu_sum_ns;
  }
  const auto check = [](const char* what, auto expected, auto actual) {
    if (expected != actual) differ(what, 0, std::to_string(expected), std::to_string(actual));
  };
  check("account total ops", timeline.activities.size(), static_cast<std::size_t>(account.total.gpu_ops));
  check("account total", total, account.total.gpu_sum_ns);
  check("ops of the four parts", account.total.gpu_ops, sum(&Account::Part::gpu_ops, account));
  check("sum of the four parts", account.total.gpu_sum_ns, sum(&Account::Part::gpu_sum_ns, account));
  check("owned ops against exclusive figures", owned_ops, account.owned.gpu_ops);
  check("owned against exclusive figures", owned_ns, account.owned.gpu_sum_ns);
}

}  // namespace rangefinder::testing
