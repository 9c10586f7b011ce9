// SPDX-License-Identifier: MIT
#include "source/cupti/activity_reader.hpp"

#include "base/zeros.hpp"

namespace rangefinder::source::cupti {

std::size_t RecordSizes::ask(std::uint32_t kind) noexcept {
  // Records begin at multiples of 8 and with their kind. In a buffer that says this kind at every multiple of 8, the
  // second record is found wherever the first one ends.
  alignas(8) std::array<std::uint8_t, 4096> buffer{};
  for (std::size_t at = 0; at < buffer.size(); at += 8) std::memcpy(buffer.data() + at, &kind, sizeof kind);
  CUpti_Activity* record = nullptr;
  if (next_(buffer.data(), buffer.size(), &record) != CUPTI_SUCCESS) return 0;
  const auto* first = reinterpret_cast<const std::uint8_t*>(record);
  if (next_(buffer.data(), buffer.size(), &record) != CUPTI_SUCCESS) return 0;
  return static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(record) - first);
}

bool ActivityReader::end(bool damaged) noexcept {
  // The parser takes half a record at the end for the end, and zeros for an invalid kind (CUDA 13.0): look ourselves.
  truncated_ = damaged || !base::only_zeros(std::as_bytes(std::span(data_ + read_, valid_ - read_)));
  return false;
}

}  // namespace rangefinder::source::cupti
