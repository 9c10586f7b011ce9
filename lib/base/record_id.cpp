// SPDX-License-Identifier: MIT
#include "base/record_id.hpp"

#include <charconv>

namespace rangefinder::base {
namespace {

/// Takes a number and what must stand behind it off the text; false where it is not there.
template <typename Number>
bool take(std::string_view& text, Number& number, int base, std::string_view behind) noexcept {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, base);
  if (read.ec != std::errc() || read.ptr == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  if (!text.starts_with(behind)) return false;
  text.remove_prefix(behind.size());
  return true;
}

}  // namespace

std::string text_of(const RecordId& record) {
  char id[20];
  const auto end = std::to_chars(id, id + sizeof id, record.id, 16).ptr;
  return std::string(id, end) + "-" + std::to_string(record.began_ns) + "-" + std::to_string(record.program);
}

RecordId record_id_of_text(std::string_view text) noexcept {
  RecordId record;
  const bool whole =
      take(text, record.id, 16, "-") && take(text, record.began_ns, 10, "-") && take(text, record.program, 10, "");
  return whole && text.empty() ? record : RecordId{};
}

}  // namespace rangefinder::base
