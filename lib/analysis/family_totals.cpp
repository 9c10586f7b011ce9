// SPDX-License-Identifier: MIT
#include "analysis/family_totals.hpp"

#include "projection/figures.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

namespace rangefinder::analysis {
namespace {

using projection::Interval;
using projection::RunningUnion;

struct FamilySum {
  std::uint64_t ops = 0;
  std::int64_t sum_ns = 0;
  void add(const FamilySum& other) noexcept {
    ops += other.ops;
    sum_ns = projection::plus(sum_ns, other.sum_ns);
  }
};

FamilySum sum_of(const ActivityTable& activities, ActivityIndex activity) noexcept {
  return {1, Interval(activities.begin_ns[activity], activities.end_ns[activity]).length()};
}

/// Of each family: times by a name, and the name with most.
class FamilyNames {
 public:
  void add(KernelFamily family, StringId name, std::int64_t ns) {
    const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(name)} << 8 | static_cast<std::uint64_t>(family);
    const std::uint32_t at = place_.find_or_set(key, static_cast<std::uint32_t>(rows_.size()));
    if (at == rows_.size()) rows_.push_back({family, name, 0});
    rows_[at].ns = projection::plus(rows_[at].ns, ns);
  }
  /// `use(family, name, how many names the family has)`; of equal times the first by name.
  template <typename Use>
  void each_main(const Timeline& timeline, Use use) const {
    std::array<const Row*, kKernelFamilies> main{};
    std::array<std::uint64_t, kKernelFamilies> count{};
    for (const Row& row : rows_) {
      const auto family = static_cast<std::size_t>(row.family);
      ++count[family];
      const Row* const best = main[family];
      if (best == nullptr || row.ns > best->ns ||
          (row.ns == best->ns && timeline.text(row.name) < timeline.text(best->name)))
        main[family] = &row;
    }
    for (std::size_t family = 0; family < kKernelFamilies; ++family)
      if (main[family] != nullptr) use(family, main[family]->name, count[family]);
  }

 private:
  struct Row {
    KernelFamily family;
    StringId name;
    std::int64_t ns;
  };
  projection::FlatMap place_;
  std::vector<Row> rows_;
};

/// Per family the union of its activities on each device.
std::array<std::int64_t, kKernelFamilies> busy_times(const Timeline& timeline, const KernelFamilies& families) {
  const ActivityTable& activities = timeline.activities;
  std::vector<std::uint32_t> order(activities.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return activities.begin_ns[a] < activities.begin_ns[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) std::sort(order.begin(), order.end(), earlier);
  std::vector<std::array<RunningUnion, kKernelFamilies>> unions(timeline.devices.size());
  for (const std::uint32_t row : order) {
    const ActivityIndex activity(row);
    const DeviceIndex device = timeline.streams[activities.stream[activity]].device;
    unions[device][static_cast<std::size_t>(families.of(activity))].add(
        Interval(activities.begin_ns[activity], activities.end_ns[activity]));
  }
  std::array<std::int64_t, kKernelFamilies> busy_ns{};
  for (const auto& of_device : unions)
    for (std::size_t family = 0; family < kKernelFamilies; ++family)
      busy_ns[family] = projection::plus(busy_ns[family], of_device[family].busy);
  return busy_ns;
}

void put_most_first(std::span<FamilyTotal> rows) {
  std::sort(rows.begin(), rows.end(), [](const FamilyTotal& a, const FamilyTotal& b) {
    return std::tuple(b.gpu_sum_ns, a.family) < std::tuple(a.gpu_sum_ns, b.family);
  });
}

/// The sums of a few families.
using FamilySums = std::vector<std::pair<KernelFamily, FamilySum>>;

void add_sum(FamilySums& sums, KernelFamily family, const FamilySum& sum) {
  const auto found = std::find_if(sums.begin(), sums.end(), [&](const auto& one) { return one.first == family; });
  if (found == sums.end())
    sums.emplace_back(family, sum);
  else
    found->second.add(sum);
}

void add_sums(FamilySums& sums, const FamilySums& others) {
  for (const auto& [family, sum] : others) add_sum(sums, family, sum);
}

constexpr std::array<Unowned, 3> kCauses = {Unowned::kOutside, Unowned::kBefore, Unowned::kUnknown};

class FamiliesOfRanges {
 public:
  FamiliesOfRanges(const Timeline& timeline, const PathTree& tree) : timeline_(timeline), tree_(tree) {
    sums_.resize(tree.groups.size());
    find_names();
    find_repeated();
  }

  void read(const Projection& projection, const KernelFamilies& families) {
    const ActivityTable& activities = timeline_.activities;
    for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
      const std::uint32_t owner = projection.owner[activity];
      const std::uint32_t group = owner < tree_.group_of.size() ? tree_.group_of[owner] : std::uint32_t{kNone};
      FamilySums& sums = group != kNone ? sums_[group] : unowned_[cause_of(owner)];
      add_sum(sums, families.of(activity), sum_of(activities, activity));
    }
  }

  std::vector<FamilyTotal> rows() && {
    // Groups stand behind the group around them.
    for (std::size_t group = sums_.size(); group-- > 0;) {
      const FamilySums own = std::exchange(sums_[group], {});
      if (!is_repeated_[group]) add_sums(by_name_[name_of_[group]], own);
      const std::uint32_t parent = tree_.groups[group].parent;
      if (parent != kNone) add_sums(sums_[parent], own);
    }
    std::vector<FamilyTotal> rows;
    for (std::size_t name = 0; name < names_.size(); ++name) add_rows(rows, by_name_[name], names_[name], {});
    for (std::size_t cause = 0; cause < kCauses.size(); ++cause)
      add_rows(rows, unowned_[cause], StringId::kEmpty, kCauses[cause]);
    return rows;
  }

 private:
  static std::size_t cause_of(std::uint32_t owner) noexcept {
    const auto found = std::find(kCauses.begin(), kCauses.end(), static_cast<Unowned>(owner));
    return found == kCauses.end() ? kCauses.size() - 1 : static_cast<std::size_t>(found - kCauses.begin());
  }
  /// Names in the order of the first group of each.
  void find_names() {
    projection::FlatMap known;
    name_of_.reserve(tree_.groups.size());
    for (const RangeGroup& group : tree_.groups.rows) {
      const auto next = static_cast<std::uint32_t>(names_.size());
      name_of_.push_back(known.find_or_set(static_cast<std::uint64_t>(group.name), next));
      if (name_of_.back() == next) names_.push_back(group.name);
    }
    by_name_.resize(names_.size());
  }
  /// Groups inside one of the same name.
  void find_repeated() {
    is_repeated_.resize(tree_.groups.size());
    std::vector<bool> is_open(names_.size());
    std::vector<std::uint32_t> open;
    for (const std::uint32_t group : tree_.order) {
      while (open.size() > tree_.groups[group].depth) {
        if (!is_repeated_[open.back()]) is_open[name_of_[open.back()]] = false;
        open.pop_back();
      }
      is_repeated_[group] = is_open[name_of_[group]];
      is_open[name_of_[group]] = true;
      open.push_back(group);
    }
  }
  static void add_rows(std::vector<FamilyTotal>& rows, const FamilySums& sums, StringId range,
                       std::optional<Unowned> unowned) {
    const std::size_t first = rows.size();
    for (const auto& [family, sum] : sums) {
      FamilyTotal& row = rows.emplace_back();
      row.family = family;
      row.range = range;
      row.unowned = unowned;
      row.ops = sum.ops;
      row.gpu_sum_ns = sum.sum_ns;
    }
    put_most_first(std::span(rows).subspan(first));
  }

  const Timeline& timeline_;
  const PathTree& tree_;
  std::vector<FamilySums> sums_;        // by group, of its own work and then of all inside
  std::vector<StringId> names_;         // of ranges
  std::vector<std::uint32_t> name_of_;  // by group: its number in names_
  std::vector<FamilySums> by_name_;     // parallel to names_
  std::vector<bool> is_repeated_;       // by group
  std::array<FamilySums, kCauses.size()> unowned_;
};

}  // namespace

