// SPDX-License-Identifier: MIT
#pragma once

#include "importer/nsight/sqlite_database.hpp"
#include "timeline/memory_bound.hpp"

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace rangefinder::importer::nsight {

/// What the readers of the tables share: where they read, where they write, and what they found.
class ImportContext {
 public:
  ImportContext(const Database& from, const LoadOptions& load_options, Timeline& into)
      : database(from), options(load_options), timeline(into), bound_(load_options) {}

  const Database& database;
  const LoadOptions& options;
  Timeline& timeline;

  /// Something a reader of the report should know. Past the first hundred they are only counted.
  void note(std::string text) {
    if (timeline.notes.size() < kMaxNotes)
      timeline.notes.push_back(std::move(text));
    else
      ++unspoken_notes_;
  }
  /// Data are missing because the file is damaged.
  void damaged(std::string text) {
    ++timeline.health.damaged_chunks;
    if (first_damage_.empty()) first_damage_ = text;
    note(std::move(text));
  }
  const std::string& first_damage() const noexcept { return first_damage_; }
  std::size_t unspoken_notes() const noexcept { return unspoken_notes_; }

  /// False once the tables have outgrown the bound on memory: reading ends.
  bool within_bound() {
    if (memory_status_.ok()) memory_status_ = bound_.check(timeline, {.text_bytes = held_text_bytes_});
    return memory_status_.ok();
  }
  /// What its readers hold beside the tables.
  void set_held_texts(std::uint64_t bytes) noexcept { held_text_bytes_ = bytes; }
  const Status& memory_status() const noexcept { return memory_status_; }

  void expect_rows(std::uint64_t rows) noexcept { rows_expected_ += rows; }
  void count_rows(std::uint64_t rows) {
    rows_done_ += rows;
    if (options.progress == nullptr || rows_expected_ == 0) return;
    const auto share = static_cast<long double>(std::min(rows_done_, rows_expected_)) / rows_expected_;
    options.progress(options.progress_user, static_cast<std::uint64_t>(share * database.file_bytes()),
                     database.file_bytes());
  }

 private:
  static constexpr std::size_t kMaxNotes = 100;

  rangefinder::timeline::MemoryBound bound_;
  Status memory_status_;
  std::uint64_t held_text_bytes_ = 0;
  std::string first_damage_;
  std::size_t unspoken_notes_ = 0;
  std::uint64_t rows_expected_ = 0;
  std::uint64_t rows_done_ = 0;
};

}  // namespace rangefinder::importer::nsight
