// SPDX-License-Identifier: MIT
#include "injection/payload_schema.hpp"

#include "injection/nvtx_domain.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace rangefinder::injection {
namespace {

constexpr std::size_t kMaxSchemas = 1024;
constexpr std::size_t kMaxEntries = 1024;
constexpr std::size_t kMaxNameBytes = 128;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 32;  // more is no struct

// Filled from the front; a slot that is taken may be null for an instant.
std::atomic<const PayloadSchema*> schemas[kMaxSchemas];
std::atomic<std::size_t> taken{0};

/// Empty without memory. Cut where it is long: it is read again with every payload.
std::string_view copy_of_name(const char* name) noexcept {
  const std::size_t size = name != nullptr ? ::strnlen(name, kMaxNameBytes) : 0;
  auto* const copy = size != 0 ? new (std::nothrow) char[size] : nullptr;
  if (copy == nullptr) return {};
  std::memcpy(copy, name, size);
  return {copy, size};
}

constexpr std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) noexcept {
  return (offset + alignment - 1) / alignment * alignment;
}

std::uint64_t predefined_size(std::uint64_t type) noexcept {
  constexpr std::uint8_t kOfC[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 4, 1, 2, 4};
  static_assert(sizeof kOfC == NVTX_PAYLOAD_ENTRY_TYPE_INFO_ARRAY_SIZE);
  if (type < sizeof kOfC) return kOfC[type];
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
      return 1;
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
      return 2;
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
    case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
      return 4;
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE:
      return 8;
    case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
      return 16;
    default:
      return 0;
  }
}

/// What an entry takes in its struct.
PayloadTypeInfo extent_of(const Domain& domain, const PayloadEntry& entry) noexcept {
  constexpr PayloadTypeInfo kPointer{sizeof(void*), alignof(void*)};
  if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0) return kPointer;
  if (is_string_type(entry.type)) {
    constexpr std::uint64_t kUnit[] = {1, 1, 2, 4};
    const std::uint64_t unit = kUnit[entry.type - NVTX_PAYLOAD_ENTRY_TYPE_CSTRING];
    if (entry.detail == 0) return kPointer;
    return entry.detail <= kMaxBytes ? PayloadTypeInfo{entry.detail * unit, unit} : PayloadTypeInfo{};
  }
  PayloadTypeInfo info = payload_type_info(domain, entry.type);
  if (NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry.flags) == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)
    info.size = entry.detail <= kMaxBytes ? info.size * entry.detail : 0;
  return info.size <= kMaxBytes ? info : PayloadTypeInfo{};
}

/// Offsets that the program has left out, and the size, by C's rules. False where a type is not known.
bool lay_out(PayloadSchema& schema, std::span<PayloadEntry> entries, std::uint64_t packed_to) noexcept {
  std::uint64_t end = 0;
  for (PayloadEntry& entry : entries) {
    PayloadTypeInfo extent = extent_of(*schema.domain, entry);
    if (extent.size == 0) return false;
    if (packed_to != 0) extent.alignment = std::min(extent.alignment, packed_to);
    if (entry.offset == 0) entry.offset = aligned(end, extent.alignment);
    if (entry.offset > kMaxBytes) return false;
    end = entry.offset + extent.size;
    schema.size = std::max(schema.size, end);
    schema.alignment = std::max(schema.alignment, extent.alignment);
  }
  schema.size = aligned(schema.size, schema.alignment);
  return true;
}

std::uint64_t keep(PayloadSchema schema) noexcept {
  auto* const kept = new (std::nothrow) PayloadSchema(schema);
  if (kept == nullptr) return 0;
  const std::size_t at = taken.fetch_add(1);
  if (at >= kMaxSchemas) return delete kept, 0;
  if (kept->id == 0) kept->id = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + at;
  schemas[at].store(kept, std::memory_order_release);
  return kept->id;
}

/// Before anything is copied for one that would not be kept.
bool is_room() noexcept { return taken.load(std::memory_order_relaxed) < kMaxSchemas; }

