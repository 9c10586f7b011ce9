// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"
#include "bench/results.hpp"

#include <rangefinder/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::bench {

/// results.json and results.md in a folder, written anew after each benchmark: a run that is killed leaves what it has.
class SavedResults {
 public:
  /// Results of an earlier run get the next free number, results-1.json and results-1.md, and a note says so. With
  /// `resume` its rows are taken over instead, except those that failed.
  ///
  /// Errors: kInvalidArgument where the rows to go on from were measured under other conditions; kUnreadable; kIo.
  static Result<SavedResults> begin(const std::string& folder, ResultsHead head, bool resume,
                                    std::vector<std::string>& notes);

  bool has(std::string_view benchmark) const;
  void add(Json row) { rows_.push_back(std::move(row)); }
  const Json& rows() const noexcept { return rows_; }
  /// Each file is whole or as it was.
  Status write(const std::vector<std::string>& notes, int exit_code);
  /// As last written.
  const std::string& json() const noexcept { return json_; }

 private:
  SavedResults(std::string folder, ResultsHead head) : folder_(std::move(folder)), head_(std::move(head)) {}
  Status take_over();
  Status set_aside(std::vector<std::string>& notes) const;
  std::string path(const std::string& number, const char* ending) const;

  std::string folder_;
  ResultsHead head_;
  Json rows_ = Json::array();
  std::string json_;
};

}  // namespace rangefinder::bench
