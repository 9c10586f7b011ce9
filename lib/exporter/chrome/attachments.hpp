// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/payload.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <utility>

namespace rangefinder::chrome {

/// The values attached to a range or a mark. Of several, the last one counts.
inline void write_attachments(EventWriter& writer, const Timeline& timeline, Attachment::Target target,
                              std::uint32_t row) {
  if (timeline.attachments.empty()) return;
  const auto after =
      std::upper_bound(timeline.attachments.begin(), timeline.attachments.end(), std::pair(target, row),
                       [](const auto& wanted, const Attachment& a) { return wanted < std::pair(a.target, a.row); });
  if (after == timeline.attachments.begin()) return;
  const Attachment& last = *(after - 1);
  if (last.target != target || last.row != row) return;
  const bool text = last.type == Attachment::Type::kText;
  write_payload(writer, static_cast<PayloadType>(last.type), last.bits,
                text ? timeline.text(static_cast<StringId>(last.bits)) : std::string_view{});
}

static_assert(static_cast<int>(PayloadType::kText) == static_cast<int>(Attachment::Type::kText));

}  // namespace rangefinder::chrome
