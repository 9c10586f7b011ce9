// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "capture/live_file.hpp"
#include "format/layout.hpp"
#include "importer/kineto/kineto_importer.hpp"
#include "importer/nsight/nsight_importer.hpp"
#include "timeline/capture_timeline.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace rangefinder {
namespace {

constexpr std::size_t kFirstBytes = 4096;

bool looks_like_capture(base::ByteView first) noexcept {
  const auto begins_with = [&](const std::array<char, 8>& magic) {
    return first.size() >= magic.size() && std::memcmp(first.data(), magic.data(), magic.size()) == 0;
  };
  return begins_with(format::kFileMagic) || begins_with(format::kLiveMagic);
}

Result<Timeline> load_folder(const std::string& path, const LoadOptions& options) {
  Result<std::vector<std::string>> files = base::list_files(path, ".rfcap");
  if (!files) return std::move(files).error();
  if (files->empty()) return Error(ErrorCode::kNotFound, path + ": a folder without captures (*.rfcap)");
  return timeline::load_captures(*files, options);
}

}  // namespace

Result<Timeline> load_timeline(const std::string& path, const LoadOptions& options) {
  if (base::is_directory(path)) return load_folder(path, options);
  if (base::is_special(path))
    return Error(ErrorCode::kUnreadable, path + ": no plain file; write its content to one first");
  Result<base::Fd> fd = base::open_for_reading(path);
  if (!fd) return std::move(fd).error();
  std::array<std::byte, kFirstBytes> buffer;
  Result<std::size_t> size = base::read_at(*fd, buffer, 0, path);
  if (!size) return std::move(size).error();
  const base::ByteView first(buffer.data(), *size);
  if (first.empty() && base::exists(path + ".live")) return timeline::load_captures({path}, options);
  if (first.empty()) return Error(ErrorCode::kUnreadable, path + ": the file is empty");
  if (looks_like_capture(first)) return timeline::load_captures({path}, options);
  if (importer::nsight::looks_like_sqlite(first)) return importer::nsight::import_nsight(path, options);
  if (importer::kineto::looks_like_kineto(first)) return importer::kineto::import_kineto(path, options);
  return Error(ErrorCode::kUnreadable, path +
                                           ": byte 0: neither a capture (.rfcap), nor a torch.profiler trace (.json, "
                                           ".json.gz), nor an Nsight SQLite export");
}

}  // namespace rangefinder
