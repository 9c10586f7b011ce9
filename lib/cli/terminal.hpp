// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::cli {

/// Exit codes of every verb (docs/reference/cli.md).
enum ExitCode : int {
  kSuccess = 0,
  kFindings = 1,    ///< a check found something, as grep and diff do
  kUsage = 2,       ///< wrong use, or input that cannot be read
  kIncomplete = 3,  ///< readable but incomplete, only with --strict
  kUndecided = 4,   ///< gate: the data do not decide
  kInternal = 70,
};

enum class When : std::uint8_t { kAuto, kAlways, kNever };

/// What is at the other end of stdout and stderr.
struct Terminal {
  bool stdout_is_tty = false;
  bool stderr_is_tty = false;
  bool utf8 = false;
  std::size_t width = 0;  ///< of stdout; 0 when it is no terminal

  static Terminal detect();
  /// NO_COLOR (any non-empty value) and a stdout that is no terminal turn colour off, unless asked for.
  bool colour(When when) const;
};

/// Prints `rangefinder: message` to stderr.
void complain(std::string_view message);

/// Shows how far a long read has come, on a terminal's stderr, after half a second; erased when done.
class Progress {
 public:
  Progress(const Terminal& terminal, bool wanted, std::string_view what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows how far the work with these options comes: LoadOptions, or those of an export. `this` must outlive the work.
  template <typename Options>
  void watch(Options& options) noexcept {
    if constexpr (requires { options.progress = update; })
      options.progress = update;
    else
      options.progress = update_and_go_on;
    options.progress_user = this;
  }

  /// `total` 0: not known.
  void show(std::uint64_t done, std::uint64_t total);

 private:
  static void update(void* self, std::uint64_t done, std::uint64_t total);
  /// For exports, which go on where it returns true.
  static bool update_and_go_on(void* self, std::uint64_t done, std::uint64_t total);

  bool wanted_;
  bool shown_ = false;
  std::string what_;
  std::int64_t begin_ns_ = 0;
  std::int64_t last_ns_ = 0;
};

}  // namespace rangefinder::cli
