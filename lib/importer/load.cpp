// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "format/chunk.hpp"
#include "format/layout.hpp"
#include "importer/capture/load_captures.hpp"
#include "importer/kineto/kineto_importer.hpp"
#include "importer/load_traces.hpp"
#include "importer/nsight/nsight_importer.hpp"
#include "importer/nsight/sqlite_database.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder {
namespace {

constexpr std::size_t kFirstBytes = 4096;

bool looks_like_capture(base::ByteView first) noexcept {
  const auto begins_with = [&](const std::array<char, 8>& magic) {
    return first.size() >= magic.size() && std::memcmp(first.data(), magic.data(), magic.size()) == 0;
  };
  return begins_with(format::kFileMagic) || begins_with(format::kLiveMagic);
}

/// Of a process that was killed before it wrote anything. Where there is a live file, that is what is read.
void leave_out_empty(std::vector<std::string>& files, std::vector<std::string>& notes) {
  std::erase_if(files, [&](const std::string& path) {
    const Result<base::Fd> fd = base::open_for_reading(path);
    const Result<std::uint64_t> size = fd ? base::file_size(*fd, path) : Result<std::uint64_t>(fd.error());
    const bool is_empty = size && *size == 0 && !base::exists(path + ".live");
    if (is_empty) notes.push_back(path + ": empty; left out");
    return is_empty;
  });
}

/// The id of a flight recorder; nothing where it is something else, or cannot be read.
std::optional<format::CaptureId> flight_recorder(const std::string& path) {
  const Result<base::Fd> fd = base::open_for_reading(path);
  if (!fd) return std::nullopt;
  std::array<std::byte, sizeof(format::FileHeader)> bytes;
  const Result<std::size_t> size = base::read_at(*fd, bytes, 0, path);
  if (size && *size == 0) {
    const Result<capture::CaptureReader> live = capture::CaptureReader::open(path);
    return live ? std::optional(live->header().capture_id) : std::nullopt;
  }
  if (!size || *size != bytes.size() || !looks_like_capture(bytes)) return std::nullopt;
  const Result<format::FileHeader> header = format::read_file_header(bytes);
  if (!header || (header->flags & format::kFlagRing) == 0) return std::nullopt;
  return header->capture_id;
}

std::uint64_t last_ticks(const std::string& path) {
  const Result<capture::CaptureReader> reader = capture::CaptureReader::open(path);
  std::uint64_t last = 0;
  if (!reader) return last;
  if (!reader->live_events().empty()) return std::numeric_limits<std::uint64_t>::max();
  for (const capture::ChunkEntry& chunk : reader->chunks()) {
    if (static_cast<format::ChunkKind>(chunk.header.kind) == format::ChunkKind::kHostEvents)
      last = std::max(last, chunk.header.last);
  }
  return last;
}

/// Dumps of one flight recorder hold the same records, in part: of those the newest is read.
void leave_out_earlier_dumps(std::vector<std::string>& files, std::vector<std::string>& notes) {
  std::map<format::CaptureId, std::vector<std::string>> recordings;
  for (const std::string& path : files) {
    if (const auto found = flight_recorder(path)) recordings[*found].push_back(path);
  }
  for (auto& recording : recordings) {
    std::vector<std::string>& dumps = recording.second;
    if (dumps.size() == 1) continue;
    const auto newest = std::max_element(dumps.begin(), dumps.end(), [](const std::string& a, const std::string& b) {
      return last_ticks(a) < last_ticks(b);
    });
    const std::string kept = *newest;
    dumps.erase(newest);
    std::erase_if(files, [&](const auto& path) { return std::find(dumps.begin(), dumps.end(), path) != dumps.end(); });
    notes.push_back(kept + ": of this flight recorder " + std::to_string(dumps.size()) + " earlier dump(s) left out, " +
                    dumps.front() + (dumps.size() > 1 ? " ..." : "") + "; each opens by itself");
  }
}

enum class Kind : std::uint8_t { kCapture, kNsight, kKineto, kEmpty, kOther };

Result<Kind> kind_of(const std::string& path) {
  if (base::is_special(path))
    return Error(ErrorCode::kUnreadable, path + ": no plain file; write its content to one first");
  Result<base::Fd> fd = base::open_for_reading(path);
  if (!fd) return std::move(fd).error();
  std::array<std::byte, kFirstBytes> buffer;
  Result<std::size_t> size = base::read_at(*fd, buffer, 0, path);
  if (!size) return std::move(size).error();
  const base::ByteView first(buffer.data(), *size);
  if (first.empty()) return base::exists(path + ".live") ? Kind::kCapture : Kind::kEmpty;
  if (looks_like_capture(first)) return Kind::kCapture;
  if (importer::nsight::looks_like_sqlite(first)) return Kind::kNsight;
  return importer::kineto::looks_like_kineto(first) ? Kind::kKineto : Kind::kOther;
}

Result<Timeline> load_all(std::vector<std::string> files, const std::string& all, const LoadOptions& options) {
  std::vector<std::string> notes;
  leave_out_empty(files, notes);
  leave_out_earlier_dumps(files, notes);
  if (files.empty()) return Error(ErrorCode::kUnreadable, all + ": all captures in it are empty");
  Result<Timeline> timeline = importer::load_captures(files, options);
  if (timeline) timeline->notes.insert(timeline->notes.begin(), notes.begin(), notes.end());
  return timeline;
}

/// Ranks of a job each write a trace of torch.profiler.
Result<Timeline> load_folder_of_traces(const std::string& path, const LoadOptions& options) {
  std::vector<std::string> traces;
  for (const char* ending : {".json", ".json.gz", ".sqlite"}) {
    Result<std::vector<std::string>> files = base::list_files(path, ending);
    if (!files) return std::move(files).error();
    traces.insert(traces.end(), files->begin(), files->end());
  }
  if (traces.empty()) return Error(ErrorCode::kNotFound, path + ": a folder without captures (*.rfcap) or traces");
  std::sort(traces.begin(), traces.end());
  return load_job(traces, options);
}

Result<Timeline> load_folder(const std::string& path, const LoadOptions& options) {
  Result<std::vector<std::string>> files = base::list_files(path, ".rfcap");
  if (!files) return std::move(files).error();
  return files->empty() ? load_folder_of_traces(path, options) : load_all(std::move(*files), path, options);
}

/// The captures or traces of one of several inputs of a job, which are all of one kind.
struct JobFiles {
  std::vector<std::string> files;
  Kind kind;
};
Result<JobFiles> files_of(const std::string& path) {
  if (base::is_directory(path)) {
    Result<std::vector<std::string>> files = base::list_files(path, ".rfcap");
    if (files && files->empty()) return Error(ErrorCode::kNotFound, path + ": a folder without captures (*.rfcap)");
    if (!files) return std::move(files).error();
    return JobFiles{std::move(*files), Kind::kCapture};
  }
  const Result<Kind> kind = kind_of(path);
  if (!kind) return kind.error();
  if (*kind != Kind::kCapture && *kind != Kind::kEmpty && *kind != Kind::kKineto)
    return Error(ErrorCode::kUnsupported, path +
                                              ": neither a capture (.rfcap) nor a torch.profiler trace; only those are "
                                              "read together, Nsight exports one at a time");
  return JobFiles{{path}, *kind == Kind::kEmpty ? Kind::kCapture : *kind};
}

}  // namespace

