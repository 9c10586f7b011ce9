// SPDX-License-Identifier: MIT
#include "analysis/range_rollup.hpp"
#include "base/text.hpp"
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"
#include "projection/words.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace rangefinder::html {
namespace {

/// More paths than this make no picture.
constexpr std::size_t kMostPaths = 50'000;

std::string accounts_of(const Account& account) {
  const std::array<std::pair<const char*, std::int64_t>, 4> parts{{
      {"Owned by ranges", account.owned.gpu_sum_ns},
      {"Launched outside any range", account.outside.gpu_sum_ns},
      {"Launched before the recording", account.before.gpu_sum_ns},
      {"Launch unknown", account.unknown.gpu_sum_ns},
  }};
  std::string json;
  for (const auto& [label, time_ns] : parts)
    json += (json.empty() ? "[" : ",[") + json_of(label) + "," + std::to_string(since(0, time_ns)) + "]";
  return "[" + json + "]";
}

}  // namespace

struct RangesSection::Row {
  analysis::RangeGroup figures;
  RangeIndex longest = kNone;
};

RangesSection::~RangesSection() = default;

RangesSection::RangesSection(const PageInput& input, PageOutput& output) : input_(input), output_(output) {
  const Timeline& timeline = input.timeline;
  const analysis::PathTree tree = analysis::range_tree(
      timeline, input.projection(), input.projected.projection_options(), {}, analysis::HostSpread::kNotWanted);
  std::vector<RangeIndex> longest(tree.groups.size(), RangeIndex(kNone));
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex range{0}; range < tree.group_of.size(); ++range) {
    const std::uint32_t group = tree.group_of[range];
    if (group == kNone || (ranges.flags[range] & kBeforeRecording) != 0) continue;
    RangeIndex& known = longest[group];
    if (known == kNone ||
        since(ranges.begin_ns[range], ranges.end_ns[range]) > since(ranges.begin_ns[known], ranges.end_ns[known]))
      known = range;
  }
  const std::size_t kept = std::min(tree.order.size(), kMostPaths);
  if (kept != tree.order.size()) {
    output.left_out += tree.order.size() - kept;
    output.left_why.push_back(base::with_thousands(tree.order.size() - kept) + " paths of ranges after the first " +
                              base::with_thousands(kMostPaths) + " were left out of the tree and the flame graph");
  }
  for (std::size_t i = 0; i < kept; ++i) {
    rows_.push_back({tree.groups[tree.order[i]], longest[tree.order[i]]});
    output.names.count(rows_.back().figures.name);
  }
  if (rows_.empty())
    output.absent["ranges"] =
        "The recording has no ranges: name parts of the program with ProfileRange, NVTX or record_function.";
}

HostTime RangesSection::host_time() const {
  HostTime time;
  for (const Row& row : rows_) {
    const std::int64_t own_ns = since(0, row.figures.host_self_ns);
    time.total_ns = std::min(time.total_ns + own_ns, kMostSigned);
    if (own_ns <= time.longest_ns) continue;
    time.longest_ns = own_ns;
    time.longest = row.figures.name;
  }
  return time;
}

std::string RangesSection::json() const {
  if (rows_.empty()) return {};
  const Timeline& timeline = input_.timeline;
  const bool has_device = timeline.activities.size() != 0;
  TableData table;
  const std::size_t depth = table.add("depth", "varint"), name = table.add("name", "varint");
  const std::size_t count = table.add("count", "varint");
  const std::size_t host = table.add("host_ns", "varint"), host_self = table.add("host_self_ns", "varint");
  const std::size_t busy = has_device ? table.add("gpu_busy_ns", "varint") : 0;
  const std::size_t self = has_device ? table.add("gpu_self_ns", "varint") : 0;
  const std::size_t ops = has_device ? table.add("gpu_ops", "varint") : 0;
  const std::size_t begin = table.add("begin_ns", "varint"), duration = table.add("duration_ns", "varint");
  for (const Row& row : rows_) {
    table.varint(depth, std::uint64_t{row.figures.depth});
    table.varint(name, output_.names.index(row.figures.name));
    table.varint(count, std::uint64_t{row.figures.count});
    table.varint(host, row.figures.host_ns);
    table.varint(host_self, row.figures.host_self_ns);
    if (has_device) {
      table.varint(busy, row.figures.inclusive.gpu_busy_ns);
      table.varint(self, row.figures.exclusive.gpu_busy_ns);
      table.varint(ops, std::uint64_t{row.figures.inclusive.gpu_ops});
    }
    const bool ran = row.longest != kNone;
    const std::int64_t begin_ns = ran ? timeline.ranges.begin_ns[row.longest] : timeline.begin_ns;
    table.varint(begin, since(timeline.begin_ns, begin_ns));
    table.varint(duration, ran ? since(begin_ns, timeline.ranges.end_ns[row.longest]) : std::int64_t{0});
    table.next_row();
  }
  std::string json = "{\"attribution\":" + json_of(word_of(input_.projection().attribution)) +
                     ",\"table\":" + table.json(output_.blocks);
  if (has_device) json += ",\"accounts\":" + accounts_of(input_.projection().account);
  return json + "}";
}

}  // namespace rangefinder::html
