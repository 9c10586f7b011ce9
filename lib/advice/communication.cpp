// SPDX-License-Identifier: MIT
#include "advice/communication.hpp"

#include "advice/launches.hpp"
#include "analysis/collective_work.hpp"
#include "analysis/communication_names.hpp"

#include <rangefinder/analysis/collectives.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace rangefinder::advice {
namespace {

// Up to about 1 MiB, an all-reduce of NCCL over NVLink or of Gloo takes about as long whatever its size; PyTorch's
// buckets have 25 MiB.
constexpr std::uint64_t kSmallBytes = std::uint64_t{1} << 20;
// Fewer a step are those of figures to log, norms of gradients and the like.
constexpr std::size_t kFewestSmall = 8;

/// How long the parts of matched collectives take once all ranks have come; by collective.
std::unordered_map<std::uint32_t, std::int64_t> matched_lengths(const Timeline& timeline) {
  std::unordered_map<std::uint32_t, std::int64_t> out;
  if (timeline.processes.size() < 2) return out;
  const MatchedCollectives matched = match_collectives(timeline);
  for (const MatchedCollective& one : matched.collectives)
    for (std::size_t i = 0; i < one.part_count; ++i) out[matched.parts[one.first_part + i].collective] = one.latency_ns;
  return out;
}

class CommunicationFinder {
 public:
  explicit CommunicationFinder(Context& context)
      : context_(context), timeline_(context.timeline()), matched_(matched_lengths(timeline_)) {}

  std::vector<Communication> run() {
    std::vector<bool> has_kernel(timeline_.collectives.size());
    analysis::CommunicationNames names(timeline_);
    for (const ActivityIndex kernel : context_.work()) {
      if (timeline_.activities.kind[kernel] != ActivityKind::kKernel || !names.has(timeline_.activities.name[kernel]))
        continue;
      const CollectiveIndex collective = timeline_.activities.collective[kernel];
      if (collective < has_kernel.size()) has_kernel[collective] = true;
      add_kernel(kernel, collective);
    }
    for (CollectiveIndex row{0}; row < timeline_.collectives.size(); ++row)
      if (!has_kernel[row]) add_on_host(row);
    std::stable_sort(out_.begin(), out_.end(), [](const Communication& a, const Communication& b) {
      return std::tuple(a.frame, a.begin_ns) < std::tuple(b.frame, b.begin_ns);
    });
    return std::move(out_);
  }

 private:
  std::int64_t own_length(CollectiveIndex collective, std::int64_t length_ns) const {
    const auto found = matched_.find(collective);
    return found == matched_.end() ? length_ns : std::clamp<std::int64_t>(found->second, 0, length_ns);
  }
  std::optional<std::uint64_t> bytes_of(CollectiveIndex collective) const {
    if (collective >= timeline_.collectives.size()) return std::nullopt;
    const ProcessGroupIndex group = timeline_.collectives.group[collective];
    const std::int64_t ranks =
        group < timeline_.process_groups.size() ? std::max(1, timeline_.process_groups[group].size) : 1;
    return analysis::counted_bytes(timeline_, collective, ranks);
  }

  void add_kernel(ActivityIndex kernel, CollectiveIndex collective) {
    Communication one;
    one.kernel = kernel;
    one.collective = collective < timeline_.collectives.size() ? collective : CollectiveIndex(kNone);
    const LaunchIndex launch = timeline_.activities.launch[kernel];
    const std::int64_t called_ns =
        launch < timeline_.launches.size() ? timeline_.launches.time_ns[launch] : timeline_.activities.begin_ns[kernel];
    one.frame = context_.frames().at(timeline_.devices[device_index_of(timeline_, kernel)].process, called_ns);
    one.begin_ns = timeline_.activities.begin_ns[kernel];
    one.length_ns = own_length(one.collective, length_of(timeline_, kernel));
    one.bytes = bytes_of(one.collective);
    out_.push_back(one);
  }

  /// Of Gloo: the thread that waits for it stands still, or that which calls it.
  void add_on_host(CollectiveIndex row) {
    const CollectiveTable& table = timeline_.collectives;
    const bool waits = table.wait_thread[row] < timeline_.threads.size() && table.wait_begin_ns[row] != kNoTime;
    Communication one;
    one.collective = row;
    one.thread = waits ? table.wait_thread[row] : table.thread[row];
    one.blocked_begin_ns = waits ? table.wait_begin_ns[row] : table.begin_ns[row];
    one.blocked_end_ns = waits ? table.wait_end_ns[row] : table.end_ns[row];
    if (one.thread >= timeline_.threads.size() || one.blocked_end_ns == kNoTime) return;
    one.frame = context_.frames().at(table.process[row], table.begin_ns[row]);
    if (one.frame == Frames::kNoFrame) return;
    const bool told = table.started_ns[row] != kNoTime && table.completed_ns[row] != kNoTime;
    one.begin_ns = told ? table.started_ns[row] : one.blocked_begin_ns;
    const std::int64_t end_ns = told ? table.completed_ns[row] : one.blocked_end_ns;
    one.length_ns = own_length(row, std::max<std::int64_t>(detail::minus(end_ns, one.begin_ns), 0));
    // What came before is waiting for other ranks.
    one.blocked_begin_ns = std::max(one.blocked_begin_ns, detail::minus(end_ns, one.length_ns));
    one.done_ns = std::min(end_ns, one.blocked_end_ns);
    one.bytes = bytes_of(row);
    out_.push_back(one);
  }

  Context& context_;
  const Timeline& timeline_;
  std::unordered_map<std::uint32_t, std::int64_t> matched_;
  std::vector<Communication> out_;
};

}  // namespace

std::vector<Communication> communications_of(Context& context) { return CommunicationFinder(context).run(); }

std::vector<bool> small_communications(const Timeline& timeline, const std::vector<Communication>& all) {
  std::map<std::tuple<std::size_t, std::uint32_t, CollectiveKind>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].collective == kNone || !all[i].bytes || *all[i].bytes > kSmallBytes) continue;
    const CollectiveKind kind = timeline.collectives.kind[all[i].collective];
    if (kind == CollectiveKind::kBarrier || kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive) continue;
    groups[{all[i].frame, timeline.collectives.group[all[i].collective], kind}].push_back(i);
  }
  std::vector<bool> small(all.size());
  for (const auto& [key, rows] : groups)
    if (rows.size() >= kFewestSmall)
      for (const std::size_t row : rows) small[row] = true;
  return small;
}

void skip_communication(const Timeline& timeline, const Communication& one, Change& change) {
  if (one.kernel != kNone) return change.scale_activity(timeline, one.kernel, 0);
  change.skip_host(one.thread, one.blocked_begin_ns, one.blocked_end_ns);
  change.skip_transfer(one.done_ns, one.length_ns);
}

void add_evidence(const Timeline& timeline, const Communication& one, EvidenceTable& evidence) {
  const std::string_view name =
      one.collective != kNone ? timeline.text(timeline.collectives.name[one.collective]) : std::string_view();
  if (one.kernel != kNone)
    evidence.add_activity(one.kernel, one.length_ns, name);
  else
    evidence.add_host({one.thread, one.blocked_begin_ns}, name.empty() ? "collective" : name, one.length_ns);
}

}  // namespace rangefinder::advice
