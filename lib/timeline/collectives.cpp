// SPDX-License-Identifier: MIT
#include "timeline/collectives.hpp"

#include "timeline/nccl_calls.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder {

void CollectiveTable::sort() {
  std::vector<std::uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](std::uint32_t row) { return std::tuple(std::uint32_t{process[row]}, begin_ns[row]); };
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); };
  if (std::is_sorted(order.begin(), order.end(), before)) return;
  std::stable_sort(order.begin(), order.end(), before);
  reorder(order);
}

namespace timeline {
namespace {

struct NamedKind {
  std::string_view name;
  CollectiveKind kind;
};

// Letters alone, in lower case. What stands first is looked for first: reduce_scatter holds "scatter".
constexpr NamedKind kKinds[] = {
    {"allreduce", CollectiveKind::kAllReduce}, {"reducescatter", CollectiveKind::kReduceScatter},
    {"allgather", CollectiveKind::kAllGather}, {"alltoall", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast}, {"reduce", CollectiveKind::kReduce},
    {"gather", CollectiveKind::kGather},       {"scatter", CollectiveKind::kScatter},
    {"barrier", CollectiveKind::kBarrier},     {"recv", CollectiveKind::kReceive},
    {"receive", CollectiveKind::kReceive},     {"send", CollectiveKind::kSend},
    {"bcast", CollectiveKind::kBroadcast}};

/// "nccl:_all_gather_base" -> "allgatherbase".
std::string letters_of(std::string_view name) {
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) name.remove_prefix(colon + 1);
  std::string letters;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

CollectiveKind kind_at_start(std::string_view letters) noexcept {
  for (const NamedKind& known : kKinds)
    if (letters.starts_with(known.name)) return known.kind;
  return CollectiveKind::kOther;
}

bool contains_ignoring_case(std::string_view text, std::string_view lower) noexcept {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), same) != text.end();
}

struct NamedSize {
  std::string_view name;
  std::uint64_t bytes;
};

// In lower case, without the "nccl" and "c10::" that may stand before them.
constexpr NamedSize kSizes[] = {
    {"float", 4},
    {"float32", 4},
    {"half", 2},
    {"float16", 2},
    {"bfloat16", 2},
    {"double", 8},
    {"float64", 8},
    {"long", 8},
    {"long int", 8},
    {"int64", 8},
    {"long long", 8},
    {"int", 4},
    {"int32", 4},
    {"short", 2},
    {"short int", 2},
    {"int16", 2},
    {"char", 1},
    {"signed char", 1},
    {"int8", 1},
    {"byte", 1},
    {"unsigned char", 1},
    {"uint8", 1},
    {"bool", 1},
    {"uint16", 2},
    {"unsigned short", 2},
    {"uint32", 4},
    {"unsigned int", 4},
    {"uint64", 8},
    {"unsigned long", 8},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"float8e4m3", 1},
    {"float8e5m2", 1},
    {"float8_e8m0fnu", 1},
    {"complexfloat", 8},
    {"complexdouble", 16},
    {"complexhalf", 4},
    {"qint8", 1},
    {"quint8", 1},
    {"qint32", 4},
    {"c10::complex<float>", 8},
    {"c10::complex<double>", 16},
    {"fp32", 4},
    {"bf16", 2},
};

/// Calls of one thread that are in no other, in order of time.
struct OuterCalls {
  std::vector<CollectiveIndex> rows;
};

/// By thread, from rows in order of time.
std::unordered_map<ThreadIndex, OuterCalls> outer_calls(const CollectiveTable& table) {
  std::unordered_map<ThreadIndex, OuterCalls> calls;
  for (CollectiveIndex row{0}; row < table.size(); ++row) {
    if (table.thread[row] == kNone || table.begin_ns[row] == kNoTime) continue;
    std::vector<CollectiveIndex>& rows = calls[table.thread[row]].rows;
    const bool inside =
        !rows.empty() && table.end_ns[rows.back()] != kNoTime && table.begin_ns[row] < table.end_ns[rows.back()];
    if (!inside) rows.push_back(row);
  }
  return calls;
}

class Joiner {
 public:
  explicit Joiner(Timeline& timeline)
      : timeline_(timeline), table_(timeline.collectives), is_collective_(timeline.string_count() + std::size_t{1}) {}

