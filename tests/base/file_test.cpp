// SPDX-License-Identifier: MIT
#include "base/file.hpp"

#include "base/library.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

using namespace rangefinder;
using namespace rangefinder::base;
using namespace rangefinder::testing;

TEST_CASE("a file appears under its name only when it is whole", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("out");
  {
    Result<AtomicFile> file = AtomicFile::create(path, false);
    REQUIRE(file.ok());
    REQUIRE(file->write("half").ok());
    CHECK_FALSE(exists(path));
    CHECK(folder.entries() == 1);
  }
  CHECK(folder.entries() == 0);  // given up: nothing is left
  {
    Result<AtomicFile> file = AtomicFile::create(path, false);
    REQUIRE(file->write("whole").ok());
    CHECK(file->size() == 5);
    REQUIRE(file->commit().ok());
  }
  CHECK(read_file(path) == "whole");
  CHECK(folder.entries() == 1);
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("a file that is there is replaced only on request, and never what is no plain file", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("out");
  write_file(path, "old");
  CHECK(AtomicFile::create(path, false).error().code() == ErrorCode::kExists);
  Result<AtomicFile> file = AtomicFile::create(path, true);
  REQUIRE(file->write("new").ok());
  REQUIRE(file->commit().ok());
  CHECK(read_file(path) == "new");

  std::filesystem::create_symlink(path, folder.file("link"));
  std::filesystem::create_directory(folder.file("folder"));
  CHECK(AtomicFile::create(folder.file("link"), true).error().code() == ErrorCode::kExists);
  CHECK(AtomicFile::create(folder.file("folder"), true).error().code() == ErrorCode::kExists);
  CHECK(AtomicFile::create("/dev/null", true).error().code() == ErrorCode::kExists);
  CHECK(read_file(path) == "new");
}

TEST_CASE("a file that appears meanwhile is not replaced", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("out");
  Result<AtomicFile> file = AtomicFile::create(path, false);
  REQUIRE(file->write("ours").ok());
  write_file(path, "theirs");
  CHECK(file->commit().error().code() == ErrorCode::kExists);
  CHECK(read_file(path) == "theirs");
}

TEST_CASE("a path that cannot be written is an error that names it", "[base]") {
  const ScratchFolder folder;
  const Result<AtomicFile> file = AtomicFile::create(folder.file("no/such/folder"), true);
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().message().find("no/such/folder: No such file or directory (2)") != std::string::npos);
  CHECK(open_for_reading(folder.file("none")).error().code() == ErrorCode::kNotFound);
  CHECK(open_for_reading(folder.path()).error().code() == ErrorCode::kUnreadable);
}

TEST_CASE("a full device is an error", "[base]") {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full.valid()) RANGEFINDER_SKIP("no /dev/full");
  const Status status = write_at(full, as_bytes("x"), 0, "/dev/full");
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kIo);
}

TEST_CASE("files are read in pieces and as a whole", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("in");
  write_file(path, "0123456789");
  const Result<Fd> fd = open_for_reading(path);
  CHECK(*file_size(*fd, path) == 10);
  std::byte piece[4];
  CHECK(*read_at(*fd, piece, 8, path) == 2);
  CHECK(*read_at(*fd, piece, 100, path) == 0);
  CHECK(as_text(*read_whole_file(path, 10)) == "0123456789");
  CHECK(read_whole_file(path, 9).error().message().find("larger than the limit of 9 bytes") != std::string::npos);
}

TEST_CASE("a file is read in pieces, each valid until the next", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("in");
  std::string text;
  for (int i = 0; text.size() < 20'000; ++i) text += std::to_string(i) + " ";
  write_file(path, text);
  Result<InputFile> file = InputFile::open(path);
  REQUIRE(file.ok());
  CHECK(file->size() == text.size());
  for (const std::uint64_t offset : {0, 10, 4'000, 4'090, 4'096, 15'000, 1, 19'990, 20'000'000})
    for (const std::size_t count : {0, 1, 8, 4'096, 12'000}) {
      const Result<ByteView> bytes = file->read(offset, count);
      REQUIRE(bytes.ok());
      CHECK(as_text(*bytes) == (offset < text.size() ? text.substr(offset, count) : ""));
    }
  std::vector<std::byte> piece(12'000);
  REQUIRE(file->read_into(7'000, piece).ok());
  CHECK(as_text(piece) == text.substr(7'000, 12'000));
  CHECK(file->read_into(text.size(), {}).ok());
  CHECK_FALSE(file->read_into(text.size() - 11'999, piece).ok());
  CHECK_FALSE(InputFile::open("/dev/null").ok());
  CHECK_FALSE(InputFile::open(folder.path()).ok());
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK_FALSE(InputFile::open(folder.file("pipe")).ok());  // and does not wait for a writer
  write_file(path, "");
  CHECK(InputFile::open(path)->read(0, 1)->empty());
}

TEST_CASE("a file that became shorter says from what to what", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("in");
  write_file(path, std::string(20'000, 'x'));
  Result<InputFile> file = InputFile::open(path);
  REQUIRE(file.ok());
  CHECK(file->read(0, 100).ok());
  REQUIRE(::truncate(path.c_str(), 5'000) == 0);
  const Result<ByteView> cut = file->read(4'500, 1'000);
  REQUIRE_FALSE(cut.ok());
  CHECK(cut.error().code() == ErrorCode::kUnreadable);
  CHECK(cut.error().message().find(path + ": became shorter while it was being read, from 20000 to 5000 bytes") == 0);
  CHECK_FALSE(file->read(15'000, 1).ok());
}

TEST_CASE("a lock is seen until it is given up", "[base]") {
  const ScratchFolder folder;
  const std::string path = folder.file("in");
  write_file(path, "x");
  CHECK_FALSE(is_locked(path));
  CHECK_FALSE(is_locked(folder.file("none")));
  Fd fd = std::move(*open_for_reading(path));
  REQUIRE(lock_file(fd));
  CHECK(is_locked(path));
  unlock_file(fd);
  CHECK_FALSE(is_locked(path));
  REQUIRE(lock_file(fd));
  fd.reset();
  CHECK_FALSE(is_locked(path));
}

TEST_CASE("the plain files of a folder are listed by ending, sorted", "[base]") {
  const ScratchFolder folder;
  for (const char* name : {"b.rfcap", "a.rfcap", "a.rfcap.live", ".rfcap", "c.json"})
    write_file(folder.file(name), "x");
  std::filesystem::create_directory(folder.file("d.rfcap"));
  CHECK(*list_files(folder.path(), ".rfcap") ==
        std::vector<std::string>{folder.file("a.rfcap"), folder.file("b.rfcap")});
  CHECK(*list_files(folder.path() + "/", ".json") == std::vector<std::string>{folder.file("c.json")});
  CHECK_FALSE(list_files(folder.file("none"), "").ok());
  CHECK(file_name("/a/b.c") == "b.c");
  CHECK(file_name("b.c") == "b.c");
  CHECK(file_name("/a/").empty());
}

TEST_CASE("libraries are found at run time", "[base]") {
  CHECK_FALSE(Library::open("libthere-is-no-such-thing.so.1").ok());
  const Result<Library> libc = Library::open("libc.so.6", true);
  REQUIRE(libc.ok());
  CHECK(libc->function<int (*)()>("getpid")() == ::getpid());
  CHECK(libc->symbol("there_is_no_such_thing") == nullptr);
  CHECK(libc->path().find("libc.so.6") != std::string::npos);
  CHECK_FALSE(Library::open("libsqlite3.so.0.none", true).ok());
}
