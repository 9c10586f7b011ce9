// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::analysis {

/// Whether a kernel of that name is communication: `nccl` or `rccl` is in it, in any case.
bool is_communication(std::string_view kernel) noexcept;

/// The same for the names of a timeline; reads each of them once.
class CommunicationNames {
 public:
  explicit CommunicationNames(const Timeline& timeline)
      : timeline_(&timeline), known_(timeline.string_count(), Answer::kNotAsked) {}

  bool has(StringId kernel) {
    Answer& known = known_[static_cast<std::size_t>(kernel)];
    if (known == Answer::kNotAsked) known = is_communication(timeline_->text(kernel)) ? Answer::kYes : Answer::kNo;
    return known == Answer::kYes;
  }

 private:
  enum class Answer : std::uint8_t { kNotAsked, kNo, kYes };
  const Timeline* timeline_;
  std::vector<Answer> known_;
};

}  // namespace rangefinder::analysis
