// SPDX-License-Identifier: MIT
#include "injection/payload_text.hpp"

#include "injection/nvtx_domain.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace rangefinder::injection {
namespace {

using std::string_view;

constexpr unsigned kDeepest = 8;
constexpr std::size_t kMaxPayloads = 16;
constexpr std::uint64_t kMaxElements = 64;
constexpr std::size_t kMaxHexadecimal = 32;
constexpr std::size_t kMaxString = 256;
constexpr string_view kMissing = "(missing)";  // beyond the payload's end

float widened_half(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1F;
  const std::uint32_t fraction = bits & 0x3FF;
  float value = 0;
  if (exponent == 0) {
    value = static_cast<float>(fraction) / 16777216.0f;  // 2^24
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = sign | (exponent == 0x1F ? 0xFFu : exponent + 112) << 23 | fraction << 13;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

}  // namespace

/// What may be read.
struct PayloadText::Bytes {
  const char* at = nullptr;
  std::uint64_t size = 0;

  /// Empty where it reaches beyond.
  Bytes part(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return offset <= size && bytes <= size - offset ? Bytes{at + offset, bytes} : Bytes{};
  }
  Bytes from(std::uint64_t offset) const noexcept { return part(offset, offset <= size ? size - offset : 1); }
  /// Zero where there is not that much.
  template <typename T>
  T load() const noexcept {
    T value{};
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
    if (size >= sizeof(T)) std::memcpy(&value, at, sizeof(T));
    return value;
  }
  std::uint64_t load_unsigned() const noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, at, std::min<std::uint64_t>(size, sizeof value));
    return value;
  }
};

PayloadText::PayloadText(const Domain& domain, const nvtxPayloadData_t* payloads, std::size_t count) noexcept
    : domain_(domain) {
  for (std::size_t i = 0; payloads != nullptr && i < std::min(count, kMaxPayloads); ++i) put_payload(payloads[i]);
}

void PayloadText::put(string_view text) noexcept {
  constexpr string_view kCut = "...";
  if (is_full_) return;
  if (text.size() > sizeof text_ - kCut.size() - size_) {
    text = kCut;
    is_full_ = true;
  }
  std::memcpy(text_ + size_, text.data(), text.size());
  size_ += text.size();
}

template <typename Number>
void PayloadText::put_number(const char* format, Number number) noexcept {
  char digits[64];
  const int size = std::snprintf(digits, sizeof digits, format, number);
  if (size > 0) put({digits, std::min(static_cast<std::size_t>(size), sizeof digits - 1)});
}

void PayloadText::put_hexadecimal(const Bytes& bytes) noexcept {
  put("0x");
  for (std::size_t i = 0; i < std::min<std::uint64_t>(bytes.size, kMaxHexadecimal); ++i)
    put_number("%02x", static_cast<unsigned>(static_cast<unsigned char>(bytes.at[i])));
  if (bytes.size > kMaxHexadecimal) put("...");
  put_number(" (%" PRIu64 " bytes)", bytes.size);
}

void PayloadText::put_quoted(string_view text) noexcept {
  put("\"");
  put(text);
  put("\"");
}

void PayloadText::put_payload(const nvtxPayloadData_t& payload) noexcept {
  const PayloadTypeInfo info = payload_type_info(domain_, payload.schemaId);
  Bytes bytes{static_cast<const char*>(payload.payload), payload.size};
  if (payload.size == SIZE_MAX) bytes.size = info.size;  // as far as the program leaves it to us
  if (bytes.at == nullptr || bytes.size == 0) return;
  if (size_ != 0) put(" ");
  const PayloadSchema* const schema = find_schema(domain_, payload.schemaId);
  const bool is_read = schema == nullptr || schema->kind != PayloadSchema::Kind::kOther;
  if (is_read && info.size != 0 && bytes.size / 2 >= info.size)
    return put_array(payload.schemaId, bytes.size / info.size, bytes, 0);
  if (schema != nullptr && schema->kind == PayloadSchema::Kind::kStruct) return put_struct(*schema, bytes, 0);
  put_value(payload.schemaId, bytes, 0);
}

void PayloadText::put_struct(const PayloadSchema& schema, const Bytes& bytes, unsigned depth) noexcept {
  bool is_first = true;
  for (const PayloadEntry& entry : schema.entries) {
    if (is_full_) return;
    if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_HIDE) != 0) continue;
    // Two bits that tell three meanings.
    const bool is_message = (entry.flags & (3 << 10)) == NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE;
    if (is_message && depth == 0) {
      message_ = string_of(entry, bytes.from(entry.offset));
      continue;
    }
    if (!is_first) put(" ");
    is_first = false;
    if (!entry.name.empty()) {
      put(entry.name);
      put("=");
    }
    put_field(entry, bytes.from(entry.offset), depth);
  }
}

void PayloadText::put_field(const PayloadEntry& entry, const Bytes& bytes, unsigned depth) noexcept {
  if (bytes.size == 0) return put(kMissing);
  if (is_string_type(entry.type)) return put_string(entry, bytes);
  if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0)
    return put_predefined(NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, bytes.part(0, sizeof(void*)));
  const std::uint64_t size = payload_type_info(domain_, entry.type).size;
  const bool is_array = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry.flags) == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
  if (!is_array) return put_value(entry.type, bytes.part(0, size), depth);
  const bool is_text = entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR || entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR8;
  if (is_text) return put_quoted({bytes.at, ::strnlen(bytes.at, std::min(bytes.size, entry.detail))});
  put_array(entry.type, entry.detail, bytes, depth);
}

