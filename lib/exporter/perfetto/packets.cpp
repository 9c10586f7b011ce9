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

constexpr Tag kPacket = 1;  // of Trace

constexpr std::size_t tag_bytes(Tag tag) noexcept { return varint_bytes(std::uint64_t{tag} << 3); }

std::size_t head_bytes(const PacketHead& head) noexcept {
  const std::size_t clock = head.clock == 0 ? 0 : tag_bytes(packet::kTimestampClockId) + varint_bytes(head.clock);
  return tag_bytes(packet::kTimestamp) + varint_bytes(head.timestamp) + clock + tag_bytes(packet::kSequenceId) +
         varint_bytes(head.sequence);
}

char* put_head(char* at, const PacketHead& head) noexcept {
  at = put_number(at, packet::kTimestamp, head.timestamp);
  if (head.clock != 0) at = put_number(at, packet::kTimestampClockId, head.clock);
  return put_number(at, packet::kSequenceId, head.sequence);
}

/// Most parts of messages have a few bytes, for which a call takes longer than the copy.
template <std::size_t kWord>
void copy_ends(char* to, const char* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, kWord);
  std::memcpy(to + bytes - kWord, from + bytes - kWord, kWord);
}

char* put_bytes(char* at, std::string_view bytes) noexcept {
  const std::size_t size = bytes.size();
  if (size > 16) {
    std::memcpy(at, bytes.data(), size);
  } else if (size >= 8) {
    copy_ends<8>(at, bytes.data(), size);
  } else if (size >= 4) {
    copy_ends<4>(at, bytes.data(), size);
  } else {
    for (std::size_t i = 0; i < size; ++i) at[i] = bytes[i];
  }
  return at + size;
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
  char head[kMaxNumberBytes];
  char* const end = put_length(head, kPacket, packet.size());
  out_.text({head, static_cast<std::size_t>(end - head)});
  out_.text(packet);
}

void Packets::write(const PacketHead& head, std::string_view interned, Tag tag, std::string_view start,
                    std::string_view middle, std::string_view end) {
  const std::size_t message = start.size() + middle.size() + end.size();
  const std::size_t introduced =
      interned.empty() ? 0 : tag_bytes(packet::kInternedData) + varint_bytes(interned.size()) + interned.size();
  const std::size_t size = head_bytes(head) + introduced + tag_bytes(tag) + varint_bytes(message) + message;
  const std::size_t most = size + kMaxNumberBytes;
  const bool is_large = most > chrome::TextOutput::kMaxRoom;
  if (is_large) large_.resize(most);
  char* const from = is_large ? large_.data() : out_.room(most);
  char* at = put_head(put_length(from, kPacket, size), head);
  if (!interned.empty()) at = put_bytes(put_length(at, packet::kInternedData, interned.size()), interned);
  at = put_bytes(put_length(at, tag, message), start);
  at = put_bytes(put_bytes(at, middle), end);
  if (!is_large) return out_.advance(at);
  out_.text({from, static_cast<std::size_t>(at - from)});
}

void Packets::write(const PacketHead& head) {
  char* const at = out_.room(4 * kMaxNumberBytes);
  out_.advance(put_head(put_length(at, kPacket, head_bytes(head)), head));
}

}  // namespace rangefinder::perfetto
