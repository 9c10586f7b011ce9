// SPDX-License-Identifier: MIT
#include "advice/communication.hpp"
#include "advice/rule.hpp"
#include "analysis/spread.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <vector>

// Collectives that the step waits for while nothing else is done.
namespace rangefinder::advice {
namespace {

// The last gradients are there when the backward pass is over: nothing hides their bucket. DistributedDataParallel's
// has so many bytes.
constexpr double kBucketBytes = 25.0 * (1 << 20);

/// Time of the last collective of each frame, which cannot be hidden; of the only one, that of a bucket of it.
std::int64_t unavoidable_ns(Context& context, const std::vector<Communication>& all) {
  analysis::Sum sum;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t last = first;
    while (last + 1 < all.size() && all[last + 1].frame == all[first].frame) ++last;
    double share = 1;
    if (last == first && all[last].bytes) share = std::min(1.0, kBucketBytes / static_cast<double>(*all[last].bytes));
    sum.add(static_cast<std::int64_t>(static_cast<double>(all[last].length_ns) * share));
    first = last + 1;
  }
  return sum.count == 0 ? 0
                        : analysis::rounded_quotient(sum.total, static_cast<std::int64_t>(context.frames().count()), 0);
}

}  // namespace

Judgement judge_exposed_communication(Context& context) {
  const Timeline& timeline = context.timeline();
  const std::vector<Communication> all = communications_of(context);
  const std::vector<bool> small = small_communications(timeline, all);
  Change change;
  EvidenceTable evidence(context);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (small[i]) continue;  // small_buckets
    skip_communication(timeline, all[i], change);
    add_evidence(timeline, all[i], evidence);
  }
  const std::int64_t gain_ns =
      context.gain_ns(change) - (context.frames().are_steps() ? unavoidable_ns(context, all) : 0);
  if (gain_ns <= 0 || gain_ns < context.least_gain_ns()) return Judgement::nothing();
  const bool alone = timeline.processes.size() < 2;
  return Judgement::found(finding_of(
      AdviceRule::kExposedCommunication, gain_ns, evidence,
      {"Communication that nothing hides: " + counted(evidence.count(), "collective") + a_step(context) +
           in_range(evidence.main_range()) +
           (alone ? ", with waits for other ranks, which one recording does not tell apart" : ""),
       "Overlap it with the backward pass: DistributedDataParallel instead of an all-reduce at the end (in C++ "
       "c10d::Reducer), gradient_as_bucket_view, other bucket_cap_mb; prefetch of FSDP "
       "(backward_prefetch=BACKWARD_PRE, forward_prefetch); fewer bytes (bf16 gradients), fewer times (no_sync() while "
       "gradients are accumulated)",
       "`report --view breakdown --by step` shows less exposed communication"}));
}

}  // namespace rangefinder::advice
