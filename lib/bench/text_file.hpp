// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"

#include <rangefinder/result.hpp>

#include <string>
#include <string_view>

namespace rangefinder::bench {

/// The file appears whole or not at all, in the place of an earlier one.
inline Status write_text(const std::string& path, std::string_view text) {
  Result<base::AtomicFile> file = base::AtomicFile::create(path, true);
  if (!file) return file.error();
  if (Status status = file->write(text); !status.ok()) return status.error();
  return file->commit();
}

}  // namespace rangefinder::bench
