// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/payload.hpp"
#include "timeline/attachments.hpp"

#include <rangefinder/timeline.hpp>

namespace rangefinder::chrome {

/// The values attached to a range or a mark. Of several, the last one counts.
inline void write_attachments(EventWriter& writer, const Timeline& timeline, Attachment::Target target,
                              std::uint32_t row) {
  const auto attachments = timeline::attachments_of(timeline, target, row);
  if (attachments.empty()) return;
  const Attachment& last = attachments.back();
  const bool text = last.type == Attachment::Type::kText;
  write_payload(writer, static_cast<PayloadType>(last.type), last.bits,
                text ? timeline.text(static_cast<StringId>(last.bits)) : std::string_view{});
}

static_assert(static_cast<int>(PayloadType::kText) == static_cast<int>(Attachment::Type::kText));

}  // namespace rangefinder::chrome
