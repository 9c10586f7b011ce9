// SPDX-License-Identifier: MIT
#include "compare/load_runs.hpp"

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>
#include <string>

using namespace rangefinder;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::write_file;

namespace {

/// A trace of torch.profiler with one range; `rank` -1: it does not say.
std::string trace_of(int rank) {
  std::string text = "{\"schemaVersion\": 1,\n";
  if (rank >= 0) text += "\"distributedInfo\": {\"rank\": " + std::to_string(rank) + ", \"world_size\": 2},\n";
  return text + "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"forward\", \"pid\": " +
         std::to_string(100 + rank) + ", \"tid\": 1, \"ts\": 10, \"dur\": 50, \"args\": {}}]}";
}

std::vector<compare::Run> runs_in(const std::string& path) {
  Result<std::vector<compare::Run>> runs = compare::load_runs(path, {}, {});
  REQUIRE(runs.ok());
  return std::move(*runs);
}

}  // namespace

TEST_CASE("a file is a run", "[compare]") {
  const ScratchFolder folder;
  write_file(folder.path() + "/a.json", trace_of(-1));
  const std::vector<compare::Run> runs = runs_in(folder.path() + "/a.json");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].name == folder.path() + "/a.json");
  CHECK(runs[0].paths.size() == 1);
}

TEST_CASE("a folder is one job where its files are ranks, else a run a file", "[compare]") {
  const ScratchFolder folder;
  SECTION("of different ranks") {
    write_file(folder.path() + "/a.json", trace_of(0));
    write_file(folder.path() + "/b.json", trace_of(1));
    const std::vector<compare::Run> runs = runs_in(folder.path());
    REQUIRE(runs.size() == 1);
    REQUIRE(runs[0].steps.size() == 1);
    CHECK(runs[0].steps[0].places == 2);
  }
  SECTION("of one rank, run after run") {
    write_file(folder.path() + "/a.json", trace_of(0));
    write_file(folder.path() + "/b.json", trace_of(0));
    CHECK(runs_in(folder.path()).size() == 2);
  }
  SECTION("that do not say") {
    write_file(folder.path() + "/a.json", trace_of(-1));
    write_file(folder.path() + "/b.json", trace_of(-1));
    write_file(folder.path() + "/c.json", trace_of(-1));
    CHECK(runs_in(folder.path()).size() == 3);
  }
  SECTION("in folders, which are a run each") {
    for (const char* run : {"/first", "/second"}) {
      std::filesystem::create_directory(folder.path() + run);
      write_file(folder.path() + run + "/a.json", trace_of(0));
      write_file(folder.path() + run + "/b.json", trace_of(1));
    }
    const std::vector<compare::Run> runs = runs_in(folder.path());
    REQUIRE(runs.size() == 2);
    CHECK(runs[1].name == folder.path() + "/second");
    CHECK(runs[1].steps[0].places == 2);
  }
}

TEST_CASE("what cannot be read is an error that names it", "[compare]") {
  const ScratchFolder folder;
  CHECK_FALSE(compare::load_runs(folder.path() + "/nothing.rfcap", {}, {}).ok());
  const Result<std::vector<compare::Run>> empty = compare::load_runs(folder.path(), {}, {});
  REQUIRE_FALSE(empty.ok());
  CHECK(empty.error().message().find(folder.path()) != std::string::npos);
  write_file(folder.path() + "/broken.json", "no trace");
  const Result<std::vector<compare::Run>> broken = compare::load_runs(folder.path(), {}, {});
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().message().find("broken.json") != std::string::npos);
}
