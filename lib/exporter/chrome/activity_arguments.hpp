// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/head_cache.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The arguments of device rows, API calls and operators, as torch.profiler spells them. Readers look for these very
// keys.
namespace rangefinder::chrome {

struct ActivityPlace {
  const DeviceInfo* device = nullptr;
  std::uint32_t context = 0;
  std::int64_t stream = 0;
  std::uint64_t correlation = 0;
  std::int64_t external_id = -1;  ///< of the range that launched it; -1: none
  std::uint64_t graph_node = 0;
  std::uint32_t graph = 0;
  /// Of a graph's launch: recorded as a whole, or a part of one that was.
  enum class Launch : std::uint8_t { kNo, kWhole, kPart } graph_launch = Launch::kNo;
  std::uint64_t part_bytes = 0;  ///< that such a part moved
  // Where the graph's node was made; kNoTime: not known.
  std::int64_t captured_tid = 0;
  std::int64_t captured_ns = kNoTime;
  std::string_view captured_in = {};  ///< the ranges there, a JSON list, outer ones first, where no slices show them
  std::string_view collective = {};   ///< what collective_arguments gives
};

/// What the arguments of kernels say of how they were launched. A program launches the same ones over and over; of
/// those that were met lately the text is kept.
class KernelTexts {
 public:
  /// The members, each with the comma before it, as they stand behind other arguments; valid until the next call.
  /// `device` stays where it is.
  std::string_view of(EventWriter& writer, const DeviceInfo& device, const KernelDetail& detail);
  /// Writes them, or hands the launch to the writer's target.
  void write(EventWriter& writer, const DeviceInfo& device, const KernelDetail& detail);

 private:
  static constexpr std::size_t kPlaces = 256;
  struct Known {
    const DeviceInfo* device = nullptr;
    KernelDetail detail;
    std::string text;
  };
  std::vector<Known> known_;
};

/// `detail` may be null.
void write_kernel_arguments(EventWriter& writer, const ActivityPlace& place, const KernelDetail* detail,
                            KernelTexts& texts);
void write_copy_arguments(EventWriter& writer, const ActivityPlace& place, const CopyDetail* detail,
                          std::uint64_t bytes, std::int64_t duration_ns);

struct CallFacts {
  std::uint64_t correlation = 0;
  std::int64_t external_id = -1;
  std::uint32_t callback_id = 0;  ///< 0: unknown
  std::int32_t result = 0;
};
void write_call_arguments(EventWriter& writer, const CallFacts& call);

/// The texts are JSON, empty where there are none; what is no list is left out.
struct OperatorFacts {
  std::int64_t sequence = -1;  ///< as OperatorTable has them
  std::uint64_t forward_thread = 0;
  std::string_view shapes, types, values;
};
void write_operator_arguments(EventWriter& writer, const OperatorFacts& facts);

struct SyncFacts {
  std::uint32_t type = 0;
  const DeviceInfo* device = nullptr;  ///< null: unknown
  std::uint32_t context = 0;           ///< 0: unknown
  std::int64_t stream = -1;            ///< -1: none
  std::uint64_t correlation = 0;
  std::int64_t event_stream = -1;  ///< where the event was recorded that is waited for; -1: not known
};
/// "Stream Sync", by CUpti_ActivitySynchronizationType.
std::string_view sync_name(std::uint32_t type) noexcept;
void write_sync_arguments(EventWriter& writer, const SyncFacts& sync);

Category category_of(ActivityKind kind) noexcept;
Category category_of(CallDomain domain) noexcept;

/// The figures of a range on a stream.
struct RangeFigures {
  std::int64_t external_id = -1;
  std::uint64_t gpu_ops = 0;
  std::int64_t gpu_sum_ns = 0;
  std::int64_t gpu_busy_ns = 0;
  bool busy_is_exact = true;  ///< false: an upper bound
  /// By Pass; null: the attribution tells no passes.
  const std::array<std::int64_t, kPasses>* pass_ns = nullptr;
};
void write_range_figures(EventWriter& writer, const RangeFigures& figures);

/// An execution of a node of autograd. `made_ns` and the thread's row number say where the forward pass had made it.
struct NodeFacts {
  std::int64_t sequence = -1;
  std::int64_t forward_tid = 0;
  std::int64_t made_ns = kNoTime;  ///< kNoTime: not known
};
void write_node_arguments(EventWriter& writer, const NodeFacts& node);

}  // namespace rangefinder::chrome
