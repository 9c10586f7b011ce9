// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

inline constexpr std::uint32_t kLayers = 6;
inline constexpr std::uint32_t kGraphNodes = 40;

/// An operator of the forward pass and what it launches there and in the backward pass.
struct JobOperator {
  rangefinder::StringId outer, inner;          ///< aten::linear calls aten::addmm
  rangefinder::StringId evaluate, node, back;  ///< the engine's range, the node in it, the operator that the node calls
  rangefinder::StringId kernel, back_kernel;
  rangefinder::StringId shapes, types, values;
  std::uint32_t detail = 0;    ///< row of Timeline::kernel_details
  std::int64_t length_ns = 0;  ///< of its kernel
  std::uint64_t output_bytes = 0;
  std::uint32_t back_kernels = 1;
};

/// Texts of the job, interned once.
struct JobTexts {
  explicit JobTexts(rangefinder::Timeline& timeline);

  std::vector<JobOperator> operators;  ///< of a layer, in order
  std::array<rangefinder::StringId, kLayers> layers;
  std::vector<rangefinder::StringId> graph_kernels;
  rangefinder::StringId step, data, forward, backward, optimizer, capture, fetch;
  rangefinder::StringId launch_kernel, launch_graph, memcpy_async, memset_async, record_event, stream_wait_event,
      stream_synchronize, event_query, malloc;
  rangefinder::StringId copy_in, copy_out, clear;
  rangefinder::StringId all_reduce, send, receive, all_reduce_kernel, message_kernel, dtype;
  rangefinder::StringId flush, loss, allocated, reserved, dram_read, dram_write, sm_active;
};

}  // namespace bench
