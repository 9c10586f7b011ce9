// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "base/record_id.hpp"
#include "format/layout.hpp"

#include <rangefinder/result.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace rangefinder::session {

/// The `rangefinder record` that this process runs under, by its environment; none elsewhere. Without an id where
/// somebody else has set RANGEFINDER_RECORD.
std::optional<base::RecordId> record_of_environment() noexcept;

/// Which names a recording may take, and which files it may replace.
///
/// Nothing is replaced but empty files, captures, and live files of captures; none whose process still records to it;
/// and none that another process has written since this one began: of processes that were started together with one
/// output, each has a capture. Under `rangefinder record`: none that was written since the command began.
struct OutputRules {
  bool replace = true;                     ///< false: no file, but for those of an earlier `rangefinder record`
  bool has_live = true;                    ///< the recording has a live file
  std::optional<base::RecordId> record{};  ///< whose processes share the output; none: the name is this session's
  bool names_process = false;              ///< each process or rank is told another name
};

/// A capture's file. No other process takes its name until it is let go.
class OutputFile {
 public:
  OutputFile(std::string path, base::Fd fd) noexcept : path_(std::move(path)), fd_(std::move(fd)) {}
  ~OutputFile() { let_go(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  const base::Fd& fd() const noexcept { return fd_; }
  bool has_name(const std::string& path) const noexcept { return base::has_name(fd_, path); }
  void remove() noexcept { base::remove_file(fd_, path_); }
  void let_go() noexcept;

 private:
  std::string path_;
  base::Fd fd_;
};

enum class FirstBytes : std::uint8_t { kHeader, kNone };
/// Takes the name that was asked for; where that is taken, with the number of the process, and then one of its own,
/// before the ending. The file holds the header, or nothing: a flight recorder's is written at the end.
/// Errors: kExists: a file of that name, or the live file's, may not be replaced.
Result<std::shared_ptr<OutputFile>> claim_output(const std::string& asked, const OutputRules& rules,
                                                 const format::FileHeader& header,
                                                 FirstBytes first = FirstBytes::kHeader);

/// Gives a dump of a flight recorder the name that its caller has chosen.
Status claim_dump(base::TemporaryFile& dump, const std::string& path, const OutputRules& rules);
/// Gives it the first name with a number that it may have; `next` is the number of the next one.
Result<std::string> claim_next_dump(base::TemporaryFile& dump, const std::string& output, const OutputRules& rules,
                                    std::atomic<std::uint64_t>& next);

}  // namespace rangefinder::session
