// SPDX-License-Identifier: MIT
#include "bench/tensor_file.hpp"

#include "bench/comparison.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <unistd.h>

#include <cstring>

using namespace rangefinder::bench;
using namespace rangefinder::testing;

namespace {

struct Sample {
  std::vector<float> floats{1, -2, 3.5F, 4, 5, 6};
  std::vector<std::int64_t> integers{7};
  std::vector<TensorView> views() {
    return {{"loss", ElementType::kFloat32, {2, 3}, floats.data()}, {"step", ElementType::kInt64, {}, integers.data()}};
  }
};

}  // namespace

TEST_CASE("tensors come back from a file as they were", "[bench]") {
  const ScratchFolder folder;
  Sample sample;
  REQUIRE(write_tensors(sample.views(), folder.file("t")).ok());
  const auto file = TensorFile::open(folder.file("t"));
  REQUIRE(file.ok());
  CHECK(fingerprint(file->tensors()) == fingerprint(sample.views()));
}

TEST_CASE("tensors stay whole when their file is cut short afterwards", "[bench]") {
  const ScratchFolder folder;
  Sample sample;
  REQUIRE(write_tensors(sample.views(), folder.file("t")).ok());
  const auto file = TensorFile::open(folder.file("t"));
  REQUIRE(file.ok());
  REQUIRE(::truncate(folder.file("t").c_str(), 0) == 0);
  CHECK(fingerprint(file->tensors()) == fingerprint(sample.views()));
}

TEST_CASE("a line of tensors that is longer than a piece of the file is read whole", "[bench]") {
  const ScratchFolder folder;
  Sample sample;
  std::vector<TensorView> views = sample.views();
  views[0].name = std::string(300'000, 'n');
  REQUIRE(write_tensors(views, folder.file("t")).ok());
  const auto file = TensorFile::open(folder.file("t"));
  REQUIRE(file.ok());
  CHECK(fingerprint(file->tensors()) == fingerprint(views));
}

TEST_CASE("a file of tensors cut anywhere is an error", "[bench][property]") {
  const ScratchFolder folder;
  Sample sample;
  REQUIRE(write_tensors(sample.views(), folder.file("t")).ok());
  const std::string whole = read_file(folder.file("t"));
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    write_file(folder.file("cut"), whole.substr(0, cut));
    CHECK_FALSE(TensorFile::open(folder.file("cut")).ok());
  }
  write_file(folder.file("more"), whole + "x");
  CHECK_FALSE(TensorFile::open(folder.file("more")).ok());
  for (const char* line : {"[{\"type\":\"float32\",\"shape\":[-4]}]", "[{\"type\":\"float9\",\"shape\":[]}]",
                           "[{\"type\":\"float32\",\"shape\":[4611686018427387904]}]"}) {
    write_file(folder.file("bad"), std::string(line) + "\n");
    CHECK_FALSE(TensorFile::open(folder.file("bad")).ok());
  }
}

TEST_CASE("a fingerprint knows bytes, names, types and shapes", "[bench]") {
  Sample sample, other;
  const std::string first = fingerprint(sample.views());
  CHECK(first.size() == 32);
  CHECK(fingerprint(other.views()) == first);
  other.floats[5] = 6.5F;
  CHECK(fingerprint(other.views()) != first);
  std::vector<TensorView> changed = sample.views();
  changed[0].shape = {3, 2};
  CHECK(fingerprint(changed) != first);
  changed = sample.views();
  changed[0].name = "other";
  CHECK(fingerprint(changed) != first);
}