void PayloadText::put_array(std::uint64_t type, std::uint64_t count, const Bytes& bytes, unsigned depth) noexcept {
  const std::uint64_t size = payload_type_info(domain_, type).size;
  put("[");
  for (std::uint64_t i = 0; i < count && !is_full_; ++i) {
    if (i != 0) put(", ");
    const Bytes element = bytes.part(i * size, size);
    if (i == kMaxElements || element.size == 0) {
      put("...");
      break;
    }
    put_value(type, element, depth);
  }
  put("]");
}

/// Of one byte a character; empty for others, and what a pointer leads to that was not meant to be followed.
string_view PayloadText::string_of(const PayloadEntry& entry, const Bytes& bytes) noexcept {
  if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
    const auto* const string = bytes.load<const RegisteredString*>();
    return string != nullptr ? string->text : string_view();
  }
  const bool is_narrow =
      entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
  const bool is_pointer = (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0 || entry.detail == 0;
  if (!is_narrow || bytes.size == 0) return {};
  if (!is_pointer) return {bytes.at, ::strnlen(bytes.at, std::min({bytes.size, entry.detail, kMaxString}))};
  const char* const text = bytes.load<const char*>();
  if (text == nullptr || (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY) == 0) return {};
  return {text, ::strnlen(text, kMaxString)};
}

void PayloadText::put_string(const PayloadEntry& entry, const Bytes& bytes) noexcept {
  const string_view text = string_of(entry, bytes);
  const bool is_pointer = (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0 || entry.detail == 0;
  if (text.data() != nullptr) return put_quoted(text);
  if (is_pointer) return put_predefined(NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, bytes.part(0, sizeof(void*)));
  put_hexadecimal(bytes.part(0, std::min(bytes.size, entry.detail)));
}

void PayloadText::put_value(std::uint64_t type, const Bytes& bytes, unsigned depth) noexcept {
  if (bytes.size == 0) return put(kMissing);
  const PayloadSchema* const schema = find_schema(domain_, type);
  if (schema == nullptr) return put_predefined(type, bytes);
  if (schema->kind == PayloadSchema::Kind::kEnum) return put_enum(*schema, bytes);
  if (schema->kind != PayloadSchema::Kind::kStruct || depth >= kDeepest) return put_hexadecimal(bytes);
  put("{");
  put_struct(*schema, bytes, depth + 1);
  put("}");
}

void PayloadText::put_enum(const PayloadSchema& schema, const Bytes& bytes) noexcept {
  const Bytes value = bytes.part(0, schema.size);
  if (value.size == 0) return put_hexadecimal(bytes);
  std::uint64_t left = value.load_unsigned();
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * schema.size);
  for (const PayloadEntry& entry : schema.entries) {
    if ((entry.detail & mask) == left) return put(entry.name);
  }
  bool is_first = true;
  for (const PayloadEntry& entry : schema.entries) {
    const std::uint64_t bits = entry.detail & mask;
    if (entry.flags == 0 || bits == 0 || (left & bits) != bits) continue;
    if (!is_first) put("|");
    is_first = false;
    put(entry.name);
    left &= ~bits;
  }
  if (left == 0 && !is_first) return;
  if (!is_first) put("|");
  put_number(is_first ? "%" PRIu64 : "0x%" PRIx64, left);
}

void PayloadText::put_predefined(std::uint64_t type, const Bytes& bytes) noexcept {
  const std::uint64_t size = payload_type_info(domain_, type).size;
  if (size == 0 || bytes.size < size) return put_hexadecimal(bytes);
  const Bytes value = bytes.part(0, size);
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR8:
      if (const char c = *value.at; c >= ' ' && c <= '~') return put_quoted({&c, 1});
      return put_number("%d", static_cast<int>(*value.at));
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
      return put_number("%d", static_cast<int>(value.load<std::int8_t>()));
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
      return put_number("%d", static_cast<int>(value.load<std::int16_t>()));
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
      return put_number("%" PRId32, value.load<std::int32_t>());
    case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
      return put_number("%" PRId64, value.load<std::int64_t>());
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
      return put_number("%.9g", static_cast<double>(value.load<float>()));
    case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
      return put_number("%.17g", value.load<double>());
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
      return put_number("%.21Lg", value.load<long double>());
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
      return put_number("%.9g", static_cast<double>(widened_half(value.load<std::uint16_t>())));
    case NVTX_PAYLOAD_ENTRY_TYPE_BF16: {
      const std::uint32_t wide = std::uint32_t{value.load<std::uint16_t>()} << 16;
      return put_number("%.9g", static_cast<double>(Bytes{reinterpret_cast<const char*>(&wide), 4}.load<float>()));
    }
    case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
      return put_number("0x%" PRIx64, value.load_unsigned());
    case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
      return put_number("#%08" PRIX64, value.load_unsigned());
    case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE: {
      const auto* const string = value.load<const RegisteredString*>();
      return put_quoted(string != nullptr ? string->text : string_view());
    }
    case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
      return put_hexadecimal(value);
    default:
      return put_number("%" PRIu64, value.load_unsigned());
  }
}

}  // namespace rangefinder::injection
