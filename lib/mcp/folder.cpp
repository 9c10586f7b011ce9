// SPDX-License-Identifier: MIT
#include "mcp/folder.hpp"

#include "base/text.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

namespace rangefinder::mcp {
namespace {

namespace fs = std::filesystem;

// A server over a home folder must still answer.
constexpr std::size_t kMostVisited = 100'000;
constexpr int kDeepest = 16;

Error refused(std::string_view path, std::string_view why) {
  return Error(ErrorCode::kInvalidArgument, base::printable(path) + ": refused: " + std::string(why));
}

bool ends_with(std::string_view name, std::string_view ending) noexcept { return name.ends_with(ending); }

/// Empty for what is no input by its name.
std::string_view kind_of(std::string_view name) noexcept {
  if (ends_with(name, ".rfcap")) return "capture";
  if (ends_with(name, ".json") || ends_with(name, ".json.gz")) return "trace";
  if (ends_with(name, ".sqlite") || ends_with(name, ".sqlite3")) return "export";
  return {};
}

/// Whether there is a link among what is read with that folder.
Result<bool> holds_link(const std::string& folder) {
  std::error_code error;
  std::size_t visited = 0;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (++visited > kMostVisited) return Error(ErrorCode::kTooLarge, "a folder with too many files to be checked");
    std::error_code unknown;
    if (at->is_symlink(unknown) || unknown) return true;
  }
  if (error) return Error(ErrorCode::kIo, "cannot be listed: " + error.message());
  return false;
}

/// The names of a path, without empty ones and ".".
Result<std::vector<std::string>> names_of(std::string_view path, std::string_view given) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name == "..") return refused(given, "\"..\" could lead outside of the folder that is served");
    if (!name.empty() && name != ".") names.emplace_back(name);
  }
  return names;
}

}  // namespace

Result<Folder> Folder::open(const std::string& path) {
  std::error_code error;
  const fs::path root = fs::canonical(path, error);
  if (error) return Error(ErrorCode::kNotFound, base::printable(path) + ": " + error.message());
  if (!fs::is_directory(root, error))
    return Error(ErrorCode::kInvalidArgument, base::printable(path) + ": not a folder");
  return Folder(root.string());
}

Result<std::string> Folder::resolve(std::string_view path) const {
  const std::string_view given = path;
  if (path.find('\0') != std::string_view::npos) return refused(given, "a zero byte");
  const std::string inside = root_ == "/" ? root_ : root_ + "/";
  if (path == root_) path = {};
  if (path.starts_with('/')) {
    if (!path.starts_with(inside)) return refused(given, "outside of the folder that is served");
    path.remove_prefix(inside.size());
  }
  const Result<std::vector<std::string>> names = names_of(path, given);
  if (!names) return names.error();
  std::string at = root_;
  struct stat found {};
  if (::lstat(at.c_str(), &found) != 0) return Error(ErrorCode::kNotFound, "the folder that is served is gone");
  for (const std::string& name : *names) {
    at += (at.ends_with('/') ? "" : "/") + name;
    if (::lstat(at.c_str(), &found) != 0)
      return Error(ErrorCode::kNotFound, base::printable(given) + ": " + std::system_category().message(errno));
    if (S_ISLNK(found.st_mode)) return refused(given, "a symbolic link");
  }
  if (!S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode)) return refused(given, "neither a file nor a folder");
  if (S_ISDIR(found.st_mode)) {
    const Result<bool> link = holds_link(at);
    if (!link) return link.error().with_context(base::printable(given));
    if (*link) return refused(given, "a folder that holds a symbolic link");
  }
  return at;
}

FolderList Folder::list(std::size_t most) const {
  FolderList list;
  std::map<std::string, std::size_t> captures;  // by folder
  std::error_code error;
  std::size_t visited = 0;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(root_, kOptions, error), end; !error && at != end; at.increment(error)) {
    if (++visited > kMostVisited) {
      list.truncated = true;
      break;
    }
    std::error_code unknown;
    if (at->is_symlink(unknown) || unknown) continue;
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    const std::string name = at->path().filename().string();
    const std::string_view kind = kind_of(name);
    if (kind.empty() || !at->is_regular_file(unknown) || unknown) continue;
    const std::string relative = at->path().lexically_relative(root_).string();
    if (kind == "capture") ++captures[at->path().parent_path().lexically_relative(root_).string()];
    const std::uintmax_t bytes = at->file_size(unknown);
    list.entries.push_back({relative, std::string(kind), unknown ? 0 : static_cast<std::uint64_t>(bytes)});
  }
  for (const auto& [folder, count] : captures)
    if (count > 1) list.entries.push_back({folder, "job", 0});
  std::sort(list.entries.begin(), list.entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.path < b.path; });
  if (list.entries.size() > most) {
    list.entries.resize(most);
    list.truncated = true;
  }
  return list;
}

std::string Folder::without_root(std::string text) const {
  const std::string inside = root_ + "/";
  for (std::size_t at = 0; root_ != "/" && (at = text.find(inside, at)) != std::string::npos;)
    text.erase(at, inside.size());
  return text;
}

}  // namespace rangefinder::mcp
