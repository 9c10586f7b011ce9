// SPDX-License-Identifier: MIT
#include "importer/capture/capture_loader.hpp"
#include "importer/capture/collective_texts.hpp"
#include "timeline/collectives.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rangefinder::importer {

void CaptureLoader::on_collective(const AssembledCollective& collective) {
  if (is_before(collective.ticks, collective.ticks)) return;
  collectives_.push_back(collective);
  last_ticks_ = std::max(last_ticks_, collective.ticks);
}

void CaptureLoader::on_collective_phase(const AssembledCollectivePhase& phase) {
  collective_phases_.push_back(phase);
  last_ticks_ = std::max(last_ticks_, phase.ticks);
}

/// Another thread may have told of a phase before the call was read: phases are sorted in when all is there.
void CaptureLoader::add_collectives() {
  CollectiveTable& table = out_.collectives;
  std::unordered_map<std::uint32_t, std::size_t> rows;  // by handle
  const auto text_or_none = [&](std::uint32_t id) { return id != 0 ? name(id) : StringId::kEmpty; };
  for (const AssembledCollective& call : collectives_) {
    const CollectiveSignature signature = split_signature(facts_.name(call.signature));
    const auto [group, added] = groups_.try_emplace(call.group, kNone);
    if (added && call.group != 0)
      group->second = timeline::add_process_group(out_, split_group(facts_.name(call.group), call.source));
    rows[call.handle] = table.append({.kind = call.kind,
                                      .source = call.source,
                                      .name = out_.intern(signature.name),
                                      .process = process_,
                                      .group = group->second,
                                      .number = call.number,
                                      .elements_in = call.elements_in,
                                      .elements_out = call.elements_out,
                                      .dtype = out_.intern(signature.dtype),
                                      .peer = call.peer,
                                      .in_splits = text_or_none(call.in_splits),
                                      .out_splits = text_or_none(call.out_splits),
                                      .thread = thread_of(call.thread),
                                      .begin_ns = host_time(call.ticks),
                                      .algorithm = out_.intern(signature.algorithm),
                                      .protocol = out_.intern(signature.protocol),
                                      .channels = signature.channels});
  }
  for (const AssembledCollectivePhase& told : collective_phases_) {
    const auto found = rows.find(told.handle);
    if (found == rows.end()) continue;  // its call is not in the recording
    CollectiveRow row = table.row(found->second);
    const std::int64_t time_ns = host_time(told.ticks);
    switch (told.phase) {
      case detail::CollectivePhase::kReturned:
        row.end_ns = time_ns;
        break;
      case detail::CollectivePhase::kStarted:
        row.started_ns = row.started_ns == kNoTime ? time_ns : std::min(row.started_ns, time_ns);
        break;
      case detail::CollectivePhase::kCompleted:
        row.completed_ns = std::max(row.completed_ns, time_ns);  // kNoTime is before all times
        break;
      case detail::CollectivePhase::kWaitBegan:
        row.wait_thread = thread_of(told.thread);
        row.wait_begin_ns = time_ns;
        row.wait_end_ns = kNoTime;
        break;
      case detail::CollectivePhase::kWaitEnded:
        row.wait_end_ns = time_ns;
        break;
    }
    table.set(found->second, row);
  }
}

/// Keeps those whose kernels may still come: of calls that return after the oldest launch that is waited for.
void CaptureLoader::keep_collectives() {
  if (collectives_.empty()) return collective_phases_.clear();
  const std::int64_t oldest_ns = oldest_waiting_ns();
  std::unordered_set<std::uint32_t> over;  // handles
  for (const AssembledCollectivePhase& told : collective_phases_)
    if (told.phase == detail::CollectivePhase::kReturned && host_time(told.ticks) < oldest_ns) over.insert(told.handle);
  std::erase_if(collectives_, [&](const AssembledCollective& call) { return over.contains(call.handle); });
  std::erase_if(collective_phases_, [&](const AssembledCollectivePhase& told) { return over.contains(told.handle); });
}

}  // namespace rangefinder::importer
