// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::base {

/// A file descriptor that closes itself. Every file of ours is opened close-on-exec.
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

/// The bytes of a plain file, mapped read-only; empty files map to an empty view. A file that is cut short while it is
/// mapped ends the program with SIGBUS at the next look at what is gone, as with every reader that maps.
class MappedInput {
 public:
  static Result<MappedInput> open(const std::string& path);
  MappedInput() = default;
  MappedInput(MappedInput&& other) noexcept;
  MappedInput& operator=(MappedInput&& other) noexcept;
  ~MappedInput();

  ByteView bytes() const noexcept { return {static_cast<const std::byte*>(data_), size_}; }
  /// Tells the kernel that the first `count` bytes will not be read again, so that reading a file larger than memory
  /// does not fill it.
  void forget_front(std::size_t count) const noexcept;

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// How a message ends that refuses to replace a file, in the words of the library's options.
inline constexpr std::string_view kOrReplace = ", or set `replace`";

/// Output that appears under its name only when it is whole: written to a temporary file in the same folder, synced and
/// renamed by `commit()`; removed by the destructor otherwise. Never follows a link, never reuses a predictable name,
/// and never replaces what is no plain file.
class AtomicFile {
 public:
  /// `replace` false: an existing file is an error (kExists), checked now and again at commit.
  static Result<AtomicFile> create(const std::string& path, bool replace);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Status write(ByteView bytes);
  Status write(std::string_view text) { return write(as_bytes(text)); }
  Status commit();
  std::uint64_t size() const noexcept { return size_; }

 private:
  AtomicFile() = default;

  Fd fd_;
  std::string path_;
  std::string temporary_;
  std::uint64_t size_ = 0;
  bool replace_ = false;
};

/// The text as a file, in the place of an earlier one; whole or not at all, as AtomicFile does it.
Status write_whole_file(const std::string& path, std::string_view text);

/// Marks a file as being written by this process, until `fd` is closed here and in all children of fork, or unlocked.
/// Best effort: file systems without locks say yes.
bool lock_file(const Fd& fd) noexcept;
void unlock_file(const Fd& fd) noexcept;
/// Somebody holds the lock of that file.
bool is_locked(const std::string& path) noexcept;

bool exists(const std::string& path) noexcept;
bool is_directory(const std::string& path) noexcept;
/// There, and a pipe, socket or device: opening it may wait for somebody, and it cannot be read twice.
bool is_special(const std::string& path) noexcept;
/// Plain files of a folder with that ending, sorted by name, with the folder in front.
Result<std::vector<std::string>> list_files(const std::string& folder, std::string_view ending);
/// The part after the last slash.
std::string_view file_name(std::string_view path) noexcept;

}  // namespace rangefinder::base
