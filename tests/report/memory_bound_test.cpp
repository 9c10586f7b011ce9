// SPDX-License-Identifier: MIT
#include "timeline/memory_bound.hpp"

#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/child_memory.hpp"
#include "support/files.hpp"
#include "support/resident_memory.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/timeline.hpp>

#ifdef __GLIBC__
#include <malloc.h>
#endif

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

/// Few ranges, each with 100 kernels, their launches and calls.
void write_launches(const std::string& path, int launches) {
  CaptureBuilder capture;
  capture.h100();
  for (std::int64_t i = 0; i < launches; ++i) {
    if (i % 100 == 0) capture.range("range " + std::to_string(i / 100 % 10), i * 100, (i + 100) * 100);
    capture.launch(i * 100 + 10).call("cudaLaunchKernel", i * 100 + 5, i * 100 + 15);
    capture.kernel("gemm " + std::to_string(i % 50), i * 100 + 20, i * 100 + 90);
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

enum class Naming { kFew, kMany, kLong };

/// Ranges with an operator, a call and a kernel each.
void write_named_trace(const std::string& path, Naming naming) {
  std::string text = R"({"traceEvents":[)";
  for (int i = 0; i < 40'000; ++i) {
    const std::string number = std::to_string(naming == Naming::kMany ? i : i % (naming == Naming::kFew ? 10 : 500)),
                      name = number + (naming == Naming::kLong ? std::string(1'000, 'x') : ""),
                      id = std::to_string(i + 1);
    const auto slice = [&](const char* category, const std::string& of, int begin, const char* track,
                           const char* more) {
      text += std::string(R"({"ph":"X","cat":")") + category + R"(","name":")" + of + R"(","dur":)" +
              std::to_string(begin == 60 ? 30 : 50 - 2 * begin) + R"(,"ts":)" + std::to_string(100 * i + begin) +
              track + R"(,"args":{"External id":)" + id + R"(,"correlation":)" + id + more + "}},";
    };
    const std::string stack = R"(,"Call stack":")" + std::string(naming == Naming::kLong ? 600 : 6, 's') + '"';
    constexpr const char* kHost = R"(,"pid":1,"tid":1)";
    slice("user_annotation", "range " + name, 0, kHost, "");
    slice("cpu_op", "op " + name, 5, kHost, stack.c_str());
    slice("cuda_runtime", "cudaLaunchKernel", 10, kHost, "");
    slice("kernel", "kernel " + name, 60, R"(,"pid":0,"tid":7)", R"(,"stream":7,"device":0,"grid":[8,1,1])");
  }
  text.back() = ']';
  text += '}';
  write_file(path, text);
}

/// What of load_timeline's bound a file takes.
std::int64_t needed_for(const std::string& path, bool for_export) {
  LoadOptions options;
  options.keep_arguments = for_export;
  const Result<Timeline> timeline = load_timeline(path, options);
  REQUIRE(timeline.ok());
  std::uint64_t kept = 0;
  for (const ForeignEvent& event : timeline->foreign) kept += event.json.size();
  return static_cast<std::int64_t>(timeline::MemoryBound(options).needed_bytes(*timeline, {.text_bytes = kept}));
}

constexpr const char* kExport = "export";

/// 0: loaded, and reported or exported.
int run_bounded(const std::string& path, const char* view, std::int64_t bound) {
  if (view == kExport) {
    ChromeExportOptions options;
    options.max_memory_bytes = static_cast<std::uint64_t>(bound);
    return export_chrome_trace(path, path + ".out", options).ok() ? 0 : 1;
  }
  Result<Timeline> timeline = load_timeline(path, bounded(bound));
  if (!timeline) return 1;
  ReportOptions options;
  options.view = view;
  return write_report(*timeline, options, [](std::string_view) { return true; }).ok() ? 0 : 2;
}

void check_fits(const std::string& path, const char* view) {
  CAPTURE(view);
  // While a trace is read it holds some texts and rows that are gone in the end.
  const std::int64_t loaded = needed_for(path, view == kExport), needed = loaded + loaded / 64;
#ifdef __GLIBC__
  ::malloc_trim(0);  // what has been freed would be used again, and not be seen
#endif
  const ChildRun run = run_in_child([&] { return run_bounded(path, view, needed); });
  CAPTURE(needed, run.growth_bytes);
  CHECK(run.code == 0);
  CHECK(run.growth_bytes < needed + kBesides);
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
  for (const char* view : {"ranges", "tree", "kernels", "api_ranges", "nvtx_gpu_proj_sum", "nvtx_kern_sum"})
    check_fits(path, view);
  CHECK(refuse(path, needed_for(path, false) - 4 * kMiB) == 0);  // it is asked before launches are joined
}

TEST_CASE("a capture of launches and few ranges fits into a bound that allows it", "[report]") {
  if (!resident_memory_counts()) RANGEFINDER_SKIP("resident memory says nothing under a sanitizer");
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  write_launches(path, 500'000);
  for (const char* view : {"ranges", "launches", "breakdown", "api_ranges", "nvtx_gpu_proj_trace", "nvtx_kern_sum",
                           "cuda_gpu_trace", "cuda_kern_exec_trace"})
    check_fits(path, view);
}

TEST_CASE("a trace whose texts are few, many or long fits into a bound that allows it", "[report]") {
  if (!resident_memory_counts()) RANGEFINDER_SKIP("resident memory says nothing under a sanitizer");
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.json");
  write_named_trace(path, GENERATE(Naming::kFew, Naming::kMany, Naming::kLong));
  for (const char* view :
       {"ranges", "tree", "kernels", "launches", "ops", "api_ranges", "nvtx_gpu_proj_trace", kExport})
    check_fits(path, view);
  CHECK(refuse(path, needed_for(path, false) - kMiB) == 0);
}

TEST_CASE("texts that are kept for an export count once", "[report]") {
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.json");
  write_named_trace(path, Naming::kLong);
  LoadOptions load;
  load.keep_arguments = true;
  const Result<Timeline> timeline = load_timeline(path, load);
  REQUIRE(timeline.ok());
  const auto texts = static_cast<std::int64_t>(timeline->arguments.bytes() + timeline->text_bytes());
  const std::int64_t rows = static_cast<std::int64_t>(timeline->table_bytes()) - texts;
  CHECK(texts > 4 * rows);
  const auto names = static_cast<std::int64_t>(3 * timeline->text_bytes() + 100 * timeline->string_count());
  CHECK(needed_for(path, true) < texts + names + 3 * rows);
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
