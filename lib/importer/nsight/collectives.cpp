// SPDX-License-Identifier: MIT
#include "importer/nsight/collectives.hpp"

#include "importer/nsight/table_scan.hpp"
#include "timeline/collectives.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

namespace rangefinder::importer::nsight {
namespace {

constexpr std::string_view kDomain = "NCCL", kGroupStart = "ncclGroupStart", kGroupEnd = "ncclGroupEnd",
                           kInit = "ncclCommInit";
/// Elements of collectives whose type is not known are bytes.
constexpr std::string_view kByte = "Byte";

// What stands before a payload, each 8 bytes: domain, layout, size of the payload, and where it begins. Nsight does not
// document it; nsys-ai's reader takes it apart so (nvtx payloads of NCCL).
constexpr std::size_t kPayloadHeaderBytes = 32;

/// Bytes of a number by its type in NVTX's payload extension (nvToolsExtPayload.h, NVTX_PAYLOAD_ENTRY_TYPE_*); 0:
/// another type. Types of a program's own, as NCCL's reduction, are not asked for.
std::size_t number_bytes(std::int64_t type) noexcept {
  switch (type) {
    case 5:   // int
    case 6:   // unsigned
    case 15:  // int32
    case 16:  // uint32
      return 4;
    case 7:   // long
    case 8:   // unsigned long
    case 9:   // long long
    case 10:  // unsigned long long
    case 17:  // int64
    case 18:  // uint64
    case 22:  // size_t
      return 8;
    default:
      return 0;
  }
}

std::uint64_t little_endian(std::string_view bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// The column is declared as text: some exports write the bytes, others hexadecimal digits.
std::string bytes_of(std::string_view payload) {
  std::string bytes;
  if (payload.size() % 2 != 0 || payload.size() < 2 * kPayloadHeaderBytes) return std::string(payload);
  for (std::size_t i = 0; i < payload.size(); i += 2) {
    const int high = hex_digit(payload[i]), low = hex_digit(payload[i + 1]);
    if (high < 0 || low < 0) return std::string(payload);
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

/// Of calls that are collectives, or sends and receives.
CollectiveKind kind_of(std::string_view name) noexcept {
  if (!NcclCalls::is_call(name) || name.starts_with("ncclComm") || name.starts_with("ncclGroup") ||
      name.starts_with("ncclRedOp"))
    return CollectiveKind::kOther;
  return timeline::collective_kind(name.substr(4));
}

bool is_message(CollectiveKind kind) noexcept {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive;
}

struct Elements {
  std::int64_t in = -1, out = -1;
};
/// NCCL tells the size of what a rank gives to, or gets from, each other one. `ranks`: 0: not known.
Elements elements_of(CollectiveKind kind, std::int64_t bytes, std::int64_t ranks) noexcept {
  std::int64_t all = -1;
  if (ranks <= 0 || __builtin_mul_overflow(bytes, ranks, &all)) all = -1;
  switch (kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
      return {bytes, all};
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter:
      return {all, bytes};
    case CollectiveKind::kAllToAll:
      return {all, all};
    case CollectiveKind::kSend:
      return {bytes, -1};
    case CollectiveKind::kReceive:
      return {-1, bytes};
    default:
      return {bytes, bytes};
  }
}

struct NamedType {
  std::string_view in_kernel, name;
};
// Of NCCL's device code (ncclDevKernel_AllReduce_Sum_f32_RING_LL), and of that before 2.19 (..._Sum_float).
constexpr NamedType kTypes[] = {
    {"i8", "ncclInt8"},        {"u8", "ncclUint8"},          {"i32", "ncclInt32"},         {"u32", "ncclUint32"},
    {"i64", "ncclInt64"},      {"u64", "ncclUint64"},        {"f16", "ncclFloat16"},       {"f32", "ncclFloat32"},
    {"f64", "ncclFloat64"},    {"bf16", "ncclBfloat16"},     {"f8e4m3", "ncclFloat8e4m3"}, {"f8e5m2", "ncclFloat8e5m2"},
    {"int8", "ncclInt8"},      {"uint8", "ncclUint8"},       {"int32", "ncclInt32"},       {"uint32", "ncclUint32"},
    {"int64", "ncclInt64"},    {"uint64", "ncclUint64"},     {"half", "ncclFloat16"},      {"float", "ncclFloat32"},
    {"double", "ncclFloat64"}, {"bfloat16", "ncclBfloat16"},
};

/// The type that a kernel reduces; empty: its name does not tell.
std::string_view type_in(std::string_view kernel) noexcept {
  kernel = kernel.substr(0, kernel.find('('));
  while (!kernel.empty()) {
    const std::size_t end = kernel.find('_');
    for (const NamedType& type : kTypes)
      if (kernel.substr(0, end) == type.in_kernel) return type.name;
    kernel.remove_prefix(end == std::string_view::npos ? kernel.size() : end + 1);
  }
  return {};
}

/// NCCL moves the data of others as bytes, whatever their type.
bool reduces(CollectiveKind kind) noexcept {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

}  // namespace

NcclCalls::NcclCalls(ImportContext& context) : timeline_(context.timeline) { read_layouts(context); }

void NcclCalls::read_layouts(ImportContext& context) {
  enum { kDomainId, kSchemaId, kType, kName, kOffset };
  constexpr std::array kColumns = {required("domainId"), required("schemaId"), required("type"), required("name"),
                                   optional("offset")};
  // As NCCL names them (nvtx_payload_schemas.h); older ones have "Bytes".
  constexpr std::pair<std::string_view, std::int64_t NcclPayload::*> kNames[] = {
      {"NCCL communicator ID", nullptr}, {"Message size [bytes]", &NcclPayload::bytes},
      {"Bytes", &NcclPayload::bytes},    {"Peer rank", &NcclPayload::peer},
      {"Root", &NcclPayload::peer},      {"No. of ranks", &NcclPayload::ranks},
      {"Rank", &NcclPayload::rank},
  };
  TableScan row(context, "NVTX_PAYLOAD_SCHEMA_ENTRIES", kColumns);
  while (row.next()) {
    const auto domain = row.integer(kDomainId), schema = row.integer(kSchemaId), type = row.integer(kType);
    const auto name = row.text(kName);
    const std::int64_t offset = row.integer_or(kOffset, 0);
    if (!domain || !schema || !type || !name || offset < 0) continue;
    for (const auto& [known, number] : kNames)
      if (*name == known)
        layouts_[{static_cast<std::uint64_t>(*domain), static_cast<std::uint64_t>(*schema)}].push_back(
            {static_cast<std::uint64_t>(offset), *type, number});
  }
}

std::optional<NcclPayload> NcclCalls::decode(std::string_view bytes) const {
  if (bytes.size() < kPayloadHeaderBytes) return std::nullopt;
  const auto header = [&](std::size_t i) { return little_endian(bytes.substr(8 * i, 8)); };
  const std::uint64_t size = header(2), begin = header(3);
  if (begin < kPayloadHeaderBytes || begin > bytes.size() || size > bytes.size() - begin) return std::nullopt;
  const auto layout = layouts_.find({header(0), header(1)});
  if (layout == layouts_.end()) return std::nullopt;
  NcclPayload payload;
  for (const Field& field : layout->second) {
    const std::size_t length = number_bytes(field.type);
    if (length == 0 || size < length || field.offset > size - length) continue;
    const std::uint64_t value = little_endian(bytes.substr(begin + field.offset, length));
    if (field.number == nullptr)
      payload.communicator = value;
    else if (length == 4)
      payload.*field.number = static_cast<std::int32_t>(value);
    else if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      payload.*field.number = static_cast<std::int64_t>(value);
  }
  return payload;
}

bool NcclCalls::add(RangeIndex range, std::string_view payload) {
  Call& call = calls_.emplace_back();
  call.range = range;
  if (payload.empty()) return false;
  const std::optional<NcclPayload> decoded = decode(bytes_of(payload));
  if (decoded) call.payload = *decoded;
  return decoded.has_value();
}

/// In order of time, those of a thread together. A program may have ranges of such names, too.
void NcclCalls::keep_those_of_nccl() {
  const RangeTable& ranges = timeline_.ranges;
  std::erase_if(calls_, [&](const Call& call) {
    return timeline_.text(ranges.domain[call.range]) != kDomain && call.payload.communicator == 0;
  });
  for (Call& call : calls_)
    call.end_ns = (ranges.flags[call.range] & kUnfinished) != 0 ? kNoTime : ranges.end_ns[call.range];
  std::stable_sort(calls_.begin(), calls_.end(), [&](const Call& a, const Call& b) {
    return std::tuple(std::uint32_t{ranges.thread[a.range]}, ranges.begin_ns[a.range]) <
           std::tuple(std::uint32_t{ranges.thread[b.range]}, ranges.begin_ns[b.range]);
  });
}

/// Calls between ncclGroupStart and ncclGroupEnd are done by the latter, which launches their kernels: they end with
/// it.
void NcclCalls::join_groups() {
  const RangeTable& ranges = timeline_.ranges;
  std::size_t depth = 0, first = 0;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const std::string_view name = timeline_.text(ranges.name[calls_[i].range]);
    if (i > 0 && ranges.thread[calls_[i].range] != ranges.thread[calls_[i - 1].range]) depth = 0;
    if (name == kGroupStart && depth++ == 0) first = i;
    if (name != kGroupEnd || depth == 0 || --depth != 0) continue;
    for (std::size_t member = first; member < i; ++member)
      if (calls_[member].end_ns != kNoTime) calls_[member].end_ns = calls_[i].end_ns;
  }
}

void NcclCalls::find_communicators() {
  const RangeTable& ranges = timeline_.ranges;
  for (const Call& call : calls_) {
    if (call.payload.communicator == 0) continue;
    const ProcessIndex process = timeline_.threads[ranges.thread[call.range]].process;
    Communicator& known = communicators_[{process, call.payload.communicator}];
    known.ranks = std::max(known.ranks, call.payload.ranks);
    const std::string_view name = timeline_.text(ranges.name[call.range]);
    if (call.payload.rank >= 0 && (name.starts_with(kInit) || name == "ncclCommSplit"))
      known.own_ranks.push_back(call.payload.rank);
  }
}

void NcclCalls::append(const Call& call, CollectiveKind kind) {
  const RangeTable& ranges = timeline_.ranges;
  CollectiveRow row;
  row.kind = kind;
  row.source = CollectiveSource::kNccl;
  row.name = ranges.name[call.range];
  row.thread = ranges.thread[call.range];
  row.process = timeline_.threads[row.thread].process;
  row.begin_ns = ranges.begin_ns[call.range];
  row.end_ns = call.end_ns;
  std::int64_t size = 0;
  Communicator* known = nullptr;
  if (call.payload.communicator != 0) {
    known = &communicators_[{row.process, call.payload.communicator}];
    ProcessGroupInfo group;
    group.source = CollectiveSource::kNccl;
    std::array<char, 17> name;
    std::snprintf(name.data(), name.size(), "%016llx", static_cast<unsigned long long>(call.payload.communicator));
    group.name = name.data();
    size = known->ranks;
    group.size = static_cast<std::int32_t>(std::clamp<std::int64_t>(size, 0, std::numeric_limits<std::int32_t>::max()));
    row.group = timeline::add_process_group(timeline_, group);
  }
  if (call.payload.bytes >= 0) {
    const Elements elements = elements_of(kind, call.payload.bytes, size);
    row.elements_in = elements.in;
    row.elements_out = elements.out;
    row.dtype = timeline_.intern(kByte);
  }
  const std::int64_t peer = call.payload.peer;
  if (peer >= 0 && peer <= std::numeric_limits<std::int32_t>::max()) row.peer = static_cast<std::int32_t>(peer);
  if (known != nullptr && !is_message(kind)) row.number = known->calls_by_thread[row.thread]++;
  const CollectiveIndex index = timeline_.collectives.append(row);
  if (row.number >= 0) known->numbered.push_back(index);
}

/// Calls are counted in the recording. That is their number in the communicator if its begin was recorded, and if each
/// thread calls for one rank.
void NcclCalls::forget_doubtful_numbers() {
  for (auto& [key, communicator] : communicators_) {
    const std::size_t ranks = communicator.own_ranks.size();
    if (ranks != 0 && communicator.calls_by_thread.size() == ranks) continue;
    for (const CollectiveIndex index : communicator.numbered) {
      CollectiveRow row = timeline_.collectives.row(index);
      row.number = -1;
      timeline_.collectives.set(index, row);
    }
  }
}

/// NCCL tells bytes. Names of the kernels that reduce tell of what type.
void NcclCalls::find_types() {
  CollectiveTable& table = timeline_.collectives;
  const ActivityTable& activities = timeline_.activities;
  const StringId byte = timeline_.intern(kByte);
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    const CollectiveIndex index = activities.collective[activity];
    if (index == kNone || table.dtype[index] != byte || !reduces(table.kind[index])) continue;
    const std::string_view kernel = timeline_.text(activities.name[activity]), type = type_in(kernel);
    const auto size = static_cast<std::int64_t>(timeline::element_bytes(type));
    CollectiveRow row = table.row(index);
    const auto divides = [&](std::int64_t bytes) { return bytes < 0 || bytes % size == 0; };
    if (size == 0 || timeline::collective_kind_of_kernel(kernel) != row.kind || !divides(row.elements_in) ||
        !divides(row.elements_out))
      continue;
    if (row.elements_in >= 0) row.elements_in /= size;
    if (row.elements_out >= 0) row.elements_out /= size;
    row.dtype = timeline_.intern(type);
    table.set(index, row);
  }
}

void NcclCalls::finish() {
  keep_those_of_nccl();
  join_groups();
  find_communicators();
  for (const Call& call : calls_) {
    const CollectiveKind kind = kind_of(timeline_.text(timeline_.ranges.name[call.range]));
    if (kind != CollectiveKind::kOther) append(call, kind);
  }
  forget_doubtful_numbers();
  timeline::join_collectives(timeline_);
  find_types();
}

}  // namespace rangefinder::importer::nsight