  void run() {
    table_.sort();
    NcclCalls told = merge_nccl_calls(timeline_);
    calls_ = outer_calls(table_);
    const NcclLaunches launches(timeline_, std::move(told), [this](StringId name) { return is_collective(name); });
    ActivityTable& activities = timeline_.activities;
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      if (activities.kind[row] != ActivityKind::kKernel || !is_collective(activities.name[row])) continue;
      CollectiveIndex known = call_of(activities.launch[row]);
      CollectiveIndex captured = known == kNone ? call_of(activities.captured[row]) : CollectiveIndex(kNone);
      // `known` would be of the replay.
      if (known == kNone && captured == kNone)
        (activities.captured[row] == kNone ? known : captured) = launches.call_of(row);
      activities.set_collective(row, known != kNone ? known : add_kernel(row, captured));
    }
  }

 private:
  enum class Answer : std::uint8_t { kNotAsked, kNo, kYes };

  bool is_collective(StringId name) {
    Answer& known = is_collective_[static_cast<std::size_t>(name)];
    if (known == Answer::kNotAsked) known = is_collective_kernel(timeline_.text(name)) ? Answer::kYes : Answer::kNo;
    return known == Answer::kYes;
  }

  CollectiveIndex call_of(LaunchIndex launch) const {
    if (launch == kNone || launch >= timeline_.launches.size()) return kNone;
    const auto calls = calls_.find(timeline_.launches.thread[launch]);
    if (calls == calls_.end()) return kNone;
    const std::vector<CollectiveIndex>& rows = calls->second.rows;
    const std::int64_t time_ns = timeline_.launches.time_ns[launch];
    const auto after = std::upper_bound(rows.begin(), rows.end(), time_ns, [&](std::int64_t time, CollectiveIndex row) {
      return time < table_.begin_ns[row];
    });
    if (after == rows.begin()) return kNone;
    const CollectiveIndex row = after[-1];
    const std::int64_t end_ns = table_.end_ns[row];
    const bool closed = timeline_.range_end == RangeEnd::kClosed;
    return end_ns == kNoTime || time_ns < end_ns || (closed && time_ns == end_ns) ? row : CollectiveIndex(kNone);
  }

  /// Behind all rows that were told: `sort` has been.
  CollectiveIndex add_kernel(ActivityIndex activity, CollectiveIndex captured) {
    const ActivityTable& activities = timeline_.activities;
    CollectiveRow row;
    if (captured != kNone) {
      row = table_.row(captured);
      row.number = -1;
      row.started_ns = row.completed_ns = row.wait_begin_ns = row.wait_end_ns = kNoTime;
      row.wait_thread = kNone;
    } else {
      row.name = activities.name[activity];
      row.kind = collective_kind_of_kernel(timeline_.text(row.name));
      row.source = CollectiveSource::kNccl;
    }
    row.process = timeline_.devices[timeline_.streams[activities.stream[activity]].device].process;
    row.thread = kNone;
    row.begin_ns = row.end_ns = kNoTime;
    return table_.append(row);
  }

  Timeline& timeline_;
  CollectiveTable& table_;
  std::unordered_map<ThreadIndex, OuterCalls> calls_;
  std::vector<Answer> is_collective_;  // by name
};

}  // namespace

CollectiveKind collective_kind(std::string_view name) noexcept { return kind_at_start(letters_of(name)); }

bool is_collective_kernel(std::string_view kernel) noexcept {
  return contains_ignoring_case(kernel, "nccl") || contains_ignoring_case(kernel, "rccl");
}

CollectiveKind collective_kind_of_kernel(std::string_view kernel) noexcept {
  const std::size_t behind = kernel.find('_');
  if (behind == std::string_view::npos) return CollectiveKind::kOther;
  kernel.remove_prefix(behind + 1);
  kernel = kernel.substr(0, kernel.find('_'));
  return kernel.starts_with("SendRecv") ? CollectiveKind::kOther : kind_at_start(letters_of(kernel));
}

std::uint64_t element_bytes(std::string_view dtype) noexcept {
  std::array<char, 32> text;
  if (dtype.size() > text.size()) return 0;
  std::transform(dtype.begin(), dtype.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view lower(text.data(), dtype.size());
  for (const std::string_view before : {"nccl", "torch."})
    if (lower.starts_with(before)) lower.remove_prefix(before.size());
  if (lower.starts_with("c10::") && !lower.starts_with("c10::complex")) lower.remove_prefix(5);
  for (const NamedSize& known : kSizes)
    if (known.name == lower) return known.bytes;
  return 0;
}

ProcessGroupIndex add_process_group(Timeline& timeline, const ProcessGroupInfo& group) {
  std::vector<ProcessGroupInfo>& groups = timeline.process_groups;
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const ProcessGroupInfo& known) {
    return std::tie(known.source, known.name, known.ranks, known.size) ==
           std::tie(group.source, group.name, group.ranks, group.size);
  });
  if (found != groups.end()) return static_cast<ProcessGroupIndex>(found - groups.begin());
  groups.push_back(group);
  return static_cast<ProcessGroupIndex>(groups.size() - 1);
}

void join_collectives(Timeline& timeline) { Joiner(timeline).run(); }

}  // namespace timeline
}  // namespace rangefinder
