// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/host_lengths.hpp"
#include "analysis/pass_split.hpp"
#include "projection/busy_time.hpp"
#include "projection/flat_map.hpp"
#include "projection/range_instances.hpp"
#include "projection/window_rows.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::analysis {

/// Device time of activities that ranges own themselves.
struct OwnFigures {
  std::uint64_t gpu_ops = 0;
  std::int64_t gpu_sum_ns = 0;
  std::int64_t gpu_busy_ns = 0;
};

/// The same of those and of ranges inside; see DeviceFigures.
struct InclusiveFigures {
  std::uint64_t gpu_ops = 0;
  std::int64_t gpu_sum_ns = 0;
  std::int64_t gpu_busy_ns = 0;
  std::int64_t any_busy_ns = 0;
  std::uint64_t bytes = 0;
  std::int64_t launch_delay_ns = 0;
};

/// Ranges with something in common, their figures added up. There may be one for each range: keep it small.
struct RangeGroup {
  StringId name = StringId::kEmpty;  ///< of its first range
  std::uint32_t parent = kNone;  ///< group of the enclosing ranges; kNone at the top, and always when grouped by name
  std::uint32_t depth = 0;
  std::uint32_t part = 0;        ///< see Parts
  std::uint32_t count = 0;       ///< 0: it is here for what it owns alone (kBeforeRecording)
  std::uint32_t host_count = 0;  ///< of them, those that host_ns adds up; the mean is over these
  std::int64_t host_ns = 0;
  std::int64_t host_self_ns = 0;  ///< without the time of ranges inside
  /// Of the instances that host_ns is the sum of; 0 with HostSpread::kNotWanted.
  std::int64_t host_min_ns = 0;
  std::int64_t host_median_ns = 0;
  std::int64_t host_p95_ns = 0;
  std::int64_t host_max_ns = 0;
  std::int64_t span_ns = 0;  ///< last end - first begin of each instance, added up
  InclusiveFigures inclusive;
  OwnFigures exclusive;
};

/// What few inputs have. Inclusive.
struct GroupExtra {
  PassTimes pass_ns{};               ///< zero unless the projection is by Attribution::kForward
  std::int64_t estimated_ns = 0;     ///< of inclusive.gpu_sum_ns
  std::int64_t conditional_ops = 0;  ///< of inclusive.gpu_ops: see conditional_ops_of_ranges
};

struct RangeGroups {
  std::vector<RangeGroup> rows;
  std::vector<GroupExtra> extras;  ///< parallel to `rows`, or empty
  /// Row of `folded_names` for each group, kNone where no name in it was folded; empty where names are not folded.
  std::vector<std::uint32_t> folded;
  std::vector<std::string> folded_names;

  std::size_t size() const noexcept { return rows.size(); }
  const RangeGroup& operator[](std::size_t group) const noexcept { return rows[group]; }
  GroupExtra extra(std::size_t group) const noexcept { return extras.empty() ? GroupExtra{} : extras[group]; }
  bool is_folded(std::size_t group) const noexcept { return !folded.empty() && folded[group] != kNone; }
  /// What the group is called.
  std::string_view name(const Timeline& timeline, std::size_t group) const noexcept {
    return is_folded(group) ? std::string_view(folded_names[folded[group]]) : timeline.text(rows[group].name);
  }
};

enum class GroupBy : std::uint8_t {
  /// One group a name. A range inside one of its own name adds nothing to the inclusive figures: it is in them. But
  /// start/end ranges overlap by chance: the host time of each is added.
  kName,
  kPath,  ///< one group a path of names from the outermost range; a tree
};

/// Instances of one name in several groups: those of equal numbers are one. Per range; kNone: it is in no group. Empty:
/// all are in one.
using Parts = std::span<const std::uint32_t>;

/// How a tree is made smaller. All figures stay sums over the ranges that are shown as one.
struct Folding {
  /// Parts of a name between dots that are whole numbers count as one: layers.0 and layers.1 are layers.*.
  bool numbers = false;
  std::uint32_t most_depth = kNone;  ///< deeper ranges have no group: all that is theirs is those' of this depth
};

/// Whether host_min_ns, host_median_ns, host_p95_ns and host_max_ns are found, which takes a sort of all instances.
enum class HostSpread : std::uint8_t { kWanted, kNotWanted };

/// "layers.*.attention" for "layers.12.attention"; a name without numbers as it is.
std::string folded_name(std::string_view name);

