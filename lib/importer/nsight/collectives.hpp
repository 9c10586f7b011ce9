// SPDX-License-Identifier: MIT
#pragma once

#include "importer/nsight/import_context.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::importer::nsight {

/// What NCCL attaches to a range of its NVTX domain; of each range some of it.
struct NcclPayload {
  std::uint64_t communicator = 0;                             ///< 0: not told
  std::int64_t bytes = -1, peer = -1, ranks = -1, rank = -1;  ///< -1: not told
};

/// Finds the collectives of an export. NCCL marks its calls in the NVTX domain "NCCL" (ncclAllReduce, ncclSend, ...),
/// with communicator and bytes as a payload in binary form, which an export holds if it was made with
/// --include-blobs=true. Without them kind and time are known.
class NcclCalls {
 public:
  /// Reads how payloads are laid out (NVTX_PAYLOAD_SCHEMA_ENTRIES).
  explicit NcclCalls(ImportContext& context);

  static bool is_call(std::string_view range_name) noexcept { return range_name.starts_with("nccl"); }
  /// A range whose name is such; its domain may be told later. `payload`: as the export has it; empty: none. Whether it
  /// was understood.
  bool add(RangeIndex range, std::string_view payload);
  /// Once launches are joined: fills Timeline::collectives, and which kernel belongs to which.
  void finish();

 private:
  struct Field {
    std::uint64_t offset;
    std::int64_t type;
    std::int64_t NcclPayload::*number;  ///< null: the communicator
  };
  struct Call {
    RangeIndex range;
    NcclPayload payload;
    std::int64_t end_ns;  ///< of a grouped call: of the group
  };
  /// Of a process: what it told of a communicator.
  struct Communicator {
    std::int64_t ranks = 0;                               ///< 0: not known
    std::vector<std::int64_t> own_ranks;                  ///< whose begin was recorded
    std::map<ThreadIndex, std::int64_t> calls_by_thread;  ///< collectives so far
    std::vector<CollectiveIndex> numbered;
  };
  using CommunicatorKey = std::pair<ProcessIndex, std::uint64_t>;

  void read_layouts(ImportContext& context);
  std::optional<NcclPayload> decode(std::string_view bytes) const;
  void keep_those_of_nccl();
  void join_groups();
  void find_communicators();
  void append(const Call& call, CollectiveKind kind);
  void forget_doubtful_numbers();
  void find_types();

  Timeline& timeline_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Field>> layouts_;  // by domain and layout
  std::vector<Call> calls_;
  std::map<CommunicatorKey, Communicator> communicators_;
};

}  // namespace rangefinder::importer::nsight
