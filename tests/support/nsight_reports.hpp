// SPDX-License-Identifier: MIT
#pragma once

#include "report/view.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::testing {

/// What `nsys stats` printed of a capture, a file each: "cuda_gpu_kern_sum_nvtx-name.csv" is of
/// `cuda_gpu_kern_sum:nvtx-name`.
struct NsightReport {
  std::string view;
  std::string text;

  std::size_t rows() const {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    return lines == 0 ? 0 : lines - 1;  // the first has the names of columns
  }
};

/// Those in a folder that are views of ours: the rules of `nsys analyze` and the operating system's calls are none.
inline std::vector<NsightReport> nsight_reports(const std::string& folder) {
  std::vector<NsightReport> reports;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".csv" || file.starts_with("analyze_") || file == "osrt_sum.csv") continue;
    NsightReport report{entry.path().stem().string(), read_file(entry.path().string())};
    for (const std::string_view suffix : {"_nvtx-name", "_base", "_mangled"})
      if (report.view.ends_with(suffix)) report.view[report.view.size() - suffix.size()] = ':';
    if (report.text.ends_with("\n\n")) report.text.pop_back();  // Nsight's files end with an empty line
    reports.push_back(std::move(report));
  }
  std::sort(reports.begin(), reports.end(), [](const auto& a, const auto& b) { return a.view < b.view; });
  return reports;
}

inline std::string csv_of(const Timeline& timeline, const std::string& name, report::ViewOptions options = {}) {
  const auto view = report::find_view(name, options);
  REQUIRE(view);
  const auto table = report::make_table(**view, report::ProjectedTimeline(timeline, {}), options);
  REQUIRE(table);
  return report::to_csv(*table, report::csv_options_for(**view));
}

/// Where texts of many kilobytes first differ.
inline std::string first_difference(const std::string& expected, const std::string& ours) {
  const auto at = static_cast<std::size_t>(
      std::mismatch(expected.begin(), expected.end(), ours.begin(), ours.end()).first - expected.begin());
  const std::size_t line = at == 0 ? 0 : expected.rfind('\n', at - 1) + 1;
  return "line " +
         std::to_string(std::count(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(line), '\n') + 1) +
         "\n  expected " + expected.substr(line, expected.find('\n', at) - line) + "\n  ours     " +
         ours.substr(line, ours.find('\n', at) - line);
}

}  // namespace rangefinder::testing
