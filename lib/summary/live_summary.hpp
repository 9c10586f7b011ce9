// SPDX-License-Identifier: MIT
#pragma once

#include "clock/clock_table.hpp"
#include "format/columns.hpp"
#include "importer/capture/host_assembler.hpp"
#include "projection/streaming.hpp"
#include "session/chunk_output.hpp"
#include "summary/graph_sites.hpp"
#include "summary/pass_totals.hpp"
#include "summary/path_totals.hpp"

#include <rangefinder/session.hpp>

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::session {
class SessionCore;
}

namespace rangefinder::summary {

/// Follows one session's output. Memory: open ranges, launches without activities, and one row per path.
class LiveSummary final : public importer::AssemblySink, public projection::ProjectionSink {
 public:
  explicit LiveSummary(session::SessionCore& core);

  /// Flushes the session, takes in what came since the last call, and gives the totals.
  Summary update();

  void on_begin(const importer::AssembledRange& range) override;
  void on_range(const importer::AssembledRange& range) override;
  void on_launch(const importer::AssembledLaunch& launch) override;
  void on_sequence(const importer::AssembledSequence& sequence) override;
  void on_node_begin(const importer::AssembledNode& node) override;
  void on_node_number(std::uint32_t thread, std::int64_t sequence) override;
  void on_node(const importer::AssembledNode& node) override;
  void on_step(const importer::AssembledStep& step) override;
  void on_step_items(std::uint32_t thread, std::uint64_t items) override;
  void on_projected(const projection::ProjectedRange& range) override;
  void on_joined(const projection::StreamingLaunch& launch, const projection::StreamingActivity& activity) override;

 private:
  void take(const format::ChunkHeader& header, base::ByteView payload);
  void take_threads(const format::ChunkHeader& header, base::ByteView payload);
  void take_graph_nodes(const format::ChunkHeader& header, base::ByteView payload);
  template <typename Row>
  void take_activities(const format::ChunkHeader& header, base::ByteView payload);
  std::int64_t host_time(std::uint64_t ticks) const noexcept { return clock_.monotonic_of_ticks(ticks); }
  std::int64_t device_time(std::int64_t ns) const noexcept { return clock_.monotonic_of_realtime(ns); }
  std::uint64_t annotation_of(std::uint64_t key) const noexcept;
  PassTotals::Site site_of(std::uint64_t range, std::uint64_t scoped) const noexcept;
  void place_graphs();
  void complete_graphs();
  void refresh_clock();
  void add_percentiles(Summary& summary) const;

  session::SessionCore& core_;
  session::OutputCursor cursor_;
  format::ColumnReader columns_;
  std::vector<clock::ClockPoint> clock_points_;
  clock::ClockTable clock_;
  importer::HostAssembler assembler_{*this};
  projection::StreamingProjector projector_;
  GraphSites sites_;
  std::vector<std::pair<std::uint64_t, projection::StreamingActivity>> of_graphs_;  // by node, of this update
  std::vector<std::uint64_t> captured_;                       // correlation ids of launches that made nodes of graphs
  std::unordered_map<std::uint64_t, std::uint64_t> replays_;  // of graph launches -> the update that brought the last
  std::uint64_t unread_ = 0;                                  // chunks that could not be unpacked
  std::uint64_t updates_ = 0;
  PathTotals totals_;
  PassTotals passes_{totals_};
  std::unordered_map<std::uint64_t, std::uint64_t> operator_owner_;  // open operator -> the annotation around it
  std::unordered_map<std::uint64_t, std::int64_t> waited_ns_;        // resumed ranges -> host time before they were
  struct Step {
    std::uint32_t number = 0;
    std::uint64_t ticks = 0;
    bool recorded = false;
  } last_step_;
  std::uint64_t steps_ = 0;
  std::int64_t step_ns_ = 0;
  std::vector<std::int64_t> last_steps_;  // times of the newest, as a ring
  std::int64_t last_finished_ns_ = -1;    // of the step that was noted last; -1: it was not recorded
  std::uint64_t items_ = 0;
  std::int64_t items_ns_ = 0;
};

}  // namespace rangefinder::summary
