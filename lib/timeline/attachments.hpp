// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace rangefinder::timeline {

/// The values attached to a range or a mark; mostly one or none. O(log attachments).
inline std::span<const Attachment> attachments_of(const Timeline& timeline, Attachment::Target target,
                                                  std::uint32_t row) noexcept {
  const std::pair wanted(target, row);
  const auto key = [](const Attachment& attachment) { return std::pair(attachment.target, attachment.row); };
  const auto begin = std::partition_point(timeline.attachments.begin(), timeline.attachments.end(),
                                          [&](const Attachment& attachment) { return key(attachment) < wanted; });
  const auto end = std::find_if(begin, timeline.attachments.end(),
                                [&](const Attachment& attachment) { return key(attachment) != wanted; });
  return {begin, end};
}

}  // namespace rangefinder::timeline