bool has_all(std::uint64_t mask, std::uint64_t fields) noexcept { return (mask & fields) == fields; }

}  // namespace

std::uint64_t register_schema(const Domain& domain, const nvtxPayloadSchemaAttr_t& given) noexcept {
  constexpr std::uint64_t kNeeded = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  const auto has = [&](std::uint64_t field) { return has_all(given.fieldMask, field); };
  if (!has(kNeeded) || given.entries == nullptr || given.numEntries > kMaxEntries || !is_room()) return 0;
  auto* const entries = new (std::nothrow) PayloadEntry[given.numEntries];
  if (entries == nullptr) return 0;
  for (std::size_t i = 0; i < given.numEntries; ++i) {
    const nvtxPayloadSchemaEntry_t& entry = given.entries[i];
    entries[i] = {entry.flags, entry.type, entry.arrayOrUnionDetail, entry.offset, copy_of_name(entry.name)};
  }
  PayloadSchema schema;
  schema.domain = &domain;
  schema.entries = {entries, given.numEntries};
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID)) schema.id = given.schemaId;
  const std::uint64_t packed_to = has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT) ? given.packAlign : 0;
  if (given.type == NVTX_PAYLOAD_SCHEMA_TYPE_STATIC && lay_out(schema, {entries, given.numEntries}, packed_to))
    schema.kind = PayloadSchema::Kind::kStruct;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE) && given.payloadStaticSize != 0)
    schema.size = given.payloadStaticSize;
  return keep(schema);
}

std::uint64_t register_enum(const Domain& domain, const nvtxPayloadEnumAttr_t& given) noexcept {
  constexpr std::uint64_t kNeeded = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES;
  const auto has = [&](std::uint64_t field) { return has_all(given.fieldMask, field); };
  if (!has(kNeeded) || given.entries == nullptr || given.numEntries > kMaxEntries || !is_room()) return 0;
  auto* const entries = new (std::nothrow) PayloadEntry[given.numEntries];
  if (entries == nullptr) return 0;
  for (std::size_t i = 0; i < given.numEntries; ++i) {
    entries[i].flags = given.entries[i].isFlag != 0 ? 1 : 0;
    entries[i].detail = given.entries[i].value;
    entries[i].name = copy_of_name(given.entries[i].name);
  }
  PayloadSchema schema;
  schema.domain = &domain;
  schema.entries = {entries, given.numEntries};
  if (has(NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID)) schema.id = given.schemaId;
  schema.size = has(NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE) ? given.sizeOfEnum : sizeof(int);
  const bool is_integer = schema.size == 1 || schema.size == 2 || schema.size == 4 || schema.size == 8;
  schema.alignment = is_integer ? schema.size : 1;
  if (is_integer) schema.kind = PayloadSchema::Kind::kEnum;
  return keep(schema);
}

const PayloadSchema* find_schema(const Domain& domain, std::uint64_t id) noexcept {
  if (id >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START) {
    const std::uint64_t at = id - NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START;
    return at < kMaxSchemas ? schemas[at].load(std::memory_order_acquire) : nullptr;
  }
  if (id < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) return nullptr;
  const std::size_t count = std::min(taken.load(), kMaxSchemas);
  for (std::size_t i = 0; i < count; ++i) {
    const PayloadSchema* const schema = schemas[i].load(std::memory_order_acquire);
    if (schema != nullptr && schema->id == id && schema->domain == &domain) return schema;
  }
  return nullptr;
}

PayloadTypeInfo payload_type_info(const Domain& domain, std::uint64_t type) noexcept {
  if (type < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) {
    const std::uint64_t size = predefined_size(type);
    return {size, size != 0 ? size : 1};
  }
  const PayloadSchema* const schema = find_schema(domain, type);
  return schema != nullptr ? PayloadTypeInfo{schema->size, schema->alignment} : PayloadTypeInfo{};
}

}  // namespace rangefinder::injection
