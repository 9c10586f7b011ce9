// SPDX-License-Identifier: MIT
#include "base/sparse.hpp"

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <iterator>

using namespace rangefinder;
using namespace rangefinder::base;
using namespace rangefinder::testing;

namespace {

std::string get(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t disk_bytes(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

}  // namespace

TEST_CASE("a file of many zeros is made sparse and reads as before", "[base]") {
  const ScratchFolder folder(true);
  const std::string path = folder.file("a");
  std::string content(std::size_t{1} << 20, '\0');
  content.replace(0, 5, "begin");
  content.replace(300'000, 6, "middle");
  SECTION("zeros at the end") {}
  SECTION("a last piece of a page") { content += "end"; }
  std::ofstream(path, std::ios::binary) << content;
  REQUIRE(disk_bytes(path) >= content.size() / 2);
  {
    const Fd writer = open_to_lock(path);
    REQUIRE(lock_file(writer));
    make_sparse(path);  // somebody writes it
    CHECK(disk_bytes(path) >= content.size() / 2);
  }
  make_sparse(path);
  CHECK(get(path) == content);
  CHECK(disk_bytes(path) <= 64 << 10);
  make_sparse(folder.file("none"));
}
