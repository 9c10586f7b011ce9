// SPDX-License-Identifier: MIT
#include "timeline/memory_bound.hpp"

#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/child_memory.hpp"
#include "support/resident_memory.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr std::int64_t kMiB = 1 << 20;
// A sanitizer takes memory of its own, so that sizes say nothing there: small ones do.
constexpr int kRanges = sanitized() ? 50'000 : 300'000;
constexpr std::int64_t kBound = (sanitized() ? 4 : 24) * kMiB;
constexpr std::int64_t kBesides = 24 * kMiB;  // code, buffers, one chunk

/// Ranges side by side, a kernel in every tenth.
void write_capture(const std::string& path, int ranges) {
  CaptureBuilder capture;
  capture.h100();
  for (std::int64_t i = 0; i < ranges; ++i) {
    capture.range("range " + std::to_string(i % 100), i * 100, i * 100 + 90);
    if (i % 10 == 0) capture.launch(i * 100 + 10).kernel("gemm", i * 100 + 20, i * 100 + 50);
  }
  capture.chunk_rows(4'096).write(path);
}

LoadOptions bounded(std::int64_t bytes) {
  LoadOptions options;
  options.max_memory_bytes = static_cast<std::uint64_t>(bytes);
  return options;
}

/// 0: refused for its size, with the file's name.
int refuse(const std::string& path, std::int64_t bound) {
  const Result<Timeline> timeline = load_timeline(path, bounded(bound));
  if (timeline.ok()) return 1;
  if (timeline.error().code() != ErrorCode::kTooLarge) return 2;
  const std::string& message = timeline.error().message();
  return message.find(path) == 0 && message.find("--max-memory") != std::string::npos ? 0 : 3;
}

void check_refused(const std::string& path) {
  const ChildRun run = run_in_child([&] { return refuse(path, kBound); });
  CHECK(run.code == 0);
  if (resident_memory_counts()) CHECK(run.growth_bytes < kBound + kBesides);
  CHECK(load_timeline(path, bounded(std::int64_t{4} << 30)).ok());
}

}  // namespace

TEST_CASE("a capture that needs more memory than allowed is refused within that memory", "[report]") {
  const ScratchFolder folder(true);
  write_capture(folder.file("a.rfcap"), kRanges);
  check_refused(folder.file("a.rfcap"));
}

TEST_CASE("captures of a folder count together", "[report]") {
  const ScratchFolder folder(true);
  for (const char* name : {"/a.rfcap", "/b.rfcap", "/c.rfcap", "/d.rfcap"})
    write_capture(folder.path() + name, kRanges / 5);
  const ChildRun run = run_in_child([&] {
    if (!load_timeline(folder.file("a.rfcap"), bounded(kBound)).ok()) return 4;
    return load_timeline(folder.path(), bounded(kBound)).error().code() == ErrorCode::kTooLarge ? 0 : 1;
  });
  CHECK(run.code == 0);
  if (resident_memory_counts()) CHECK(run.growth_bytes < kBound + kBesides);
}

TEST_CASE("a trace that unpacks to more than allowed is refused within that memory", "[report]") {
  const ScratchFolder folder(true);
  write_capture(folder.file("a.rfcap"), kRanges);
  const std::string path = folder.file(GENERATE("a.json", "a.json.gz"));
  REQUIRE(export_chrome_trace(folder.file("a.rfcap"), path).ok());
  check_refused(path);
}

TEST_CASE("what a bound allows to be loaded can be reported within it", "[report]") {
  if (!resident_memory_counts()) RANGEFINDER_SKIP("resident memory says nothing under a sanitizer");
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  write_capture(path, 300'000);
  std::int64_t needed = 0;
  {
    const Result<Timeline> timeline = load_timeline(path);
    REQUIRE(timeline.ok());
    needed = static_cast<std::int64_t>(timeline->table_bytes() * timeline::MemoryBound::kNeededPerByte);
  }
  for (const char* view : {"ranges", "tree", "kernels", "api_ranges", "nvtx_gpu_proj_sum", "nvtx_kern_sum"}) {
    CAPTURE(view);
    const ChildRun run = run_in_child([&] {
      Result<Timeline> timeline = load_timeline(path, bounded(needed));
      if (!timeline) return 1;
      ReportOptions options;
      options.view = view;
      prepare_for_report(*timeline, options);
      return write_report(*timeline, options, [](std::string_view) { return true; }).ok() ? 0 : 2;
    });
    CHECK(run.code == 0);
    CHECK(run.growth_bytes < needed + kBesides);
  }
  CHECK(refuse(path, needed - 4 * kMiB) == 0);
}

TEST_CASE("the default bound is a part of the memory there is, and no bound is one, too", "[report]") {
  const ScratchFolder folder(true);
  write_capture(folder.file("a.rfcap"), 100);
  CHECK(default_max_memory() >= std::uint64_t{1} << 30);
  CHECK(load_timeline(folder.file("a.rfcap")).ok());
  LoadOptions options;
  options.max_memory_bytes = std::numeric_limits<std::uint64_t>::max();
  CHECK(load_timeline(folder.file("a.rfcap"), options).ok());
}
