// SPDX-License-Identifier: MIT
#include "cli/unnamed_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace rangefinder::cli {
namespace {

base::Fd create() noexcept {
  const char* const folder = std::getenv("TMPDIR");
  const char* const wanted = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  base::Fd fd(::open(wanted, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  return fd.valid() ? std::move(fd) : base::Fd(::memfd_create("rangefinder", MFD_CLOEXEC));
}

/// Moves what comes out of the pipe into the file, until every writer has closed it. What could not be written ends the
/// writer: the pipe has no reader any more.
std::optional<Error> copy(base::Fd pipe, UnnamedFile& file) {
  std::array<std::byte, std::size_t{64} << 10> piece;
  while (true) {
    const ssize_t got = ::read(pipe.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::system_error("read", "pipe", errno);
    if (got == 0) return std::nullopt;
    const std::span<const std::byte> bytes(piece.data(), static_cast<std::size_t>(got));
    if (Status status = base::write_at(file.fd, bytes, file.bytes, "temporary file"); !status.ok())
      return std::move(status).error();
    file.bytes += bytes.size();
  }
}

}  // namespace

Result<UnnamedFile> write_unnamed(const std::function<Status(const std::string& output)>& write) {
  UnnamedFile file{create(), 0};
  if (!file.fd.valid()) return base::system_error("create", "temporary file", errno);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::system_error("pipe", "", errno);
  base::Fd from(ends[0]), to(ends[1]);
  std::optional<Error> failed;
  std::thread copier([&] { failed = copy(std::move(from), file); });
  // Exports write to what is no regular file as it is.
  Status status = write("/proc/self/fd/" + std::to_string(to.get()));
  to.reset();
  copier.join();
  if (failed) return *failed;
  if (!status.ok()) return std::move(status).error();
  return file;
}

}  // namespace rangefinder::cli
