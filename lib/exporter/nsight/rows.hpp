// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/nsight/global_ids.hpp"
#include "exporter/nsight/sqlite_output.hpp"

#include <rangefinder/detail/wrapping.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rangefinder::nsight_export {

/// Texts by number, each written when it is first used.
class StringIds {
 public:
  StringIds(SqliteOutput& output, const Timeline& timeline)
      : insert_(output, "StringIds", {"id", "value"}), timeline_(timeline), names_(timeline.string_count(), 0) {}

  std::int64_t id(StringId name) {
    std::int64_t& known = names_[static_cast<std::uint32_t>(name)];
    return known != 0 ? known : known = id(timeline_.text(name));
  }
  std::int64_t id(std::string_view text) {
    const auto [found, added] = ids_.try_emplace(std::string(text), static_cast<std::int64_t>(ids_.size()) + 1);
    if (added) insert_.row(found->second, text);
    return found->second;
  }

 private:
  Insert insert_;
  const Timeline& timeline_;
  std::vector<std::int64_t> names_;  // by StringId; 0: not used yet
  std::unordered_map<std::string, std::int64_t> ids_;
};

/// What all tables are written from.
struct Export {
  Export(const Timeline& of, SqliteOutput& into) : timeline(of), output(into), ids(of), strings(into, of) {}

  /// Nsight's times begin with the recording.
  std::int64_t time(std::int64_t ns) const noexcept { return detail::minus(ns, timeline.begin_ns); }

  const Timeline& timeline;
  SqliteOutput& output;
  const GlobalIds ids;
  StringIds strings;
};

void write_places(Export& out);      ///< processes, threads, machines, devices, streams, clock
void write_nvtx(Export& out);        ///< ranges and marks
void write_calls(Export& out);       ///< API calls, and launches of which no call was recorded
void write_activities(Export& out);  ///< kernels, copies, memsets, whole graphs
void write_syncs(Export& out);

}  // namespace rangefinder::nsight_export
