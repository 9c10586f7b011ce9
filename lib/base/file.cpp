// SPDX-License-Identifier: MIT
#include "base/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace rangefinder::base {
namespace {

ErrorCode code_of(int error) noexcept {
  switch (error) {
    case ENOENT:
      return ErrorCode::kNotFound;
    case EEXIST:
      return ErrorCode::kExists;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

bool within_file_size_limit(std::uint64_t end) noexcept {
  struct rlimit limit {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() noexcept { return std::exchange(fd_, -1); }

void Fd::reset() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error system_error(std::string_view what, const std::string& path, int error) {
  char buffer[128];
  return Error(code_of(error), std::string(what) + " " + path + ": " + strerror_r(error, buffer, sizeof buffer) + " (" +
                                   std::to_string(error) + ")");
}

Result<Fd> open_for_reading(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return system_error("open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("open", path, errno);
  if (S_ISDIR(info.st_mode)) return Error(ErrorCode::kUnreadable, "open " + path + ": is a folder");
  return fd;
}

Result<std::uint64_t> file_size(const Fd& fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("stat", path, errno);
  return static_cast<std::uint64_t>(info.st_size);
}

Status write_at(const Fd& fd, ByteView bytes, std::uint64_t offset, const std::string& path) {
  if (!within_file_size_limit(offset + bytes.size())) return system_error("write", path, EFBIG);
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("write", path, n == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

namespace {

struct PlainFile {
  Fd fd;
  std::uint64_t size = 0;
};

/// Without O_NONBLOCK a pipe under that name would block until a process writes to it.
Result<PlainFile> open_plain(const std::string& path) {
  PlainFile file;
  file.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.fd.valid()) return system_error("open", path, errno);
  struct stat info {};
  if (::fstat(file.fd.get(), &info) != 0) return system_error("open", path, errno);
  if (S_ISDIR(info.st_mode)) return Error(ErrorCode::kUnreadable, "open " + path + ": is a folder");
  if (!S_ISREG(info.st_mode)) return Error(ErrorCode::kUnreadable, "open " + path + ": is no plain file");
  file.size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

}  // namespace

Result<std::size_t> read_at(const Fd& fd, std::span<std::byte> out, std::uint64_t offset, const std::string& path) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::pread(fd.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("read", path, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<Bytes> read_whole_file(const std::string& path, std::uint64_t limit) {
  Result<Fd> fd = open_for_reading(path);
  if (!fd) return std::move(fd).error();
  Bytes out;
  constexpr std::size_t kStep = std::size_t{1} << 20;
  // In order, and not by the size that stat gives: pipes cannot seek and say 0, as /proc does, and the file may be
  // growing.
  for (;;) {
    const std::size_t before = out.size();
    out.resize(before + kStep);
    const ssize_t n = ::read(fd->get(), out.data() + before, kStep);
    if (n < 0 && errno != EINTR) return system_error("read", path, errno);
    out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) return out;
    if (out.size() > limit)
      return Error(ErrorCode::kUnreadable,
                   "read " + path + ": larger than the limit of " + std::to_string(limit) + " bytes");
  }
}

Error became_shorter(const std::string& path, std::uint64_t from, std::uint64_t to) {
  return Error(ErrorCode::kUnreadable, path + ": became shorter while it was being read, from " + std::to_string(from) +
                                           " to " + std::to_string(to) + " bytes; read it again when it is whole");
}

Result<InputFile> InputFile::open(const std::string& path) {
  Result<PlainFile> file = open_plain(path);
  if (!file) return std::move(file).error();
  InputFile input;
  input.fd_ = std::move(file->fd);
  input.path_ = path;
  input.size_ = file->size;
  return input;
}

Result<ByteView> InputFile::read(std::uint64_t offset, std::size_t count) {
  if (offset >= size_) return ByteView{};
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - offset));
  const bool held =
      offset >= buffer_at_ && offset - buffer_at_ <= buffer_.size() && buffer_.size() - (offset - buffer_at_) >= count;
  if (!held)
    if (Status filled = fill(offset, count); !filled) return std::move(filled).error();
  return ByteView(buffer_).subspan(static_cast<std::size_t>(offset - buffer_at_), count);
}

/// Headers and small chunks stand beside each other: not less than a page at once.
Status InputFile::fill(std::uint64_t offset, std::size_t count) {
  constexpr std::uint64_t kLeast = 4096;
  const std::uint64_t wanted = std::min(std::max<std::uint64_t>(count, kLeast), size_ - offset);
  buffer_.resize(static_cast<std::size_t>(wanted));
  buffer_at_ = offset;
  Status status = read_into(offset, buffer_);
  if (!status) buffer_.clear();
  return status;
}

Status InputFile::read_into(std::uint64_t offset, std::span<std::byte> out) {
  const Result<std::size_t> got = read_at(fd_, out, offset, path_);
  if (!got) return got.error();
  if (*got == out.size()) return {};
  const Result<std::uint64_t> now = file_size(fd_, path_);
  // It may have grown again since.
  return became_shorter(path_, size_, now && *now < size_ ? *now : offset + *got);
}

Status write_whole_file(const std::string& path, std::string_view text) {
  Result<AtomicFile> file = AtomicFile::create(path, true);
  if (!file) return file.error();
  if (Status status = file->write(text); !status.ok()) return status.error();
  return file->commit();
}

bool lock_file(const Fd& fd) noexcept { return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

void unlock_file(const Fd& fd) noexcept { ::flock(fd.get(), LOCK_UN); }

Fd open_to_lock(const std::string& path) noexcept {
  // For writing: file systems of a network lock nothing else.
  constexpr int kFlags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return Fd();
  if (!S_ISREG(info.st_mode)) return errno = EINVAL, Fd();  // a device may do something as it is opened
  Fd fd(::open(path.c_str(), O_RDWR | kFlags));
  if (!fd.valid() && (errno == EACCES || errno == EPERM || errno == EROFS))
    fd = Fd(::open(path.c_str(), O_RDONLY | kFlags));
  return fd;
}

bool is_locked(const std::string& path) noexcept {
  const Fd fd = open_to_lock(path);
  return fd.valid() && !lock_file(fd);
}

bool has_name(const Fd& fd, const std::string& path) noexcept {
  struct stat opened {
  }, named{};
  return ::fstat(fd.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

bool remove_file(const Fd& fd, const std::string& path) noexcept {
  return has_name(fd, path) && ::unlink(path.c_str()) == 0;
}

std::int64_t written_ns(const Fd& fd) noexcept {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return 0;
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

bool exists(const std::string& path) noexcept {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool is_directory(const std::string& path) noexcept {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_special(const std::string& path) noexcept {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Result<std::vector<std::string>> list_files(const std::string& folder, std::string_view ending) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  if (dir == nullptr && errno == ENOMEM) throw std::bad_alloc();
  if (dir == nullptr) return system_error("open folder", folder, errno);
  std::vector<std::string> files;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() <= ending.size() || name.substr(name.size() - ending.size()) != ending) continue;
    std::string path = folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) files.push_back(std::move(path));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string_view file_name(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace rangefinder::base
