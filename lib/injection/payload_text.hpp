// SPDX-License-Identifier: MIT
#pragma once

#include "injection/payload_schema.hpp"

#include <cstddef>
#include <string_view>

namespace rangefinder::injection {

/// What the payloads of an event say, as `name=value name=value`: structs in braces, arrays in brackets, enums by name,
/// what is not known as hexadecimal bytes with their number. Reads nothing beyond the sizes that the program gives, nor
/// follows pointers, but those to strings that it asks to be copied. Cut after a thousand bytes.
class PayloadText {
 public:
  PayloadText(const Domain& domain, const nvtxPayloadData_t* payloads, std::size_t count) noexcept;

  std::string_view text() const noexcept { return {text_, size_}; }
  /// What the program marked as the event's own text; it is not in `text`.
  std::string_view message() const noexcept { return message_; }

 private:
  struct Bytes;
  void put(std::string_view text) noexcept;
  void put_hexadecimal(const Bytes& bytes) noexcept;
  void put_quoted(std::string_view text) noexcept;
  void put_payload(const nvtxPayloadData_t& payload) noexcept;
  void put_struct(const PayloadSchema& schema, const Bytes& bytes, unsigned depth) noexcept;
  void put_field(const PayloadEntry& entry, const Bytes& bytes, unsigned depth) noexcept;
  void put_array(std::uint64_t type, std::uint64_t count, const Bytes& bytes, unsigned depth) noexcept;
  void put_string(const PayloadEntry& entry, const Bytes& bytes) noexcept;
  void put_value(std::uint64_t type, const Bytes& bytes, unsigned depth) noexcept;
  void put_predefined(std::uint64_t type, const Bytes& bytes) noexcept;
  void put_enum(const PayloadSchema& schema, const Bytes& bytes) noexcept;
  template <typename Number>
  void put_number(const char* format, Number number) noexcept;
  std::string_view string_of(const PayloadEntry& entry, const Bytes& bytes) noexcept;

  const Domain& domain_;
  char text_[1024];
  std::size_t size_ = 0;
  bool is_full_ = false;
  std::string_view message_;
};

}  // namespace rangefinder::injection
