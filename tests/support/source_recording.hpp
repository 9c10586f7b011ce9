// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"
#include "source/source.hpp"
#include "support/deadlines.hpp"
#include "support/unpacking_sink.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::testing {

/// What a source has delivered.
class KeptRows {
 public:
  std::vector<format::KernelRow> kernels;
  std::vector<format::MemcpyRow> copies;
  std::vector<format::MemsetRow> sets;
  std::vector<format::ApiRow> apis;
  std::vector<format::SyncRow> syncs;
  std::vector<format::OverheadRow> overheads;
  std::vector<format::AllocationRow> allocations;
  std::vector<format::JitRow> jits;
  std::vector<format::DeviceRow> devices;
  std::vector<format::ContextRow> contexts;
  std::vector<format::StreamRow> streams;
  std::vector<format::GraphNodeRow> graph_nodes;
  std::vector<format::GraphLaunchRow> graph_launches;
  std::vector<format::RangeMetricRow> range_metrics;
  std::vector<format::MetricSampleRow> metric_samples;
  std::map<std::string, std::string> facts;
  unsigned clock_samples = 0;

  format::NameId add_name(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (text.empty()) return 0;
    return names_.try_emplace(std::string(text), static_cast<format::NameId>(names_.size() + 1)).first->second;
  }
  void add_count(std::uint32_t number, std::uint64_t n) {
    const std::lock_guard lock(mutex_);
    counts_[number] += n;
  }
  void set_fact(std::string_view key, std::string_view value) {
    const std::lock_guard lock(mutex_);
    facts[std::string(key)] = std::string(value);
  }
  void add_clock_sample() {
    const std::lock_guard lock(mutex_);
    ++clock_samples;
  }

  std::uint64_t counted(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(number);
    return found != counts_.end() ? found->second : 0;
  }
  /// What was counted at all, by number.
  std::map<std::uint32_t, std::uint64_t> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  std::string text(format::NameId id) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [text, known] : names_) {
      if (known == id) return text;
    }
    return {};
  }
  std::string fact(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = facts.find(key);
    return found != facts.end() ? found->second : std::string();
  }

  void add_rows(format::ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count) {
    const std::lock_guard lock(mutex_);
    keep(kind, rows, row_bytes, count, kernels) || keep(kind, rows, row_bytes, count, copies) ||
        keep(kind, rows, row_bytes, count, sets) || keep(kind, rows, row_bytes, count, apis) ||
        keep(kind, rows, row_bytes, count, syncs) || keep(kind, rows, row_bytes, count, overheads) ||
        keep(kind, rows, row_bytes, count, devices) || keep(kind, rows, row_bytes, count, contexts) ||
        keep(kind, rows, row_bytes, count, streams) || keep(kind, rows, row_bytes, count, graph_nodes) ||
        keep(kind, rows, row_bytes, count, graph_launches) || keep(kind, rows, row_bytes, count, allocations) ||
        keep(kind, rows, row_bytes, count, jits) || keep(kind, rows, row_bytes, count, range_metrics) ||
        keep(kind, rows, row_bytes, count, metric_samples);
  }

 private:
  template <typename Row>
  static bool keep(format::ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                   std::vector<Row>& to) {
    if (kind != Row::kKind || row_bytes != sizeof(Row)) return false;
    const auto* first = static_cast<const Row*>(rows);
    to.insert(to.end(), first, first + count);
    return true;
  }

  mutable std::mutex mutex_;
  std::map<std::string, format::NameId> names_;
  std::map<std::uint32_t, std::uint64_t> counts_;
};

class RowKeeper : public UnpackingSink {
 public:
  explicit RowKeeper(KeptRows& rows) : rows_(rows) {}

  format::NameId name(std::string_view text) noexcept override { return rows_.add_name(text); }
  void count(std::uint32_t number, std::uint64_t n) noexcept override { rows_.add_count(number, n); }
  void meta(std::string_view key, std::string_view value) noexcept override { rows_.set_fact(key, value); }
  void sample_clock() noexcept override { rows_.add_clock_sample(); }

 protected:
  void write_rows(format::ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                  std::span<const format::Field>) noexcept override {
    rows_.add_rows(kind, rows, row_bytes, count);
  }

 private:
  KeptRows& rows_;
};

/// Keeps what a source delivers.
class KeepingSink : public KeptRows, public RowKeeper {
 public:
  KeepingSink() : RowKeeper(static_cast<KeptRows&>(*this)) {}
};

/// A source that has been started, and what it has delivered since. Not the sink itself: the source's threads call that
/// while constructors of derived classes run.
template <typename SourceOfKind>
class SourceRecording : public KeptRows {
 private:
  RowKeeper keeper_{*this};

 public:
  /// From what the source is made of.
  template <typename... Arguments>
  explicit SourceRecording(Arguments&&... arguments)
      : source(std::forward<Arguments>(arguments)...), started(source.start(keeper_)) {}

  void flush() { source.flush(soon()); }
  void stop() { source.stop(soon()); }

  SourceOfKind source;
  source::SourceState started;  ///< what `start` answered
};

}  // namespace rangefinder::testing
