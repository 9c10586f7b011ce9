// SPDX-License-Identifier: MIT
#include "trace_text.hpp"

#include "base/file.hpp"
#include "importer/kineto/gzip_source.hpp"

#include <utility>
#include <vector>

namespace rangefinder::bench {

Status read_trace_text(const std::string& path, std::string* into) {
  namespace kineto = importer::kineto;
  Result<base::Fd> fd = base::open_for_reading(path);
  if (!fd) return fd.error();
  const Result<std::uint64_t> size = base::file_size(*fd, path);
  if (!size) return size.error();
  kineto::FileSource file(std::move(*fd), path, *size);
  kineto::PeekedSource peeked(file);
  kineto::GzipSource unpacked(peeked);
  kineto::ByteSource& source =
      kineto::is_gzip(peeked.first_bytes()) ? static_cast<kineto::ByteSource&>(unpacked) : peeked;
  std::vector<char> buffer(std::size_t{256} << 10);
  while (const std::size_t count = source.read(buffer)) {
    if (into != nullptr) into->append(buffer.data(), count);
  }
  const std::string reason = source.end().reason;
  return reason.empty() ? Status() : Error(ErrorCode::kUnreadable, path + ": " + reason);
}

}  // namespace rangefinder::bench
