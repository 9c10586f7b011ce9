// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/file_mark.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <dlfcn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::base;
using namespace rangefinder::testing;

namespace {

std::atomic<bool> has_renameat2{true}, has_links{true};

TemporaryFile made(const std::string& path, std::string_view text) {
  Result<TemporaryFile> file = TemporaryFile::create(path);
  REQUIRE(file.ok());
  REQUIRE(write_at(file->fd(), as_bytes(text), 0, path).ok());
  return std::move(*file);
}

Verdict replace(const Fd&) { return Verdict::kReplace; }

/// A file system that lacks what others have, as those of a network and of FUSE do.
class Lacking {
 public:
  Lacking(bool rename, bool links) { has_renameat2 = rename, has_links = links; }
  ~Lacking() { has_renameat2 = has_links = true; }
  Lacking(const Lacking&) = delete;
  Lacking& operator=(const Lacking&) = delete;
};

}  // namespace

// Found before the system's.
extern "C" {
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static const auto next =
      reinterpret_cast<int (*)(int, const char*, int, const char*, unsigned)>(::dlsym(RTLD_NEXT, "renameat2"));
  return has_renameat2 ? next(from_folder, from, to_folder, to, flags) : (errno = EINVAL, -1);
}
int link(const char* from, const char* to) noexcept {
  static const auto next = reinterpret_cast<int (*)(const char*, const char*)>(::dlsym(RTLD_NEXT, "link"));
  return has_links ? next(from, to) : (errno = EPERM, -1);
}
}

TEST_CASE("a new file gets its name locked and whole, whatever the file system can do", "[base]") {
  const auto [rename, links] = GENERATE(std::pair(true, true), std::pair(false, true), std::pair(false, false));
  const Lacking lacking(rename, links);
  const ScratchFolder folder;
  const std::string path = folder.file("a");
  {
    const TemporaryFile given_up = made(path, "given up");
    CHECK_FALSE(exists(path));
  }
  CHECK(folder.entries() == 0);
  TemporaryFile first = made(path, "first");
  CHECK(first.take_free_name(path) == 0);
  CHECK(is_locked(path));
  CHECK(has_name(first.fd(), path));
  CHECK(read_file(path) == "first");
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  CHECK(info.st_nlink == 1);

  TemporaryFile second = made(path, "second");
  CHECK(second.take_free_name(path) == EEXIST);
  CHECK(second.claim_name(path, replace).error().code() == ErrorCode::kBusy);  // the first is being written
  CHECK(read_file(path) == "first");
  { const Fd done = first.release(); }
  REQUIRE(second.claim_name(path, replace).ok());
  CHECK(read_file(path) == "second");
  CHECK(folder.entries() == 1);
  // It may have another name, too.
  TemporaryFile third = made(path, "third");
  REQUIRE(third.claim_name(folder.file("b"), replace).ok());
  CHECK(read_file(folder.file("b")) == "third");
  CHECK(folder.entries() == 2);
}

TEST_CASE("a new file takes the place of what it may replace, and of nothing else", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a");
  write_file(path, "old");
  std::ifstream reader(path);
  TemporaryFile file = made(path, "new");
  CHECK(file.claim_name(path, [](const Fd&) { return Verdict::kForeign; }).error().code() == ErrorCode::kExists);
  CHECK(file.claim_name(path, [](const Fd&) { return Verdict::kTaken; }).error().code() == ErrorCode::kBusy);
  CHECK(read_file(path) == "old");
  const auto judge = [&](const Fd& old) {
    CHECK(is_locked(path));  // no other process can use it
    CHECK(has_name(old, path));
    return Verdict::kReplace;
  };
  REQUIRE(file.claim_name(path, judge).ok());
  CHECK(read_file(path) == "new");
  CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == "old");

  std::filesystem::create_directory(folder.file("folder"));
  std::filesystem::create_symlink(path, folder.file("link"));
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  for (const char* name : {"folder", "link", "pipe"}) {
    TemporaryFile other = made(folder.file(name), "new");
    const Status status = other.claim_name(folder.file(name), replace);
    CHECK(status.error().code() == ErrorCode::kExists);
    CHECK(status.error().message().find("is not a regular file") != std::string::npos);
  }
  CHECK(TemporaryFile::create(folder.file("no/such/folder")).error().code() == ErrorCode::kNotFound);
  CHECK(folder.entries() == 4);
}

TEST_CASE("a file whose lock is held is never taken away, however many want its name", "[base]") {
  const auto [rename, links] = GENERATE(std::pair(true, true), std::pair(false, true), std::pair(false, false));
  const Lacking lacking(rename, links);
  const ScratchFolder folder;
  const std::string path = folder.file("a");
  std::atomic<int> claimed{0}, taken_away{0}, failed{0};
  const auto claim = [&] {
    for (int mine = 0; mine < 25;) {
      Result<TemporaryFile> file = TemporaryFile::create(path);
      if (!file) return void(++failed);
      const Status status = file->claim_name(path, replace);
      if (!status.ok() && status.error().code() != ErrorCode::kBusy) ++failed;
      if (!status.ok()) continue;
      ++claimed, ++mine;
      std::this_thread::yield();
      if (!has_name(file->fd(), path)) ++taken_away;
      if (mine % 2 == 0) remove_file(file->fd(), path);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back(claim);
  for (std::thread& thread : threads) thread.join();
  CHECK(claimed == 8 * 25);
  CHECK(taken_away == 0);
  CHECK(failed == 0);
  CHECK(folder.entries() <= 1);
}

TEST_CASE("a file is removed by its name only while it has that", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a");
  TemporaryFile file = made(path, "a");
  REQUIRE(file.take_free_name(path) == 0);
  std::filesystem::rename(path, folder.file("b"));
  write_file(path, "another");
  CHECK_FALSE(remove_file(file.fd(), path));
  CHECK(read_file(path) == "another");
  CHECK(remove_file(file.fd(), folder.file("b")));
  CHECK_FALSE(exists(folder.file("b")));
}

TEST_CASE("what a file is, its first bytes tell", "[base]") {
  const ScratchFolder folder;
  const auto mark = [&](std::string_view bytes) {
    write_file(folder.file("a"), bytes);
    return mark_of_file(folder.file("a"));
  };
  CHECK(mark("").kind == FileKind::kEmpty);
  CHECK(mark("RFCAP").kind == FileKind::kOther);
  CHECK(mark("#!/usr/bin/env python3\n").kind == FileKind::kOther);
  std::string capture("RFCAP\r\n\x1a");
  capture.resize(16);
  capture += "0123456789abcdef";
  capture.resize(kRecordIdAt);
  capture += std::string("\x07\0\0\0\0\0\0\0", 8);
  CHECK(mark(capture).kind == FileKind::kCapture);
  CHECK(mark(capture).capture_id[15] == 'f');
  CHECK(mark(capture).record_id == 7);
  CHECK(mark(capture.substr(0, 8)).record_id == 0);
  std::string live("RFLIVE\r\n");
  live.resize(kLiveRecordIdAt);
  live += std::string("\x09\0\0\0\0\0\0\0", 8);
  CHECK(mark(live).kind == FileKind::kLive);
  CHECK(mark(live).record_id == 9);
  CHECK(mark_of_file(folder.file("none")).kind == FileKind::kOther);
  std::filesystem::create_symlink(folder.file("a"), folder.file("link"));
  CHECK(mark_of_file(folder.file("link")).kind == FileKind::kOther);
}
