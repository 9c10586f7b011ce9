// SPDX-License-Identifier: MIT
#pragma once

#include "projection/busy_time.hpp"
#include "projection/members.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

namespace rangefinder::projection {

/// Busy time and span of ranges whose activities come in several windows. Memory: of each range that a later window can
/// hold its first and last time, and the stretches that an activity may still reach into.
class RangeInstances {
 public:
  struct Added {
    std::int64_t busy_ns = 0;
    std::int64_t span_ns = 0;
    // With Figures::kAll.
    std::int64_t own_busy_ns = 0;  ///< of activities that the range owns itself
    std::int64_t any_busy_ns = 0;  ///< over all devices together
  };
  enum class Figures : std::uint8_t { kInclusive, kAll };
  using KeyOf = std::function<std::uint64_t(RangeIndex)>;

  explicit RangeInstances(Figures figures = Figures::kInclusive) : all_(figures == Figures::kAll) {}

  /// What the activities of a window add, by row of its ranges. `key_of` names a range in all windows, `members` are
  /// those of the projection.
  std::vector<Added> add(const Timeline& window, const Projection& projection, const KeyOf& key_of,
                         const Members& members = {});
  /// False: in some window ranges nest so deep, or so many overlap, that busy times were added without a look at what
  /// overlaps in the next.
  bool is_exact() const noexcept { return is_exact_; }
  /// Activities to come begin at that time or later.
  void settle(std::int64_t time_ns);
  /// Drops what `keeps(key)` says no later window holds; looks at all ranges where many have come since the last time.
  template <typename Keeps>
  void forget(Keeps keeps) {
    if (instances_.size() < 2 * kept_ + kSlack) return;
    std::erase_if(instances_, [&](const auto& entry) { return !keeps(entry.first); });
    kept_ = instances_.size();
  }

 private:
  static constexpr std::size_t kSlack = 1024;
  struct Busy {
    DeviceIndex device{};
    BusyTime time;
  };
  struct Instance {
    std::vector<Busy> devices;
    std::vector<Busy> own;  // likewise, of its own activities
    BusyTime any;           // once there are several devices
    bool has_any = false;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
  };
  static BusyTime& busy_of(std::vector<Busy>& devices, DeviceIndex device);
  void add(Instance& instance, DeviceIndex device, std::int64_t begin_ns, std::int64_t end_ns, bool is_own,
           Added& added) const;
  template <typename Use>
  static void for_each_busy(Instance& instance, Use use);

  // Of activities and the ranges around them, in one window: those of hundreds of thousands, a few hundred deep.
  static constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 26;

  bool all_;
  bool is_exact_ = true;
  std::unordered_map<std::uint64_t, Instance> instances_;  // by key
  std::vector<std::uint64_t> unsettled_;                   // those with stretches
  std::int64_t settled_ns_ = std::numeric_limits<std::int64_t>::min();
  std::size_t kept_ = 0;
};

}  // namespace rangefinder::projection
