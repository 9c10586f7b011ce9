// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::base {

/// A file descriptor that closes itself. All files are opened close-on-exec.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }
  int release() noexcept;
  void reset() noexcept;

 private:
  int fd_ = -1;
};

/// "write a.rfcap: No space left on device (28)".
Error system_error(std::string_view what, const std::string& path, int error);

Result<Fd> open_for_reading(const std::string& path);
Result<std::uint64_t> file_size(const Fd& fd, const std::string& path);

/// False where the system would refuse to let a file grow to that size (RLIMIT_FSIZE), and end the program for the
/// attempt: SIGXFSZ.
bool within_file_size_limit(std::uint64_t end) noexcept;

/// Writes all of it at `offset`, whatever signals and short writes come in between.
Status write_at(const Fd& fd, ByteView bytes, std::uint64_t offset, const std::string& path);
/// Reads up to `out.size()` bytes at `offset`; fewer only at the end of the file.
Result<std::size_t> read_at(const Fd& fd, std::span<std::byte> out, std::uint64_t offset, const std::string& path);

/// The whole file. Refuses directories and anything past `limit` bytes.
Result<Bytes> read_whole_file(const std::string& path, std::uint64_t limit);

/// A plain file of the size that it had when it was opened, read in pieces. Unlike a mapping, it survives that the file
/// is cut short meanwhile. Used by one thread at a time.
class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);

  std::uint64_t size() const noexcept { return size_; }
  const std::string& path() const noexcept { return path_; }
  /// `count` bytes at `offset`, or those up to size(). Valid until the next call. kUnreadable where the file became
  /// shorter.
  Result<ByteView> read(std::uint64_t offset, std::size_t count);
  /// Fills `out` with the bytes from `offset` on, without a copy in between. kUnreadable where there are not so many.
  Status read_into(std::uint64_t offset, std::span<std::byte> out);

 private:
  Status fill(std::uint64_t offset, std::size_t count);

  Fd fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  Bytes buffer_;
  std::uint64_t buffer_at_ = 0;
};

/// "a.rfcap: became shorter while it was being read, from 4096 to 100 bytes".
Error became_shorter(const std::string& path, std::uint64_t from, std::uint64_t to);

/// How a message ends that refuses to replace a file, in the words of the library's options.
inline constexpr std::string_view kOrReplace = ", or set `replace`";

// These give a file another name on its file system. The first two give 0 or an errno.
int take_free_name(const std::string& from, const std::string& to) noexcept;  ///< EEXIST where a file has it
int take_name(const std::string& from, const std::string& to) noexcept;       ///< in the place of whatever has it

/// What becomes of a file that has the name that another is to have.
enum class Verdict : std::uint8_t {
  kReplace,  ///< the other takes its place
  kTaken,    ///< it stays: kBusy
  kForeign,  ///< it stays: kExists
};
using Judge = std::function<Verdict(const Fd& old)>;

/// Gives it a name that is free, or whose file may go, as `judge` says. The lock of that file is held meanwhile, so
/// that one of many processes replaces it, and none that is being written goes. A process that has the old file open
/// keeps it whole. Errors: kBusy: a process holds the lock of the old file, or kTaken; kExists: kForeign, no plain
/// file, or one that cannot be read; kIo.
Status claim_name(const std::string& from, const std::string& to, const Judge& judge);

/// A new file (0600) under a random name beside the one that it is to have. This process holds its lock: no process
/// ever sees it under its own name unlocked, or without what was written before it got that. The destructor removes a
/// file that has not got its name.
class TemporaryFile {
 public:
  /// Beside `path`.
  static Result<TemporaryFile> create(const std::string& path);
  TemporaryFile(TemporaryFile&&) noexcept = default;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;
  ~TemporaryFile();

  const Fd& fd() const noexcept { return fd_; }
  /// The open file, which has its name.
  Fd release() noexcept { return std::move(fd_); }

  // As the functions below, from its temporary name.
  int take_free_name(const std::string& path) noexcept;
  int take_name(const std::string& path) noexcept;
  Status claim_name(const std::string& path, const Judge& judge);

 private:
  TemporaryFile() = default;

  Fd fd_;
  std::string temporary_;  // empty once it has its name
};

/// Output that appears under its name only when it is whole: synced and renamed by `commit()`; removed by the
/// destructor otherwise. Never follows a link, never reuses a predictable name, and never replaces what is no plain
/// file.
class AtomicFile {
 public:
  /// `replace` false: an existing file is an error (kExists), checked now and again at commit.
  static Result<AtomicFile> create(const std::string& path, bool replace);

  Status write(ByteView bytes);
  Status write(std::string_view text) { return write(as_bytes(text)); }
  Status commit();
  std::uint64_t size() const noexcept { return size_; }
  /// For what writes by itself; size() does not count that.
  const Fd& fd() const noexcept { return file_.fd(); }

 private:
  AtomicFile(TemporaryFile file, std::string path, bool replace) noexcept
      : file_(std::move(file)), path_(std::move(path)), replace_(replace) {}

  TemporaryFile file_;
  std::string path_;
  std::uint64_t size_ = 0;
  bool replace_ = false;
};

/// The text as a file, in the place of an earlier one; whole or not at all, as AtomicFile does it.
Status write_whole_file(const std::string& path, std::string_view text);

/// Marks a file as being written by this process, until `fd` is closed here and in all children of fork, or unlocked.
/// False where another process has marked it. Best effort: file systems without locks say yes.
bool lock_file(const Fd& fd) noexcept;
void unlock_file(const Fd& fd) noexcept;
/// Opens a plain file for its lock; no link. Not valid where there is none, or it cannot be opened: errno says why.
Fd open_to_lock(const std::string& path) noexcept;
/// A process holds the lock of that file.
bool is_locked(const std::string& path) noexcept;
/// Whether the open file is the one that has that name.
bool has_name(const Fd& fd, const std::string& path) noexcept;
/// Removes the open file if it is the one that has that name.
bool remove_file(const Fd& fd, const std::string& path) noexcept;

/// When it was last written, CLOCK_REALTIME as the file system counts it; 0: not known.
std::int64_t written_ns(const Fd& fd) noexcept;

bool exists(const std::string& path) noexcept;
bool is_directory(const std::string& path) noexcept;
/// There, and a pipe, socket or device: opening it may block, and it cannot be read twice.
bool is_special(const std::string& path) noexcept;
/// Plain files of a folder with that ending, sorted by name, with the folder in front. Throws std::bad_alloc.
Result<std::vector<std::string>> list_files(const std::string& folder, std::string_view ending);
/// The part after the last slash.
std::string_view file_name(std::string_view path) noexcept;

}  // namespace rangefinder::base
