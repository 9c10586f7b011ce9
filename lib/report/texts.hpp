// SPDX-License-Identifier: MIT
#pragma once

#include "base/string_pool.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>

namespace rangefinder::report {

/// The texts of a table: names of a timeline, which are not copied, and others, which are stored once each. Id 0 is
/// the empty text.
class Texts {
 public:
  using Id = std::uint32_t;

  /// The timeline has to outlive this.
  Id add(const Timeline& timeline, StringId name) {
    const auto id = static_cast<Id>(name);
    const bool referred = id < kOwn && (timeline_ == nullptr || timeline_ == &timeline);
    if (!referred) return add(timeline.text(name));
    timeline_ = &timeline;
    return id;
  }
  Id add(std::string_view text) { return text.empty() ? 0 : kOwn | own_.intern(text); }

  /// Empty for an id never given out.
  std::string_view text(Id id) const noexcept {
    if (id >= kOwn) return own_.text(id - kOwn);
    return timeline_ == nullptr ? std::string_view() : timeline_->text(static_cast<StringId>(id));
  }

 private:
  static constexpr Id kOwn = 0x80000000u;
  const Timeline* timeline_ = nullptr;
  base::StringPool own_;
};

}  // namespace rangefinder::report
