// SPDX-License-Identifier: MIT
#include "compare/baseline_file.hpp"

#include "base/checksum.hpp"
#include "base/file.hpp"
#include "compare/random_run.hpp"
#include "compare/synthetic_runs.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::compare;
using namespace rangefinder::testing;

namespace {

constexpr std::uint64_t kLimit = std::uint64_t{1} << 28;

std::vector<Run> some_runs(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Run> runs = synthetic_runs(random, 3, {.steps = 7, .peak_bytes = 1 << 20}, 0.01);
  runs[1].hardware = {{"NVIDIA H200", "NVIDIA H200"}, "cpu", "580.1"};
  runs[2].notes = {"a note"};
  return runs;
}

/// The checksum of what was changed on purpose.
void seal(base::Bytes& bytes) {
  const base::ByteView checked(bytes.data(), bytes.size() - sizeof(std::uint64_t));
  const std::uint64_t checksum = base::checksum(checked);
  std::memcpy(bytes.data() + checked.size(), &checksum, sizeof checksum);
}

}  // namespace

TEST_CASE("runs come back from a baseline as they were", "[compare][property]") {
  std::mt19937_64 random(property_seed("baseline round trip"));
  for (int round = 0; round < repeats(60); ++round) {
    std::vector<Run> runs;
    for (std::uint64_t i = 0, count = below(random, 4); i < count; ++i)
      runs.push_back(figures_of(below(random, 2) == 0 ? random_run(random) : hostile_run(random)));
    const Result<std::vector<Run>> back = runs_of_baseline(baseline_bytes(runs), kLimit);
    REQUIRE(back.ok());
    CHECK(*back == runs);
  }
}

TEST_CASE("a baseline with a damaged byte, or cut anywhere, is refused and says what to do", "[compare][fault]") {
  const base::Bytes whole = baseline_bytes(some_runs(1));
  REQUIRE(runs_of_baseline(whole, kLimit).ok());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned flip : {1u, 0x80u, 0xFFu}) {
      base::Bytes damaged = whole;
      damaged[at] ^= static_cast<std::byte>(flip);
      const Result<std::vector<Run>> runs = runs_of_baseline(damaged, kLimit);
      REQUIRE_FALSE(runs.ok());
      CHECK(runs.error().code() == ErrorCode::kUnreadable);
      CHECK(runs.error().message().find(at < 8 ? "not a baseline" : "save it again") != std::string::npos);
    }
    REQUIRE_FALSE(runs_of_baseline(base::ByteView(whole).first(at), kLimit).ok());
  }
}

TEST_CASE("a baseline that was made to do harm is refused", "[compare][fault][property]") {
  std::mt19937_64 random(property_seed("hostile baseline"));
  const base::Bytes whole = baseline_bytes(some_runs(2));
  for (int round = 0; round < repeats(3000); ++round) {
    base::Bytes hostile = whole;
    for (std::uint64_t i = 0, count = 1 + below(random, 4); i < count; ++i)
      hostile[8 + below(random, hostile.size() - 16)] = static_cast<std::byte>(random());
    seal(hostile);
    const Result<std::vector<Run>> runs = runs_of_baseline(hostile, kLimit);
    if (!runs) continue;
    for (const Run& run : *runs)  // what is let through can be used
      for (const Metric& metric : metrics_of(run, true)) (void)series_of(run, metric.name);
  }
  SECTION("also where its contents are not packed") {
    for (int round = 0; round < repeats(3000); ++round) {
      base::Bytes raw = baseline_bytes(std::vector<Run>{Run{}});  // too small to be packed
      for (std::uint64_t i = 0, count = 1 + below(random, 3); i < count; ++i)
        raw[20 + below(random, raw.size() - 28)] = static_cast<std::byte>(random());
      seal(raw);
      (void)runs_of_baseline(raw, kLimit);
    }
  }
}

TEST_CASE("a baseline of a later version and one that is too large are told apart from damage", "[compare]") {
  base::Bytes later = baseline_bytes(some_runs(3));
  later[8] = std::byte{9};
  seal(later);
  const Result<std::vector<Run>> runs = runs_of_baseline(later, kLimit);
  REQUIRE_FALSE(runs.ok());
  CHECK(runs.error().code() == ErrorCode::kUnsupported);
  CHECK(runs.error().message() == "baseline of version 9; this build reads version 1; save it again with gate --save");
  const Result<std::vector<Run>> large = runs_of_baseline(baseline_bytes(some_runs(3)), 100);
  REQUIRE_FALSE(large.ok());
  CHECK(large.error().code() == ErrorCode::kTooLarge);
}

TEST_CASE("a baseline is a file that is whole or not there", "[compare]") {
  const ScratchFolder folder;
  const std::string path = folder.file("main.rfbase");
  const std::vector<Run> runs = some_runs(4);
  REQUIRE(save_baseline_file(path, runs, false).ok());
  CHECK(is_baseline_file(path));
  const Result<std::vector<Run>> back = read_baseline_file(path, kLimit);
  REQUIRE(back.ok());
  CHECK(*back == runs);
  CHECK(save_baseline_file(path, runs, false).error().code() == ErrorCode::kExists);
  CHECK(save_baseline_file(path, {}, true).ok());
  CHECK(read_baseline_file(path, kLimit)->empty());
  CHECK_FALSE(save_baseline_file(folder.file("none/main.rfbase"), runs, false).ok());
  CHECK(folder.names() == std::vector<std::string>{"main.rfbase"});
  REQUIRE(base::write_whole_file(folder.file("text"), "rfbase").ok());
  CHECK_FALSE(is_baseline_file(folder.file("text")));
  CHECK_FALSE(is_baseline_file(folder.file("nothing")));
  CHECK(read_baseline_file(folder.file("text"), kLimit).error().message().find("text: not a baseline") !=
        std::string::npos);
}
