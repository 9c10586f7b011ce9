// SPDX-License-Identifier: MIT
//
// Files that another program cuts short and writes again while they are read: an error or what was read, never SIGBUS.
#include "base/file.hpp"
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/deep_capture.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"
#include "support/shrinking_file.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/exporters.hpp>
#include <rangefinder/timeline.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

base::Bytes bytes_of(const std::string& path) {
  Result<base::Bytes> bytes = base::read_whole_file(path, std::uint64_t{1} << 30);
  REQUIRE(bytes.ok());
  return std::move(*bytes);
}

bool loads_or_says_why(const std::string& path) {
  const Result<Timeline> timeline = load_timeline(path);
  return timeline.ok() || timeline.error().message().find(path) != std::string::npos;
}

const int kRounds = repeats(60);

}  // namespace

TEST_CASE("a capture that shrinks while it is read does not end the reader", "[fault]") {
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  const base::Bytes capture = deep_capture({4'000, true, false, 2}).build();
  SECTION("loaded") {
    read_while_it_shrinks(path, capture, kRounds, [&] { return loads_or_says_why(path); });
  }
  SECTION("inspected") {
    read_while_it_shrinks(path, capture, kRounds, [&] {
      const Result<CaptureInfo> info = inspect_capture(path, true);
      return info.ok() || info.error().message().find(path) != std::string::npos;
    });
  }
  SECTION("exported") {
    read_while_it_shrinks(path, capture, kRounds, [&] {
      ChromeExportOptions options;
      options.replace = true;
      const Status status = export_chrome_trace(path, folder.file("out.json"), options);
      return status.ok() || status.error().message().find(path) != std::string::npos;
    });
  }
  SECTION("repaired") {
    read_while_it_shrinks(path, capture, kRounds, [&] {
      const Result<std::uint64_t> rows = repair_capture(path, folder.file("whole.rfcap"), true);
      return rows.ok() || rows.error().message().find(path) != std::string::npos;
    });
  }
}

TEST_CASE("a trace that shrinks while it is read does not end the reader", "[fault]") {
  const ScratchFolder folder(true);
  deep_capture({2'000, true, false, 2}).write(folder.file("a.rfcap"));
  const std::string path = folder.file(GENERATE("a.json", "a.json.gz"));
  REQUIRE(export_chrome_trace(folder.file("a.rfcap"), path).ok());
  read_while_it_shrinks(path, bytes_of(path), kRounds, [&] { return loads_or_says_why(path); });
}
