// SPDX-License-Identifier: MIT
// Files that get their name when they may be seen.
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace rangefinder::base {
namespace {

std::string random_suffix() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
    bits = static_cast<std::uint64_t>(::getpid());
  std::string out = ".";
  for (int i = 0; i < 12; ++i, bits >>= 5) out += "abcdefghijklmnopqrstuvwxyz234567"[bits & 31];
  return out + ".tmp";
}

/// A device, a pipe or a link under the name of an output is left alone: as root, renaming a file over /dev/null breaks
/// the machine.
bool may_be_replaced(const std::string& path) noexcept {
  struct stat info {};
  return ::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

Error not_plain(const std::string& path) {
  return Error(ErrorCode::kExists, path + ": exists and is not a regular file; not replaced");
}

/// An empty file takes the name first. Whoever finds that file before it is locked may replace it: then the name is
/// theirs, and we have lost nothing.
int take_empty_name(const std::string& from, const std::string& to) noexcept {
  const Fd empty(::open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!empty.valid()) return errno;
  if (!lock_file(empty) || !has_name(empty, to)) return EEXIST;
  const int error = take_name(from, to);
  if (error != 0) ::unlink(to.c_str());
  return error;
}

Status replace(const std::string& from, const std::string& to, const Judge& judge, bool& again) {
  again = false;
  const Fd old = open_to_lock(to);
  if (!old.valid() && errno == ENOENT) return again = true, Status();
  if (!old.valid() && (errno == EINVAL || errno == ELOOP)) return not_plain(to);
  if (!old.valid()) return Error(ErrorCode::kExists, system_error("look at", to, errno).message());
  if (!lock_file(old)) return Error(ErrorCode::kBusy, to + ": another process is writing it");
  // From here on no other process replaces it. Whoever had its lock before may have done so.
  if (!has_name(old, to)) return again = true, Status();
  switch (judge(old)) {
    case Verdict::kTaken:
      return Error(ErrorCode::kBusy, to + ": belongs to another recording");
    case Verdict::kForeign:
      return Error(ErrorCode::kExists, to + ": exists already; not replaced");
    case Verdict::kReplace:
      break;
  }
  const int error = take_name(from, to);
  return error == 0 ? Status() : Status(system_error("replace", to, error));
}

}  // namespace

// ---- names ------------------------------------------------------------------------------------------------------

int take_name(const std::string& from, const std::string& to) noexcept {
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int take_free_name(const std::string& from, const std::string& to) noexcept {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno == EEXIST) return EEXIST;
  // File systems of a network do not know that, and others no hard links.
  if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()), 0;
  return errno == EEXIST ? EEXIST : take_empty_name(from, to);
}

Status claim_name(const std::string& from, const std::string& to, const Judge& judge) {
  // Each time around some process has got the name and given it up again.
  constexpr int kMaxTries = 1000;
  for (int i = 0; i < kMaxTries; ++i) {
    const int error = take_free_name(from, to);
    if (error == 0) return {};
    if (error != EEXIST) return system_error("create", to, error);
    bool again = false;
    if (Status status = replace(from, to, judge, again); !again) return status;
  }
  return Error(ErrorCode::kBusy, to + ": other processes keep creating and removing it");
}

// ---- a file without its name ------------------------------------------------------------------------------------

Result<TemporaryFile> TemporaryFile::create(const std::string& path) {
  TemporaryFile file;
  std::string temporary = path + random_suffix();
  file.fd_ = Fd(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.fd_.valid()) return system_error("create", path, errno);
  file.temporary_ = std::move(temporary);
  lock_file(file.fd_);
  return file;
}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(temporary_, other.temporary_);
  return *this;
}

TemporaryFile::~TemporaryFile() {
  if (fd_.valid() && !temporary_.empty()) ::unlink(temporary_.c_str());
}

int TemporaryFile::take_name(const std::string& path) noexcept {
  const int error = base::take_name(temporary_, path);
  if (error == 0) temporary_.clear();
  return error;
}

int TemporaryFile::take_free_name(const std::string& path) noexcept {
  const int error = base::take_free_name(temporary_, path);
  if (error == 0) temporary_.clear();
  return error;
}

Status TemporaryFile::claim_name(const std::string& path, const Judge& judge) {
  Status status = base::claim_name(temporary_, path, judge);
  if (status.ok()) temporary_.clear();
  return status;
}

// ---- output -----------------------------------------------------------------------------------------------------

Result<AtomicFile> AtomicFile::create(const std::string& path, bool replace) {
  if (!replace && exists(path))
    return Error(ErrorCode::kExists, path + ": exists already; choose another name" + std::string(kOrReplace));
  if (!may_be_replaced(path)) return not_plain(path);
  Result<TemporaryFile> file = TemporaryFile::create(path);
  if (!file) return std::move(file).error();
  return AtomicFile(std::move(*file), path, replace);
}

Status AtomicFile::write(ByteView bytes) {
  Status status = write_at(file_.fd(), bytes, size_, path_);
  if (status.ok()) size_ += bytes.size();
  return status;
}

Status AtomicFile::commit() {
  if (::fsync(file_.fd().get()) != 0 && errno != EINVAL && errno != EROFS) return system_error("sync", path_, errno);
  const int error = replace_ ? file_.take_name(path_) : file_.take_free_name(path_);
  if (error == EEXIST)
    return Error(ErrorCode::kExists, path_ + ": appeared while it was being written; nothing replaced");
  if (error != 0) return system_error("rename to", path_, error);
  file_.release();
  return {};
}

}  // namespace rangefinder::base
