// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/capture_export.hpp"
#include "exporter/chrome/capture_steps.hpp"
#include "exporter/chrome/flow_writer.hpp"
#include "exporter/chrome/launch_table.hpp"
#include "exporter/chrome/thread_row.hpp"
#include "importer/capture/host_assembler.hpp"
#include "importer/capture/node_origins.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace rangefinder::chrome {

/// A slice that CUPTI recorded on a thread: an API call or overhead.
struct ThreadSlice {
  std::string_view head;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool is_call = false;
  std::uint32_t correlation = 0;
  std::uint32_t callback_id = 0;
  std::int32_t result = 0;
};

/// Writes what threads did, as it comes by.
class CaptureHost final : public importer::AssemblySink {
 public:
  /// `launches` null: there are no device rows, and nothing needs to be told of launches.
  CaptureHost(CaptureExport& shared, LaunchTable* launches, FlowWriter& flows);

  void on_begin(const importer::AssembledRange& range) override;
  void on_range(const importer::AssembledRange& range) override;
  void on_operator(const importer::AssembledOperator& facts) override;
  void on_launch(const importer::AssembledLaunch& launch) override;
  void on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, std::uint32_t category) override;
  void on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name,
                  const importer::AssembledValue& value) override;
  void on_value(std::uint32_t thread, const importer::AssembledValue& value) override;
  void on_sequence(const importer::AssembledSequence& sequence) override;
  void on_node_begin(const importer::AssembledNode& node) override;
  void on_node(const importer::AssembledNode& node) override;
  void on_memory(const importer::AssembledMemory& memory) override;
  void on_step(const importer::AssembledStep& step) override;
  void on_step_items(std::uint32_t thread, std::uint64_t items) override { steps_.add_items(thread, items); }

  void add_slice(std::uint32_t tid, const ThreadSlice& slice);
  /// Host events up to `host_ns` have come; no slice of a thread is still to come that begins before `slices_ns`.
  void place_slices(std::int64_t host_ns, std::int64_t slices_ns);
  /// Behind all host events.
  void finish();

  /// The latest time of a record: what is open then, lasts until then.
  std::uint64_t last_ticks() const noexcept { return last_ticks_; }
  TrackId track_of_tid(std::uint32_t tid);
  /// Any thread's row; kNoTrack when there is none.
  TrackId first_track() const noexcept { return first_track_; }

 private:
  struct Value {
    detail::ExtraKind kind = detail::ExtraKind::kUnsigned;
    std::uint64_t bits = 0;  ///< as AssembledValue has them
  };
  /// A range that is open, or finished and not written yet. There are many, and they move: what few have is apart.
  struct Range {
    std::uint64_t key = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t name = 0;
    std::uint32_t category = 0;
    std::int64_t opened_ns_ago = -1;  ///< of one that was resumed
    // Of operators, as AssembledOperator has them.
    std::int64_t sequence = -1;
    std::uint32_t forward_thread = 0;
    std::uint32_t inputs = 0;
    bool is_operator = false;
    bool launches = false;         ///< itself
    bool launches_inside = false;  ///< a range inside, or a node of autograd that was made in it
    bool unfinished = false;
    bool suspended = false;
    bool has_value = false;
    Value value;
    /// Ranges inside that began at the same time: written behind this one, so that readers take it for the outer one.
    /// Null: none.
    std::unique_ptr<std::vector<Range>> held;

    /// Something on a device refers to it. Operators have no rows there, only what they launched themselves.
    bool is_linked() const noexcept { return launches || (launches_inside && !is_operator); }
  };
  struct Mark {
    std::int64_t time_ns;
    std::uint32_t name;
    std::uint32_t category;
    std::optional<Value> value;
  };
  struct Thread {
    Thread() = default;
    Thread(Thread&&) noexcept = default;  // which a deque does not promise

    TrackId track = kNoTrack;
    std::vector<Range> open;
    std::vector<Range> start_end;
    EndToEnd beside;
    std::optional<Mark> mark;
    std::uint64_t opened = 0;  ///< key of the range that began last
    ThreadRow row;
    std::deque<ThreadSlice> slices;
  };

  std::int64_t time_of(std::uint64_t ticks) noexcept;
  Thread& thread_of(std::uint32_t index) {
    const bool is_known = index < threads_.size() && threads_[index].track != kNoTrack;
    return is_known ? threads_[index] : meet_thread(index);
  }
  Thread& meet_thread(std::uint32_t index);
  std::uint32_t index_of_tid(std::uint32_t tid);
  static Range take(std::vector<Range>& ranges, std::uint64_t key);
  void write_range(const Range& range, TrackId track);
  void write_mark(Thread& thread);
  void write_facts(const Range& range);
  void write_value(const Value& value);
  void place_slice(Thread& thread, const ThreadSlice& slice);
  void write_slice(const ThreadSlice& slice, TrackId track);
  /// The oldest of those that wait, while it is known where they were made; `most` may go on waiting.
  void write_nodes(std::size_t most);
  void write_node(const importer::AssembledNode& node);

  CaptureExport& shared_;
  LaunchTable* launches_;
  FlowWriter& flows_;
  importer::NodeOrigins origins_;
  std::deque<importer::AssembledNode> nodes_;  ///< done, and not written
  std::vector<Thread> threads_;
  std::map<std::uint32_t, std::uint32_t> index_of_tid_;
  std::vector<std::uint32_t> with_slices_;  ///< threads that have had any
  TrackId first_track_ = kNoTrack;
  std::uint64_t last_ticks_ = 0;
  CaptureSteps steps_;
  std::string scratch_;
};

}  // namespace rangefinder::chrome