/// Groups in the order of the first range of each; with kPath, parents before children. Ranges that were over before
/// the recording count with what they own; by name, those that own nothing have no group.
///
/// Host and device times of instances are added: where instances run at the same time on several threads, the sum can
/// be more than the time that passed.
RangeGroups roll_up_ranges(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options,
                           GroupBy group_by, const Folding& folding = {}, Parts parts = {},
                           HostSpread spread = HostSpread::kWanted);

/// Groups by path, in the order of a tree: each before those inside it. `order` leaves out what neither ran in the
/// recording nor owns anything. `group_of` tells for each range the group that
/// its own figures count in: where folding left none of its own, that of the range in which it was cut; kNone: none.
struct PathTree {
  RangeGroups groups;
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> group_of;
};
PathTree range_tree(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options,
                    const Folding& folding, HostSpread spread);

/// Adds up ranges window by window, or all at once as the functions above do, which are the case of one window. Groups
/// are those of the whole recording, in the same order.
///
/// Memory: groups, the ranges that are open, and up to `most_lengths` lengths of instances.
class RangeRollup {
 public:
  struct Options {
    ProjectionOptions projection;
    GroupBy group_by = GroupBy::kName;
    Folding folding;
    HostSpread spread = HostSpread::kWanted;
    std::size_t most_lengths = HostLengths::kAll;  ///< beyond, medians and percentiles are exact to `precision()`
  };
  explicit RangeRollup(const Options& options);

  /// `added`: what busy times and spans of the ranges grow by in this window; empty where it is the whole.
  void add(const projection::WindowRows& window, std::span<const projection::RangeInstances::Added> added = {},
           Parts parts = {});

  /// By name, those that say anything.
  RangeGroups groups() &&;
  /// `group_of` is that of the last window.
  PathTree tree() &&;

  bool has_exact_spreads() const noexcept { return lengths_.is_exact(); }
  std::string precision() const { return lengths_.precision(); }
  std::uint64_t memory_bytes() const noexcept;

 private:
  struct First {
    std::int64_t begin_ns;
    std::uint32_t depth;
    ThreadIndex thread;
    std::uint64_t key;
    friend auto operator<=>(const First&, const First&) = default;
  };

  void find_shared();
  void find_groups();
  void find_group(RangeIndex range);
  void put_in_group(RangeIndex range);
  void add_group(RangeIndex first);
  void fold(StringId name);
  void add_extras();
  void take(RangeIndex range);
  void take_host(RangeIndex range, std::uint32_t group, bool is_inside_its_like);
  void take_device(RangeIndex range, std::uint32_t group, bool is_inside_its_like);
  void take_from_parent(RangeIndex range);
  void note_first(RangeIndex range, std::uint32_t group);
  void end_window();
  void finish();
  void put_in_order();

  bool has_group(RangeIndex range) const noexcept;
  std::uint32_t parent_group(RangeIndex range) const noexcept;
  std::uint32_t part_of(RangeIndex range) const noexcept { return parts_.empty() ? 0 : parts_[range]; }
  std::uint32_t number_of(StringId name);

  ProjectionOptions options_;
  bool by_path_;
  Folding folding_;
  bool wants_spread_;
  std::unordered_map<std::uint32_t, std::uint32_t> key_of_name_;
  std::unordered_map<std::string, std::uint32_t> key_of_folded_;

  // Of the window at hand.
  const projection::WindowRows* window_ = nullptr;
  std::span<const projection::RangeInstances::Added> added_;
  Parts parts_;
  std::vector<RangeIndex> order_;
  RangePassTimes pass_times_;
  std::vector<std::int64_t> estimated_;
  std::vector<std::int64_t> conditional_;
  std::vector<bool> inside_its_like_;
  std::vector<std::uint32_t> group_of_;
  std::vector<RangeIndex> first_of_new_;  // of the groups that it adds
  std::vector<RangeIndex> chain_;
  std::vector<bool> is_shared_;              // per range
  std::vector<std::int64_t> covered_until_;  // per range: where ranges inside, those taken so far, end

  // Of all so far.
  std::uint32_t group_count_ = 0;
  bool has_passes_ = false;
  bool is_whole_ = true;
  RangeGroups groups_;
  std::vector<First> first_;  // of each group, its first range; not where all is one window
  HostLengths lengths_;       // of the instances that count in their group's host time
  projection::FlatMap by_key_;
  std::unordered_map<std::uint64_t, projection::BusyTime> covered_;  // by key: ranges inside those that are open
};

/// Whether ranges of that kind take part in a projection.
bool takes_part(RangeKind kind, const ProjectionOptions& options) noexcept;
/// Those that do by begin, outer ranges first.
std::vector<RangeIndex> ranges_by_begin(const Timeline& timeline, const Projection& projection,
                                        const ProjectionOptions& options);

}  // namespace rangefinder::analysis
