// SPDX-License-Identifier: MIT
#include "base/sparse.hpp"

#include "base/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rangefinder::base {
namespace {

constexpr std::size_t kPart = 4096;  // blocks of common file systems

bool is_zero(const char* bytes, std::size_t size) noexcept {
  return size != 0 && bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

}  // namespace

void make_sparse(const std::string& path) noexcept {
  const Fd fd = open_to_lock(path);
  if (!fd.valid() || !lock_file(fd)) return;
  char part[kPart];
  std::uint64_t zeros_from = 0, at = 0;
  const auto punch = [&] {
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    return at == zeros_from ||
           ::fallocate(fd.get(), mode, static_cast<off_t>(zeros_from), static_cast<off_t>(at - zeros_from)) == 0;
  };
  for (;;) {
    const ssize_t size = ::pread(fd.get(), part, sizeof part, static_cast<off_t>(at));
    if (size <= 0) break;
    const bool is_hole = size == ssize_t{kPart} && is_zero(part, kPart);
    if (!is_hole && !punch()) return;
    at += static_cast<std::uint64_t>(size);
    if (!is_hole) zeros_from = at;
  }
  (void)punch();
}

}  // namespace rangefinder::base
