// SPDX-License-Identifier: MIT
#include "compare/load_runs.hpp"

#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "compare/baseline_file.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace rangefinder::compare {
namespace {

struct LoadedRun {
  Run run;
  std::vector<std::int32_t> ranks;  // of its processes
};

Result<LoadedRun> load_one(const std::string& path, const LoadOptions& load, const RunOptions& options) {
  Result<Timeline> timeline = load_timeline(path, load);
  if (!timeline) return std::move(timeline).error();
  (void)split_graph_launches(*timeline, options.projection);
  LoadedRun loaded{figures_of(*timeline, options), {}};
  loaded.run.name = path;
  for (const ProcessInfo& process : timeline->processes) loaded.ranks.push_back(process.rank);
  return loaded;
}

/// Recordings of a folder, in order; of captures their live files belong to them.
Result<std::vector<std::string>> recordings_in(const std::string& folder) {
  for (const std::vector<std::string_view>& endings :
       {std::vector<std::string_view>{".rfcap"}, {".json", ".json.gz", ".sqlite"}}) {
    std::vector<std::string> found;
    for (const std::string_view ending : endings) {
      Result<std::vector<std::string>> files = base::list_files(folder, ending);
      if (!files) return std::move(files).error();
      found.insert(found.end(), files->begin(), files->end());
    }
    std::sort(found.begin(), found.end());
    if (!found.empty()) return found;
  }
  return std::vector<std::string>();
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> folders;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code ignored; entry->is_directory(ignored)) folders.push_back(entry->path().string());
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// Whether each is of another rank of a job; false where one of them does not say.
bool are_ranks(const std::vector<std::int32_t>& ranks) {
  const std::set<std::int32_t> distinct(ranks.begin(), ranks.end());
  return ranks.size() > 1 && distinct.size() == ranks.size() && *distinct.begin() >= 0;
}

/// Captures tell their ranks before they are read whole.
bool are_captures_of_ranks(const std::vector<std::string>& files) {
  std::vector<std::int32_t> ranks;
  for (const std::string& file : files) {
    const Result<capture::CaptureReader> reader = capture::CaptureReader::open(file);
    if (!reader) return false;
    const std::string rank(reader->metadata("rank"));
    const bool is_number =
        !rank.empty() && rank.size() < 9 && rank.find_first_not_of("0123456789") == std::string::npos;
    ranks.push_back(is_number ? std::stoi(rank) : -1);
  }
  return are_ranks(ranks);
}

Result<std::vector<Run>> load_each(const std::vector<std::string>& paths, const LoadOptions& load,
                                   const RunOptions& options, std::vector<std::int32_t>* ranks) {
  std::vector<Run> runs;
  for (const std::string& path : paths) {
    Result<LoadedRun> loaded = load_one(path, load, options);
    if (!loaded) return std::move(loaded).error();
    if (ranks != nullptr) ranks->insert(ranks->end(), loaded->ranks.begin(), loaded->ranks.end());
    runs.push_back(std::move(loaded->run));
  }
  return runs;
}

}  // namespace

Result<std::vector<Run>> load_runs(const std::string& path, const LoadOptions& load, const RunOptions& options) {
  if (is_baseline_file(path))
    return read_baseline_file(path, load.max_memory_bytes != 0 ? load.max_memory_bytes : default_max_memory());
  if (!base::is_directory(path)) return load_each({path}, load, options, nullptr);
  Result<std::vector<std::string>> files = recordings_in(path);
  if (!files) return std::move(files).error();
  if (files->empty()) {
    const std::vector<std::string> folders = folders_in(path);
    // Without any, loading the folder says what is missing.
    return load_each(folders.empty() ? std::vector<std::string>{path} : folders, load, options, nullptr);
  }
  if (files->size() > 1 && are_captures_of_ranks(*files)) return load_each({path}, load, options, nullptr);
  std::vector<std::int32_t> ranks;
  Result<std::vector<Run>> runs = load_each(*files, load, options, &ranks);
  if (!runs || !are_ranks(ranks)) return runs;
  return load_each({path}, load, options, nullptr);
}

}  // namespace rangefinder::compare
