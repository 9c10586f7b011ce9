// SPDX-License-Identifier: MIT
#include "exporter/perfetto/packets.hpp"

#include "base/text.hpp"

#include <cstring>

namespace rangefinder::perfetto {
namespace {

/// How much of the text is UTF-8.
std::size_t valid_bytes(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    char32_t code = 0;
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = byte < 0x80 ? 1 : base::decode_utf8(text.substr(at), code);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

}  // namespace

void add_text(std::string& to, Tag tag, std::string_view text) {
  std::size_t valid = valid_bytes(text);
  if (valid == text.size()) return protozero::pbf_writer(to).add_string(tag, text.data(), text.size());
  std::string repaired;
  for (; valid < text.size(); valid = valid_bytes(text)) {
    repaired.append(text.substr(0, valid)).append("\xEF\xBF\xBD");
    text.remove_prefix(valid + 1);
  }
  repaired.append(text);
  protozero::pbf_writer(to).add_string(tag, repaired);
}

void Packets::write(std::string_view packet) {
  constexpr char kTag = 0x0A;  // field 1 of Trace, with a length
  constexpr std::size_t kMostHead = 11;
  char head[kMostHead];
  std::size_t size = 0;
  head[size++] = kTag;
  std::uint64_t length = packet.size();
  for (; length >= 0x80; length >>= 7) head[size++] = static_cast<char>(length | 0x80);
  head[size++] = static_cast<char>(length);
  if (size + packet.size() > chrome::TextOutput::kMaxRoom) {
    out_.text({head, size});
    return out_.text(packet);
  }
  char* const at = out_.room(size + packet.size());
  std::memcpy(at, head, size);
  std::memcpy(at + size, packet.data(), packet.size());
  out_.advance(at + size + packet.size());
}

}  // namespace rangefinder::perfetto