Result<Timeline> load_timeline(const std::string& path, const LoadOptions& options) {
  if (base::is_directory(path)) return load_folder(path, options);
  const Result<Kind> kind = kind_of(path);
  if (!kind) return kind.error();
  switch (*kind) {
    case Kind::kCapture:
      return importer::load_captures({path}, options);
    case Kind::kNsight:
      return importer::nsight::import_nsight(path, options);
    case Kind::kKineto:
      return importer::kineto::import_kineto(path, options);
    case Kind::kEmpty:
      return Error(ErrorCode::kUnreadable, path + ": the file is empty");
    case Kind::kOther:
      break;
  }
  return Error(ErrorCode::kUnreadable, path +
                                           ": byte 0: neither a capture (.rfcap), nor a torch.profiler trace (.json, "
                                           ".json.gz), nor an Nsight SQLite export");
}

Result<Timeline> load_job(const std::vector<std::string>& paths, const LoadOptions& options) {
  if (paths.empty()) return Error(ErrorCode::kInvalidArgument, "no file to read");
  if (paths.size() == 1) return load_timeline(paths.front(), options);
  std::vector<std::string> files;
  std::set<std::string> known;
  std::optional<Kind> kind;
  for (const std::string& path : paths) {
    Result<JobFiles> found = files_of(path);
    if (!found) return std::move(found).error();
    if (kind && *kind != found->kind)
      return Error(ErrorCode::kUnsupported,
                   path + ": captures (.rfcap) and torch.profiler traces are not read together; name one kind");
    kind = found->kind;
    for (std::string& file : found->files) {
      std::error_code ignored;
      if (!known.insert(std::filesystem::canonical(file, ignored).string()).second)
        return Error(ErrorCode::kInvalidArgument, file + ": given twice");
      files.push_back(std::move(file));
    }
  }
  return *kind == Kind::kKineto ? importer::load_traces(files, options)
                                : load_all(std::move(files), paths.front() + " ...", options);
}

}  // namespace rangefinder
