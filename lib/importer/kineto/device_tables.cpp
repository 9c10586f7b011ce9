// SPDX-License-Identifier: MIT
#include "importer/kineto/device_tables.hpp"

#include <algorithm>
#include <cstring>

namespace rangefinder::importer::kineto {
namespace {

struct Word {
  std::string_view text;
  std::uint32_t number;
};

// CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind, in Kineto's words.
constexpr Word kCopyKinds[] = {{"HtoD", 1}, {"DtoH", 2}, {"HtoA", 3}, {"AtoH", 4}, {"AtoA", 5},
                               {"AtoD", 6}, {"DtoA", 7}, {"DtoD", 8}, {"HtoH", 9}, {"PtoP", 10}};
constexpr Word kMemoryKinds[] = {{"Pageable", 1}, {"Pinned", 2},        {"Device", 3},        {"Array", 4},
                                 {"Managed", 5},  {"Device Static", 6}, {"Managed Static", 7}};
// CUpti_ActivitySynchronizationType.
constexpr Word kSyncTypes[] = {{"Event Sync", 1}, {"Stream Wait Event", 2}, {"Stream Sync", 3}, {"Context Sync", 4}};

template <std::size_t N>
std::uint32_t number_of(const Word (&words)[N], std::string_view text) noexcept {
  for (const Word& word : words) {
    if (word.text == text) return word.number;
  }
  return 0;
}

bool equal(const KernelDetail& a, const KernelDetail& b) noexcept {
  return std::equal(a.grid, a.grid + 3, b.grid) && std::equal(a.block, a.block + 3, b.block) &&
         a.registers_per_thread == b.registers_per_thread && a.dynamic_shared_bytes == b.dynamic_shared_bytes;
}

std::size_t hash_of(const KernelDetail& detail) noexcept {
  std::uint64_t out = detail.registers_per_thread + (std::uint64_t{detail.dynamic_shared_bytes} << 20);
  for (int i = 0; i < 3; ++i) out = (out + detail.grid[i] * std::uint64_t{8} + detail.block[i]) * 0x9E3779B97F4A7C15u;
  return out >> 54;
}

}  // namespace

std::uint32_t DeviceTables::kernel_detail(const EventArguments& arguments) {
  using F = EventArguments;
  if ((arguments.present & (F::kGrid | F::kBlock | F::kRegisters | F::kSharedMemory)) == 0) return kNone;
  KernelDetail detail;
  if (arguments.has(F::kGrid)) std::copy_n(arguments.grid, 3, detail.grid);
  if (arguments.has(F::kBlock)) std::copy_n(arguments.block, 3, detail.block);
  if (arguments.has(F::kRegisters)) detail.registers_per_thread = clamp_to_32(arguments.registers);
  // Kineto writes static and dynamic shared memory as one sum.
  if (arguments.has(F::kSharedMemory)) detail.dynamic_shared_bytes = clamp_to_32(arguments.shared_memory);

  std::uint32_t& recent = recent_kernels_[hash_of(detail)];
  if (recent == kNone || !equal(timeline_.kernel_details[recent], detail)) {
    recent = static_cast<std::uint32_t>(timeline_.kernel_details.size());
    timeline_.kernel_details.push_back(detail);
  }
  return recent;
}

std::uint32_t DeviceTables::copy_detail(StringId name, const EventArguments& arguments) {
  using F = EventArguments;
  const bool peer = (arguments.present & (F::kFromDevice | F::kToDevice)) != 0;
  const auto next = static_cast<std::uint32_t>(timeline_.copy_details.size());
  if (!peer) {
    const auto [at, added] = copies_by_name_.try_emplace(static_cast<std::uint32_t>(name), next);
    if (!added) return at->second;
  }
  CopyDetail detail = copy_detail_of_name(timeline_.text(name));
  if (arguments.has(F::kFromDevice)) detail.source_device = clamp_to_32(arguments.from_device);
  if (arguments.has(F::kToDevice)) detail.target_device = clamp_to_32(arguments.to_device);
  timeline_.copy_details.push_back(detail);
  return next;
}

CopyDetail copy_detail_of_name(std::string_view name) noexcept {
  CopyDetail detail;
  const std::size_t open = name.find(" (");
  if (open == std::string_view::npos || !name.ends_with(')')) return detail;
  const std::string_view memories = name.substr(open + 2, name.size() - open - 3);
  const std::size_t arrow = memories.find(" -> ");
  if (arrow == std::string_view::npos) {
    detail.target_memory = number_of(kMemoryKinds, memories);  // "Memset (Device)"
    return detail;
  }
  detail.source_memory = number_of(kMemoryKinds, memories.substr(0, arrow));
  detail.target_memory = number_of(kMemoryKinds, memories.substr(arrow + 4));
  const std::size_t space = name.substr(0, open).rfind(' ');
  if (space != std::string_view::npos)
    detail.copy_kind = number_of(kCopyKinds, name.substr(space + 1, open - space - 1));
  return detail;
}

std::uint32_t sync_type_of_name(std::string_view name) noexcept { return number_of(kSyncTypes, name); }

}  // namespace rangefinder::importer::kineto
