// SPDX-License-Identifier: MIT
#include "bench/saved_results.hpp"

#include "base/file.hpp"

#include <rangefinder/bench/harness.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace rangefinder::bench {
namespace {

/// Why rows of two runs may not stand in one table; empty: they may.
std::string difference(JsonView earlier, const ResultsHead& head) {
  const Provenance stored = Provenance::from_json(earlier["provenance"]);
  if (std::string conflict = head.provenance.conflict(stored); !conflict.empty()) return conflict;
  if (stored.commit != head.provenance.commit)
    return fmt::format("commit \"{}\", stored \"{}\"", head.provenance.commit, stored.commit);
  if (earlier["seed"].integer() != head.seed)
    return fmt::format("seed {}, stored {}", head.seed, earlier["seed"].integer());
  return {};
}

}  // namespace

Result<SavedResults> SavedResults::begin(const std::string& folder, ResultsHead head, bool resume,
                                         std::vector<std::string>& notes) {
  SavedResults saved(folder, std::move(head));
  if (!base::exists(saved.path("", ".json"))) return saved;
  if (Status status = resume ? saved.take_over() : saved.set_aside(notes); !status.ok()) return status.error();
  return saved;
}

std::string SavedResults::path(const std::string& number, const char* ending) const {
  return folder_ + "/results" + number + ending;
}

Status SavedResults::take_over() {
  const std::string file = path("", ".json");
  const Result<Json> earlier = load_json(file);
  if (!earlier) return earlier.error();
  if (Status status = check_results(*earlier); !status.ok()) return std::move(status).error().with_context(file);
  if (const std::string other = difference(*earlier, head_); !other.empty())
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: measured under other conditions: {}; leave out --resume to begin anew", file, other)};
  for (const JsonView row : JsonView(*earlier)["rows"].items()) {
    if (row["status"].text() != to_string(RowStatus::kFailed)) rows_.push_back(row.json());
  }
  return {};
}

Status SavedResults::set_aside(std::vector<std::string>& notes) const {
  std::string number;
  for (int i = 1; number.empty() || base::exists(path(number, ".json")) || base::exists(path(number, ".md")); ++i)
    number = "-" + std::to_string(i);
  for (const char* ending : {".json", ".md"}) {
    std::error_code code;
    std::filesystem::rename(path("", ending), path(number, ending), code);
    if (code && code != std::errc::no_such_file_or_directory)
      return base::system_error("rename", path("", ending), code.value());
  }
  notes.push_back("results of an earlier run are kept as " + path(number, ".json"));
  return {};
}

bool SavedResults::has(std::string_view benchmark) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const Json& row) { return row["name"] == benchmark; });
}

Status SavedResults::write(const std::vector<std::string>& notes, int exit_code) {
  json_ = json_text(results_json(head_, rows_, notes, exit_code));
  const Result<std::string> markdown = results_markdown(json_);
  if (!markdown) return markdown.error();
  if (Status status = base::write_whole_file(path("", ".json"), json_); !status.ok()) return status;
  return base::write_whole_file(path("", ".md"), *markdown);
}

}  // namespace rangefinder::bench
