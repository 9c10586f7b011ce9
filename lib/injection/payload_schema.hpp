// SPDX-License-Identifier: MIT
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rangefinder::injection {

class Domain;

/// A field of a struct, or a value of an enum, whose `detail` is the value and `flags` whether it is a bit of a set.
struct PayloadEntry {
  std::uint64_t flags = 0;  ///< NVTX_PAYLOAD_ENTRY_FLAG_*
  std::uint64_t type = 0;   ///< NVTX_PAYLOAD_ENTRY_TYPE_*, or the id of a schema
  std::uint64_t detail = 0;
  std::uint64_t offset = 0;  ///< bytes
  std::string_view name;
};

/// How a program lays its payloads out. A copy of what it registered, never freed.
struct PayloadSchema {
  enum class Kind : std::uint8_t { kStruct, kEnum, kOther };
  const Domain* domain = nullptr;
  std::uint64_t id = 0;
  Kind kind = Kind::kOther;  ///< kOther: known, and not read
  std::uint64_t size = 0;    ///< bytes; 0: not known
  std::uint64_t alignment = 1;
  std::span<const PayloadEntry> entries;
};

/// The schema's id for the program; 0 where it has none, is too long, or is one too many.
std::uint64_t register_schema(const Domain& domain, const nvtxPayloadSchemaAttr_t& attributes) noexcept;
std::uint64_t register_enum(const Domain& domain, const nvtxPayloadEnumAttr_t& attributes) noexcept;

/// Null for one that is not registered.
const PayloadSchema* find_schema(const Domain& domain, std::uint64_t id) noexcept;

/// Bytes of a type, predefined or registered; 0: not known.
struct PayloadTypeInfo {
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
};
PayloadTypeInfo payload_type_info(const Domain& domain, std::uint64_t type) noexcept;

constexpr bool is_string_type(std::uint64_t type) noexcept {
  return type >= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING && type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32;
}

}  // namespace rangefinder::injection
