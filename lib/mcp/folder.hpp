// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::mcp {

/// An input below the folder.
struct FolderEntry {
  std::string path;  ///< relative to the folder
  std::string kind;  ///< "capture", "job", "trace", "export"
  std::uint64_t bytes = 0;
};

struct FolderList {
  std::vector<FolderEntry> entries;  ///< in order of path
  bool truncated = false;            ///< there are more
};

/// The one folder that a server reads from. A path leads below it by plain names: `..` and symbolic links are refused,
/// also inside of a folder that is read as a job.
///
/// A path is checked before the file is opened. Whoever may write into the folder could put a link there in between:
/// serve folders that only their owner writes.
class Folder {
 public:
  /// Errors: kNotFound; kInvalidArgument for what is no folder.
  static Result<Folder> open(const std::string& path);

  const std::string& root() const noexcept { return root_; }
  /// The file or folder that a path means: relative to the folder, or absolute and below it.
  ///
  /// Errors: kInvalidArgument for a path that leads outside or over a link, and for what is neither a file nor a
  /// folder;
  ///         kNotFound.
  Result<std::string> resolve(std::string_view path) const;
  /// Inputs in it and its subfolders, at most `most` of them.
  FolderList list(std::size_t most) const;
  /// The text without the name of the folder: what an answer says of files.
  std::string without_root(std::string text) const;

 private:
  explicit Folder(std::string root) : root_(std::move(root)) {}
  std::string root_;  // without links
};

}  // namespace rangefinder::mcp
