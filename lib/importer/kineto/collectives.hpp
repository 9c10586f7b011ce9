// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/event.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::importer::kineto {

/// What one event tells of a collective, in Kineto's words.
struct CollectiveFacts {
  CollectiveKind kind = CollectiveKind::kOther;
  StringId name = StringId::kEmpty;
  ProcessGroupIndex group = kNone;
  std::int64_t number = -1;
  std::int64_t elements_in = -1;
  std::int64_t elements_out = -1;
  StringId dtype = StringId::kEmpty;
  std::int32_t peer = -1;
  StringId in_splits = StringId::kEmpty;
  StringId out_splits = StringId::kEmpty;
};

/// Finds the collectives of a trace. A call of one is up to three slices in each other: the dispatcher's operator
/// (c10d::allreduce_), record_param_comms, whose arguments tell all since torch 2.2, and the backend's
/// (nccl:all_reduce). Gloo's (gloo:all_reduce) is on the thread that does the work.
class Collectives {
 public:
  explicit Collectives(Timeline& timeline) : timeline_(timeline) {}

  /// A host slice. Looks at names first: few are of interest.
  void add_slice(const Event& event, ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns);
  /// A kernel; since torch 2.2 those of NCCL have the arguments of their record_param_comms.
  void add_kernel(const Event& event, ActivityIndex activity);
  /// Once launches are joined.
  void finish();

 private:
  enum class Slice : std::uint8_t { kDispatcher, kParameters, kBackend, kOnWorker, kNone };
  struct Told {
    Slice slice;
    ThreadIndex thread;
    std::int64_t begin_ns, end_ns;
    CollectiveFacts facts;
  };
  static Slice slice_of(std::string_view name) noexcept;
  CollectiveFacts facts_of(const Event& event, Slice slice);
  void append(const Told& outer, const CollectiveFacts& facts);
  void add_calls();
  void add_work_of_gloo();

  Timeline& timeline_;
  std::vector<Told> told_;
  std::vector<std::pair<ActivityIndex, CollectiveFacts>> kernels_;
  std::string scratch_;
};

}  // namespace rangefinder::importer::kineto
