// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::timeline {

/// "Memcpy HtoD (Pageable -> Device)", the spelling that readers of torch.profiler traces look for.
std::string memcpy_name(const CopyDetail& detail);
/// "Memset (Device)".
std::string memset_name(const CopyDetail& detail);
/// "CUDA graph 5", by the executable graph's id: its launch as a whole.
std::string graph_name(std::uint32_t graph);
/// "Buffer Flush", by CUpti_ActivityOverheadKind.
std::string_view overhead_name(std::uint32_t kind) noexcept;
/// "JIT Compile (PTX to cubin)", by CUpti_ActivityJitEntryType and CUpti_ActivityJitOperationType.
std::string_view jit_name(std::uint32_t entry, std::uint32_t operation) noexcept;
/// "Pageable", by CUpti_ActivityMemoryKind.
std::string_view memory_name(std::uint32_t kind) noexcept;

}  // namespace rangefinder::timeline
