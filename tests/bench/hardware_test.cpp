// SPDX-License-Identifier: MIT
#include "bench/hardware.hpp"

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>

using namespace rangefinder::bench;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::write_file;

TEST_CASE("a device's key is made of its model", "[bench]") {
  CHECK(gpu_key("NVIDIA H200", 1) == "h200");
  CHECK(gpu_key("NVIDIA GeForce RTX 4090", 1) == "geforce_rtx_4090");
  CHECK(gpu_key("NVIDIA B200", 2) == "2x_b200");
}

TEST_CASE("the commit is found from inside of a repository", "[bench]") {
  const ScratchFolder folder;
  const std::string one(40, '1'), two(40, '2');
  CHECK(commit_of(folder.path()) == "");
  std::filesystem::create_directories(folder.file(".git/refs/heads"));
  std::filesystem::create_directories(folder.file("a/b"));
  write_file(folder.file(".git/HEAD"), one + "\n");
  CHECK(commit_of(folder.file("a/b")) == one);
  write_file(folder.file(".git/HEAD"), "ref: refs/heads/main\n");
  write_file(folder.file(".git/packed-refs"), "# pack-refs\n" + one + " refs/heads/main\n");
  CHECK(commit_of(folder.file("a")) == one);
  write_file(folder.file(".git/refs/heads/main"), two + "\n");
  CHECK(commit_of(folder.path()) == two);
}
