// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rangefinder::chrome {

enum class PayloadType : std::uint8_t { kUnsigned, kSigned, kDouble, kText };

/// The value that came with a range or a mark. JSON has no word for numbers that are not finite: they become text.
inline void write_payload(EventWriter& writer, PayloadType type, std::uint64_t bits, std::string_view text) {
  constexpr std::string_view kKey = "\"payload\":";
  switch (type) {
    case PayloadType::kUnsigned:
      return writer.argument(kKey, bits);
    case PayloadType::kSigned:
      return writer.signed_argument(kKey, static_cast<std::int64_t>(bits));
    case PayloadType::kText:
      return writer.text_argument(kKey, text);
    case PayloadType::kDouble:
      break;
  }
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  if (std::isfinite(value)) return writer.double_argument(kKey, value);
  writer.text_argument(kKey, std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

}  // namespace rangefinder::chrome
