// SPDX-License-Identifier: MIT
#include "common/package_store.hpp"

#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using examples::PackageStore;
using examples::PackageStoreOptions;
using rangefinder::testing::Environment;
using rangefinder::testing::read_file;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::write_file;

namespace {

namespace fs = std::filesystem;

/// Writes empty packages in the place of Python, and a line for each time it is started.
constexpr const char* kFakeExporter = R"(#!/bin/sh
echo started >> "$(dirname "$0")/starts"
shift 2
key=$4 folder=$6
shift 6
for name; do
  [ "$name" = impossible ] && exit 3
  printf 'key %s\ncompile_s 1.5\n' "$key" > "$folder/$name.txt"
  : > "$folder/$name.pt2"
done
)";

struct Exporter {
  Exporter() {
    write_file(options.python, kFakeExporter);
    fs::permissions(options.python, fs::perms::owner_all);
    write_file(options.script, "first");
  }
  std::ptrdiff_t starts() const {
    if (!fs::exists(folder.file("starts"))) return 0;
    const std::string lines = read_file(folder.file("starts"));
    return std::count(lines.begin(), lines.end(), '\n');
  }

  ScratchFolder folder;
  Environment compiler{"CXX", "/bin/sh"};  // any program: nothing is compiled
  PackageStoreOptions options{folder.file("packages"), folder.file("python"), folder.file("script"), "2.11.0"};
};

std::string failure(const PackageStore& store, const std::string& name) {
  try {
    (void)store.get({name});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("packages are made when they are first wanted, and kept", "[examples]") {
  Exporter exporter;
  const PackageStore store(exporter.options);
  const auto made = store.get({"a", "b", "a"});
  REQUIRE(made.size() == 3);
  CHECK(contains(made[1].path, store.key() + "/b.pt2"));
  CHECK(made[0].path == made[2].path);
  CHECK(made[1].compile_s == 1.5);
  CHECK(exporter.starts() == 1);

  CHECK(PackageStore(exporter.options).get({"b"}).size() == 1);
  CHECK(exporter.starts() == 1);
  (void)store.get({"b"}, /*again=*/true);
  CHECK(exporter.starts() == 2);
}

TEST_CASE("a package that several want at once is made once", "[examples]") {
  Exporter exporter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { (void)PackageStore(exporter.options).get({"a", "b"}); });
  for (std::thread& thread : threads) thread.join();
  CHECK(exporter.starts() == 1);
}

TEST_CASE("another torch, device or script does not find a package", "[examples]") {
  Exporter exporter;
  const PackageStore store(exporter.options);
  (void)store.get({"a"});
  PackageStoreOptions other = exporter.options;
  SECTION("torch") { other.torch_version = "2.12.0"; }
  SECTION("device") { other.accelerator = "sm_90"; }
  SECTION("script") { write_file(exporter.options.script, "second"); }
  const PackageStore another(other);
  CHECK(another.key() != store.key());
  fs::copy(exporter.options.folder + "/" + store.key(), exporter.options.folder + "/" + another.key());
  (void)another.get({"a"});
  CHECK(exporter.starts() == 2);
}

TEST_CASE("what keeps packages from being made is said with a way out", "[examples]") {
  Exporter exporter;
  const std::vector<std::string> names{"a"};
  SECTION("no interpreter") {
    exporter.options.python.clear();
    CHECK(contains(PackageStore(exporter.options).obstacle(names), "set RANGEFINDER_TORCH_PYTHON"));
  }
  SECTION("an interpreter that is none") {
    exporter.options.python = exporter.folder.file("absent");
    CHECK(contains(PackageStore(exporter.options).obstacle(names), "absent is no program"));
  }
  SECTION("no script") {
    fs::remove(exporter.options.script);
    CHECK(contains(PackageStore(exporter.options).obstacle(names), "not at"));
  }
  SECTION("no compiler") {
    const Environment compiler("CXX", "no-such-compiler");
    CHECK(contains(PackageStore(exporter.options).obstacle(names), "set CXX"));
  }
  SECTION("no folder") {
    exporter.options.folder.clear();
    CHECK(contains(PackageStore(exporter.options).obstacle(names), "set RANGEFINDER_PACKAGES"));
  }
  CHECK(exporter.starts() == 0);
}

TEST_CASE("packages that are there need neither interpreter nor compiler", "[examples]") {
  Exporter exporter;
  (void)PackageStore(exporter.options).get({"a"});
  exporter.options.python.clear();
  const PackageStore store(exporter.options);
  CHECK(store.obstacle({"a"}).empty());
  CHECK(store.get({"a"}).size() == 1);
  CHECK_FALSE(store.obstacle({"a"}, /*again=*/true).empty());
  CHECK_FALSE(store.obstacle({"a", "b"}).empty());
}

TEST_CASE("an exporter that fails is an error, and what it made before is kept", "[examples]") {
  Exporter exporter;
  const PackageStore store(exporter.options);
  CHECK(contains(failure(store, "impossible"), "ended with 3 and has not made impossible"));
  CHECK_THROWS_AS(store.get({"a", "impossible"}), std::runtime_error);
  CHECK(exporter.starts() == 2);
  (void)store.get({"a"});
  CHECK(exporter.starts() == 2);
}

TEST_CASE("what someone who was killed had half made is removed", "[examples]") {
  Exporter exporter;
  const PackageStore store(exporter.options);
  const std::string half = exporter.options.folder + "/" + store.key() + "/.making-x";
  fs::create_directories(half);
  (void)store.get({"a"});
  CHECK_FALSE(fs::exists(half));
}
