// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rangefinder::base {

/// Gives back the disk space of those parts of a file that hold nothing but zeros; its content and size stay as they
/// are. Leaves a file alone that a process holds the lock of, and does nothing where the file system has no holes.
void make_sparse(const std::string& path) noexcept;

}  // namespace rangefinder::base
