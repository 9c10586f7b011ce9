// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "importer/nsight/nsight_importer.hpp"
#include "support/scratch_folder.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

struct sqlite3;

namespace rangefinder::testing {

/// An SQLite file in Nsight's layout, in memory. One process, 1000, on virtual machine 1.
class NsightFile {
 public:
  enum class Tables { kNone, kAll };
  explicit NsightFile(Tables tables = Tables::kAll);
  ~NsightFile();
  NsightFile(const NsightFile&) = delete;
  NsightFile& operator=(const NsightFile&) = delete;

  /// Any statements; a mistake in them throws.
  NsightFile& run(const std::string& sql);
  /// The id of a text in StringIds.
  std::int64_t string(std::string_view text);

  /// An NVTX push/pop range, or another event type.
  NsightFile& range(std::string_view name, std::int64_t start, std::int64_t end, int tid = 1000, int type = 59);
  /// A runtime call and the kernel that it launched.
  NsightFile& launch(std::string_view kernel, std::int64_t call_start, std::int64_t call_end, std::int64_t start,
                     std::int64_t end, int correlation, int tid = 1000);

  base::Bytes image() const;
  Result<Timeline> import(const LoadOptions& options = {}) const {
    return importer::nsight::import_nsight_image(image(), options);
  }

  static constexpr std::int64_t kGlobalPid = (std::int64_t{1} << 48) | (std::int64_t{1000} << 24);

 private:
  sqlite3* handle_ = nullptr;
  std::map<std::string, std::int64_t, std::less<>> strings_;
};

/// True when one of the timeline's notes contains `text`.
bool has_note(const Timeline& timeline, std::string_view text);

/// A file in a fresh folder of its own, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, base::ByteView content);
  const std::string& path() const noexcept { return path_; }
  const std::string& folder() const noexcept { return folder_.path(); }

 private:
  ScratchFolder folder_;
  std::string path_;
};

}  // namespace rangefinder::testing
