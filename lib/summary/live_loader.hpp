// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/capture_loader.hpp"
#include "summary/live_facts.hpp"
#include "summary/step_times.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <span>

namespace rangefinder::summary {

/// Loads what a session has written into windows: ranges, launches, activities, and what tells their owners. All else
/// is left out.
class LiveLoader final : public importer::CaptureLoader {
 public:
  LiveLoader(const LiveFacts& facts, Timeline& timeline, const importer::HostShift& shift, const LoadOptions& options,
             StepTimes& steps)
      : CaptureLoader(facts, timeline, shift, options), steps_(steps) {}

  /// Before the first window. `whole_launches`: graphs may be recorded as a whole.
  void begin(bool whole_launches) {
    begin_windows({.calls = false, .whole_launches = whole_launches});
    out_.processes.emplace_back();
    earlier_calls_.begin(process_, {});
  }
  /// What is new of threads, or is said again.
  void on_threads(std::span<const format::ThreadRow> rows) {
    for (const format::ThreadRow& row : rows) add_thread(row);
  }

  void on_mark(std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t) override {}
  void on_counter(std::uint32_t, std::uint64_t, std::uint32_t, const importer::AssembledValue&) override {}
  void on_value(std::uint32_t, const importer::AssembledValue&) override {}
  void on_operator(const importer::AssembledOperator&) override {}
  void on_cpu_counts(std::uint64_t, const importer::CpuCounts&) override {}
  void on_memory(const importer::AssembledMemory&) override {}
  void on_step(const importer::AssembledStep& step) override {
    steps_.begin(step.number, host_time(step.ticks), step.recorded);
  }
  void on_step_items(std::uint32_t, std::uint64_t items) override { steps_.add_items(items); }

 private:
  StepTimes& steps_;
};

}  // namespace rangefinder::summary