std::vector<FamilyTotal> family_totals(const Timeline& timeline, const KernelFamilies& families) {
  const ActivityTable& activities = timeline.activities;
  std::array<FamilySum, kKernelFamilies> sums{};
  FamilyNames kernels, operators;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    const KernelFamily family = families.of(activity);
    const FamilySum one = sum_of(activities, activity);
    sums[static_cast<std::size_t>(family)].add(one);
    kernels.add(family, activities.name[activity], one.sum_ns);
    const RangeIndex by = families.operator_of(activity);
    if (by < timeline.ranges.size()) operators.add(family, timeline.ranges.name[by], one.sum_ns);
  }
  const std::array<std::int64_t, kKernelFamilies> busy_ns = busy_times(timeline, families);
  std::vector<FamilyTotal> rows(kKernelFamilies);
  for (std::size_t family = 0; family < kKernelFamilies; ++family) {
    rows[family].family = static_cast<KernelFamily>(family);
    rows[family].ops = sums[family].ops;
    rows[family].gpu_sum_ns = sums[family].sum_ns;
    rows[family].gpu_busy_ns = busy_ns[family];
  }
  kernels.each_main(timeline, [&](std::size_t family, StringId name, std::uint64_t count) {
    rows[family].main_kernel = name;
    rows[family].names = count;
  });
  operators.each_main(timeline,
                      [&](std::size_t family, StringId name, std::uint64_t) { rows[family].main_operator = name; });
  std::erase_if(rows, [](const FamilyTotal& row) { return row.ops == 0; });
  put_most_first(rows);
  return rows;
}

std::vector<FamilyTotal> family_totals_of_ranges(const Timeline& timeline, const Projection& projection,
                                                 const ProjectionOptions& options, const KernelFamilies& families) {
  const PathTree tree = range_tree(timeline, projection, options, {}, HostSpread::kNotWanted);
  FamiliesOfRanges of_ranges(timeline, tree);
  of_ranges.read(projection, families);
  return std::move(of_ranges).rows();
}

}  // namespace rangefinder::analysis
