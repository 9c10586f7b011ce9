// SPDX-License-Identifier: MIT
#include "timeline/activity_names.hpp"

namespace rangefinder::timeline {
namespace {

// CUpti_ActivityMemcpyKind.
std::string_view copy_name(std::uint32_t kind) noexcept {
  switch (kind) {
    case 1:
      return "HtoD";
    case 2:
      return "DtoH";
    case 3:
      return "HtoA";
    case 4:
      return "AtoH";
    case 5:
      return "AtoA";
    case 6:
      return "AtoD";
    case 7:
      return "DtoA";
    case 8:
      return "DtoD";
    case 9:
      return "HtoH";
    case 10:
      return "PtoP";
    default:
      return "Unknown";
  }
}

}  // namespace

std::string_view memory_name(std::uint32_t kind) noexcept {
  switch (kind) {
    case 1:
      return "Pageable";
    case 2:
      return "Pinned";
    case 3:
      return "Device";
    case 4:
      return "Array";
    case 5:
      return "Managed";
    case 6:
      return "Device Static";
    case 7:
      return "Managed Static";
    default:
      return "Unknown";
  }
}

std::string memcpy_name(const CopyDetail& detail) {
  std::string name = "Memcpy ";
  name += copy_name(detail.copy_kind);
  name += " (";
  name += memory_name(detail.source_memory);
  name += " -> ";
  name += memory_name(detail.target_memory);
  name += ')';
  return name;
}

std::string memset_name(const CopyDetail& detail) {
  std::string name = "Memset (";
  name += memory_name(detail.target_memory);
  name += ')';
  return name;
}

std::string graph_name(std::uint32_t graph) { return "CUDA graph " + std::to_string(graph); }

std::string_view overhead_name(std::uint32_t kind) noexcept {
  // CUpti_ActivityOverheadKind is a set of bits from CUPTI 13 on, with the old values among them.
  switch (kind) {
    case 1:
      return "Driver Compiler";
    case 1u << 16:
      return "Buffer Flush";
    case 2u << 16:
      return "Instrumentation";
    case 3u << 16:
      return "Resource";
    case 4u << 16:
      return "Runtime Triggered Module Loading";
    case 5u << 16:
      return "Lazy Function Loading";
    case 6u << 16:
      return "Command Buffer Full";
    case 7u << 16:
      return "Activity Buffer Request";
    case 8u << 16:
      return "UVM Activity Init";
    default:
      return "Overhead";
  }
}

std::string_view jit_name(std::uint32_t entry, std::uint32_t operation) noexcept {
  const bool from_ptx = entry == 1;
  switch (operation) {
    case 1:
      return from_ptx ? "JIT Cache Load (PTX to cubin)" : "JIT Cache Load (NVVM IR to PTX)";
    case 2:
      return from_ptx ? "JIT Cache Store (PTX to cubin)" : "JIT Cache Store (NVVM IR to PTX)";
    case 3:
      return from_ptx ? "JIT Compile (PTX to cubin)" : "JIT Compile (NVVM IR to PTX)";
    default:
      return "JIT (unknown operation)";
  }
}

}  // namespace rangefinder::timeline
