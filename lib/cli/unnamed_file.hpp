// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace rangefinder::cli {

/// A file that no folder lists: it is gone when the process ends, however that happens.
struct UnnamedFile {
  base::Fd fd;
  std::uint64_t bytes = 0;
};

/// What `write` writes to the output that it is given. The file lies in TMPDIR, or in memory where that has no such
/// files.
///
///   Result<UnnamedFile> page = write_unnamed([&](const std::string& output) { return export_html(input, output); });
///
/// Errors: of `write`; kIo, the disk is full.
/// Note:   SIGPIPE must be ignored: it comes when the disk is full.
Result<UnnamedFile> write_unnamed(const std::function<Status(const std::string& output)>& write);

}  // namespace rangefinder::cli
