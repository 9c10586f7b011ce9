// SPDX-License-Identifier: MIT
#include "advice/communication.hpp"
#include "advice/launches.hpp"
#include "advice/rule.hpp"
#include "analysis/kernel_families.hpp"
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

bool is_last_of_frame(const std::vector<Communication>& all, std::size_t i) {
  return i + 1 == all.size() || all[i + 1].frame != all[i].frame;
}

/// When it was launched; kNoTime where that is not known.
std::int64_t launched_ns(const Timeline& timeline, ActivityIndex activity) {
  const LaunchIndex launch = timeline.activities.launch[activity];
  return launch < timeline.launches.size() ? timeline.launches.time_ns[launch] : kNoTime;
}

/// Layers that are computed, forward or backward: no optimizer, nor norms of gradients.
bool is_of_layer(analysis::KernelFamily family) noexcept {
  using Family = analysis::KernelFamily;
  return family == Family::kGemm || family == Family::kConvolution || family == Family::kAttention ||
         family == Family::kEmbedding || family == Family::kNormalization;
}

/// By frame: time of the layers that are launched behind its last collective. They could hide it.
std::vector<std::int64_t> layers_behind_last(Context& context, const std::vector<Communication>& all) {
  const Timeline& timeline = context.timeline();
  std::vector<std::int64_t> last_ns(context.frames().count(), kNoTime), behind_ns(context.frames().count());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (is_last_of_frame(all, i) && all[i].kernel != kNone && all[i].frame < last_ns.size())
      last_ns[all[i].frame] = launched_ns(timeline, all[i].kernel);
  for (const ActivityIndex kernel : context.work()) {
    if (!is_of_layer(context.families().of(kernel))) continue;
    const std::int64_t time_ns = launched_ns(timeline, kernel);
    if (time_ns == kNoTime) continue;
    const std::size_t frame = context.frames().at(timeline.devices[device_index_of(timeline, kernel)].process, time_ns);
    if (frame < last_ns.size() && last_ns[frame] != kNoTime && time_ns > last_ns[frame])
      behind_ns[frame] = analysis::saturating_add(behind_ns[frame], length_of(timeline, kernel));
  }
  return behind_ns;
}

/// Time of the last collective of each frame, as far as nothing behind it can hide it; of the only one, that of a
/// bucket of it.
std::int64_t unavoidable_ns(Context& context, const std::vector<Communication>& all) {
  const std::vector<std::int64_t> behind_ns = layers_behind_last(context, all);
  analysis::Sum sum;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_last_of_frame(all, i)) continue;
    const bool is_only = i == 0 || all[i - 1].frame != all[i].frame;
    double share = 1;
    if (is_only && all[i].bytes) share = std::min(1.0, kBucketBytes / static_cast<double>(*all[i].bytes));
    const auto own_ns = static_cast<std::int64_t>(static_cast<double>(all[i].length_ns) * share);
    sum.add(std::max<std::int64_t>(0, own_ns - (all[i].frame < behind_ns.size() ? behind_ns[all[i].frame] : 0)));
  }
  return sum.count == 0 ? 0
                        : analysis::rounded_quotient(sum.total, static_cast<std::int64_t>(context.frames().count()), 0);
}

}  // namespace

Judgement judge_exposed_communication(Context& context) {
  const Timeline& timeline = context.timeline();
  const std::vector<Communication> all = communications_of(context);
  const std::vector<bool> small = small_communications(timeline, all);
  const bool alone = timeline.processes.size() < 2;
  Change change, apart;
  EvidenceTable evidence(context);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (small[i]) continue;  // small_buckets
    skip_communication(timeline, all[i], change);
    // Ranks that differ from step to step wait less for each other if they do not wait for every collective.
    if (all[i].kernel != kNone) apart.skip_meeting(all[i].kernel);
    add_evidence(timeline, all[i], evidence);
  }
  apart.add(change);
  const std::int64_t gain_ns = std::max(context.gain_ns(change), alone ? 0 : context.gain_at_pace_ns(apart)) -
                               (context.frames().are_steps() ? unavoidable_ns(context, all) : 0);
  if (gain_ns <= 0 || gain_ns < context.least_gain_ns()) return Judgement::nothing();
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
