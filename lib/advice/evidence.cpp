// SPDX-License-Identifier: MIT
#include "advice/evidence.hpp"

#include "analysis/spread.hpp"

#include <algorithm>
#include <tuple>

namespace rangefinder::advice {

void EvidenceTable::add_host(analysis::HostMoment moment, std::string_view what, std::int64_t time_ns) {
  items_.push_back({moment, kNone, number_of(what), time_ns});
  rows_.clear();
}

void EvidenceTable::add_activity(ActivityIndex activity, std::int64_t time_ns, std::string_view what) {
  const Timeline& timeline = context_.timeline();
  if (what.empty()) what = timeline.text(timeline.activities.name[activity]);
  items_.push_back({{}, activity, number_of(what), time_ns});
  rows_.clear();
}

std::uint32_t EvidenceTable::number_of(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto added = numbers_.emplace(std::string(text), static_cast<std::uint32_t>(texts_.size())).first;
  texts_.push_back(added->first);
  return added->second;
}

std::uint64_t EvidenceTable::per_step(std::uint64_t count) const {
  const std::uint64_t frames = context_.frames().count();
  return (count + frames - 1) / frames;
}

std::int64_t EvidenceTable::time_ns() const {
  analysis::Sum sum;
  for (const Item& item : items_) sum.add(item.time_ns);
  return analysis::rounded_quotient(sum.total, static_cast<std::int64_t>(context_.frames().count()), 0);
}

void EvidenceTable::add_up() {
  if (!rows_.empty() || items_.empty()) return;
  const Timeline& timeline = context_.timeline();
  std::vector<analysis::HostMoment> moments;
  for (const Item& item : items_) moments.push_back(item.moment);
  const ProjectionOptions by_operator{Attribution::kLaunch, false, true};
  const std::vector<RangeIndex> ranges = analysis::ranges_at(timeline, context_.options().projection, moments);
  const std::vector<RangeIndex> operators = analysis::ranges_at(timeline, by_operator, moments);
  const std::vector<std::uint32_t>& groups = context_.paths().group_of;
  std::map<std::uint32_t, std::string> paths;  // by group
  std::map<std::tuple<std::string_view, std::uint32_t, std::uint32_t>, std::size_t> places;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    RangeIndex range = ranges[i], op = operators[i];
    if (item.activity != kNone) {
      const std::uint32_t owner = context_.projection().owner[item.activity];
      range = owner < timeline.ranges.size() ? RangeIndex(owner) : RangeIndex(kNone);
      op = context_.families().operator_of(item.activity);
    }
    const std::uint32_t group = range < groups.size() ? groups[range] : std::uint32_t{kNone};
    const std::uint32_t name =
        op < timeline.ranges.size() ? static_cast<std::uint32_t>(timeline.ranges.name[op]) : std::uint32_t{kNone};
    const auto [path, is_new] = paths.try_emplace(group);
    if (is_new) path->second = context_.path_of(range);
    const auto [place, added] = places.try_emplace({path->second, name, item.what}, rows_.size());
    if (added) rows_.push_back({range, op, item.what, 0, 0});
    Row& row = rows_[place->second];
    ++row.count;
    row.time_ns = analysis::saturating_add(row.time_ns, item.time_ns);
  }
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.time_ns > b.time_ns; });
}

std::vector<AdviceEvidence> EvidenceTable::rows() {
  add_up();
  const Timeline& timeline = context_.timeline();
  std::vector<AdviceEvidence> out;
  for (const Row& row : rows_) {
    if (out.size() == kMostRows) break;
    AdviceEvidence one;
    one.where = context_.path_of(row.range);
    one.what = texts_[row.what];
    if (row.op < timeline.ranges.size()) one.op = timeline.text(timeline.ranges.name[row.op]);
    if (one.op == one.what) one.op.clear();
    one.count = per_step(row.count);
    one.time_ns = row.time_ns / static_cast<std::int64_t>(context_.frames().count());
    out.push_back(std::move(one));
  }
  return out;
}

std::string EvidenceTable::main_range() {
  add_up();
  std::map<std::string, std::int64_t> by_path;
  for (const Row& row : rows_)
    if (row.range != kNone) by_path[context_.path_of(row.range)] += row.time_ns / 2;  // halves cannot overflow
  const auto most = std::max_element(by_path.begin(), by_path.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == by_path.end() ? std::string() : most->first;
}

std::string EvidenceTable::main_operator() {
  add_up();
  if (rows_.empty()) return {};
  const Timeline& timeline = context_.timeline();
  const Row& row = rows_.front();
  return row.op < timeline.ranges.size() ? std::string(timeline.text(timeline.ranges.name[row.op]))
                                         : std::string(texts_[row.what]);
}

void add_spans(Context& context, const HostSpans& spans, EvidenceTable& evidence) {
  const Timeline& timeline = context.timeline();
  struct Begin {
    ThreadIndex thread;
    std::int64_t begin_ns;
    StringId name;
  };
  std::vector<Begin> begins;
  const auto read = [&](const auto& table) {
    for (std::size_t row = 0; row < table.size(); ++row)
      if (spans.covered_ns(table.thread[row], table.begin_ns[row], table.end_ns[row]) > 0)
        begins.push_back({table.thread[row], table.begin_ns[row], table.name[row]});
  };
  read(timeline.ranges);
  read(timeline.calls);
  read(timeline.overheads);
  std::sort(begins.begin(), begins.end(), [](const Begin& a, const Begin& b) {
    return std::tuple(a.thread, a.begin_ns) < std::tuple(b.thread, b.begin_ns);
  });
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    for (const analysis::Span& span : spans.of(thread)) {
      const auto at = std::partition_point(begins.begin(), begins.end(), [&](const Begin& one) {
        return std::tuple(one.thread, one.begin_ns) < std::tuple(thread, span.begin);
      });
      const bool known = at != begins.end() && at->thread == thread && at->begin_ns < span.end;
      evidence.add_host({thread, span.begin}, known ? timeline.text(at->name) : std::string_view("host"),
                        span.end - span.begin);
    }
  }
}

}  // namespace rangefinder::advice
