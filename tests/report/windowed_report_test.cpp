// SPDX-License-Identifier: MIT
//
// The report of a capture that is read window by window is that of the loaded one.
#include "report/windowed_report.hpp"

#include "report/rendered.hpp"
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/child_memory.hpp"
#include "support/long_capture.hpp"
#include "support/random_program.hpp"
#include "support/resident_memory.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/report.hpp>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string data_folder() {
  const char* const folder = std::getenv("RANGEFINDER_TEST_DATA");
  REQUIRE(folder != nullptr);
  return folder;
}

std::string loaded(const std::string& path, const ReportOptions& options) {
  Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline);
  return rendered(*timeline, options);
}

std::string windowed(const std::string& path, const ReportOptions& options, const report::WindowSizes& sizes) {
  Result<capture::CaptureReader> reader = capture::CaptureReader::open(path);
  REQUIRE(reader);
  report::ViewOptions wanted{options};
  const Result<const report::View*> view = report::find_view(options.view, wanted);
  REQUIRE(view);
  REQUIRE(report::adds_up(**view, wanted));
  std::string text;
  const Status written = report::write_windowed_report(*reader, {}, **view, wanted, sizes, [&](std::string_view piece) {
    text.append(piece);
    return Status();
  });
  REQUIRE(written.ok());
  return text;
}

/// The first line that is not in both, as it stands in each; empty: there is none.
std::string first_difference(const std::string& whole, const std::string& windowed) {
  std::istringstream a(whole), b(windowed);
  for (std::string line, other; true;) {
    const bool more = static_cast<bool>(std::getline(a, line)), others = static_cast<bool>(std::getline(b, other));
    if (!more && !others) return {};
    if (more != others || line != other) return "- " + (more ? line : "") + "\n+ " + (others ? other : "") + "\n";
  }
}

/// What was a forward pass done again depends on what comes behind a window: decision 0005. Backward work has both.
std::string without_recompute(const std::string& text) {
  static const std::regex note("forward: [^(]*");
  return std::regex_replace(text, note, "");
}

/// Lists of a few of the rows, and sums under Nsight's names. Numbers of ranges differ where threads are read one after
/// the other: not in columns here.
std::vector<ReportOptions> lists() {
  std::vector<ReportOptions> all;
  const auto add = [&](const char* view, ReportFormat format, std::size_t top, const char* sort, const char* columns) {
    ReportOptions options;
    options.view = view;
    options.format = format;
    options.top = top;
    options.sort = sort;
    options.columns = columns;
    options.instances = true;
    all.push_back(options);
  };
  for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kCsv}) {
    add("kernels", format, 5, "duration", "kernel,begin,duration,stream,launch_delay,range,replayed_by,grid_x,shared");
    add("kernels", format, 6, "+kernel", "kernel,begin,range");
    add("memcpy", format, 4, "", "operation,begin,duration,device,bytes,throughput,range");
    add("memcpy", format, 3, "range", "operation,begin,range");
    all.back().filter = "HtoD";
  }
  for (const char* view :
       {"cuda_gpu_kern_sum", "cuda_gpu_kern_sum:base", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "cuda_api_sum",
        "cuda_gpu_sum", "cuda_api_gpu_sum", "cuda_gpu_kern_sum:nvtx-name", "cuda_api_gpu_sum:nvtx-name",
        "cuda_kern_exec_sum", "nvtx_gpu_proj_sum", "nvtx_kern_sum", "nvtx_kern_sum:base", "nvtx_sum",
        "nvtx_pushpop_sum", "nvtx_startend_sum"})
    add(view, ReportFormat::kText, 0, "", "");
  for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kCsv}) {
    const char* const columns =
        "range,thread,payload,begin,host,gpu_busy,gpu_self,gpu_sum,gpu_begin,gpu_span,gpu_idle,gpu_ops,launch_delay,"
        "bytes";
    add("ranges", format, 6, "", columns);
    add("ranges", format, 9, "host", columns);
    add("ranges", format, 5, "gpu_busy", columns);
    add("ranges", format, 1'000, "+range", columns);
    add("ranges", format, 4, "-gpu_begin", columns);
    all.back().filter = "1";
  }
  add("cuda_gpu_trace", ReportFormat::kJson, 7, "", "");
  add("cuda_gpu_trace:base", ReportFormat::kText, 7, "-duration", "");
  all.back().filter = "kernel 1";
  add("cuda_gpu_trace:nvtx-name", ReportFormat::kText, 7, "", "");
  all.back().filter = "not there";
  add("api", ReportFormat::kText, 6, "-duration", "call,begin,duration,result");
  add("cuda_api_trace", ReportFormat::kCsv, 5, "-duration", "");
  add("cuda_api_trace", ReportFormat::kText, 5, "", "");
  return all;
}

std::vector<ReportOptions> all_options(bool autograd) {
  std::vector<ReportOptions> all;
  for (const char* view : {"ranges", "tree", "kernels", "memcpy", "api", "launches"})
    for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kJson, ReportFormat::kCsv}) {
      ReportOptions options;
      options.view = view;
      options.format = format;
      if (autograd && (options.view == "ranges" || options.view == "tree"))
        options.columns =
            "range,count,host,host_self,host_min,host_median,host_p95,host_max,gpu_busy,gpu_share,gpu_self,gpu_sum,"
            "gpu_span,gpu_idle,gpu_ops,launch_delay_avg,bytes";
      all.push_back(options);
    }
  ReportOptions folded = all.back();
  folded.view = "tree";
  folded.fold = true;
  folded.depth = 2;
  folded.projection.attribution = Attribution::kLaunch;
  folded.projection.operators = true;
  all.push_back(folded);
  for (const ReportOptions& list : lists()) all.push_back(list);
  return all;
}

/// All views; a run of the tests that must be short tries a third of them, by the seed, a ninth under a sanitizer.
std::vector<ReportOptions> views_to_try(bool autograd, std::optional<std::uint64_t> seed) {
  const std::size_t step = sanitized() && !at_length() ? 9 : 3;
  std::vector<ReportOptions> all = all_options(autograd), some;
  if (exhaustive() || !seed) return all;
  for (std::size_t view = *seed % step; view < all.size(); view += step) some.push_back(all[view]);
  return some;
}

/// All sizes of windows that are worth trying; such a run tries one of the small ones.
std::vector<std::size_t> window_sizes(std::optional<std::uint64_t> seed) {
  const std::size_t small[] = {1, 7, 50};
  std::vector<std::size_t> sizes{std::size_t{1} << 17};
  if (exhaustive() || !seed)
    sizes.insert(sizes.end(), std::begin(small), std::end(small));
  else
    sizes.push_back(small[*seed / 9 % std::size(small)]);
  return sizes;
}

void require_equal(const std::string& path, bool autograd, std::optional<std::uint64_t> seed = {}) {
  for (const ReportOptions& options : views_to_try(autograd, seed)) {
    INFO("view " << options.view << ", format " << static_cast<int>(options.format));
    const std::string whole = without_recompute(loaded(path, options));
    for (const std::size_t rows : window_sizes(seed)) {
      INFO("windows of " << rows);
      REQUIRE(first_difference(whole, without_recompute(windowed(path, options, {.rows = rows}))) == "");
    }
  }
}

void compare_programs(const RandomProgramShape& shape, int rounds) {
  for (const std::uint64_t seed : property_seeds("windowed reports", repeats(rounds))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const ScratchFolder folder;
    random_program(random, shape).write(folder.file("x.rfcap"));
    require_equal(folder.file("x.rfcap"), shape.autograd, seed);
  }
}

}  // namespace

TEST_CASE("windows of launches give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.autograd = shape.graphs = shape.elsewhere = shape.start_end = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of what autograd runs give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.graphs = shape.elsewhere = shape.start_end = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of graphs give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.autograd = shape.elsewhere = shape.start_end = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of everything that nests give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.elsewhere = shape.start_end = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of start/end ranges give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.autograd = shape.graphs = shape.elsewhere = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of graphs and of start/end ranges give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.autograd = shape.elsewhere = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of autograd and of start/end ranges give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.graphs = shape.elsewhere = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of all but ranges that end elsewhere give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.elsewhere = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of ranges that end elsewhere give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.autograd = shape.graphs = false;
  compare_programs(shape, 20);
}

TEST_CASE("windows of anything give the report of the loaded capture", "[report][property]") {
  compare_programs({}, 120);
}

// Host events come in the file's order there, and windows end anywhere in it.
TEST_CASE("windows without device activity give the report of the loaded capture", "[report][property]") {
  RandomProgramShape shape;
  shape.launches = shape.autograd = shape.graphs = false;
  compare_programs(shape, 40);
}

TEST_CASE("a range without an end, whose parent is over, keeps its place in a tree by windows", "[report]") {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.on_thread(1).range("outer", 0, 1'000).open_range("lost", 100).range("inside", 200, 300);
  for (std::int64_t i = 0; i < 40; ++i) capture.range("later", 2'000 + 100 * i, 2'050 + 100 * i);
  capture.chunk_rows(4).write(folder.file("x.rfcap"));
  ReportOptions options;
  options.view = "tree";
  options.format = ReportFormat::kCsv;
  options.columns = "range,count";
  const std::string whole = loaded(folder.file("x.rfcap"), options);
  for (const std::size_t rows : {1, 7, 1'000})
    CHECK(windowed(folder.file("x.rfcap"), options, {.rows = rows}) == whole);
}

TEST_CASE("a range that was open when the recording began is one of it in all windows", "[report]") {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.h100().on_thread(1).range("before", -900, -700).range("across", -100, 500'000'000);
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t begin = 10'000'000 * i;
    capture.range("step", begin, begin + 9'000'000).launch(begin + 100).kernel("k", begin + 200, begin + 300);
  }
  capture.chunk_rows(4).write(folder.file("x.rfcap"));
  require_equal(folder.file("x.rfcap"), false);
}

TEST_CASE("lists of a few of the rows are those of the loaded capture", "[report]") {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.h100().on_thread(1);
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t begin = 10'000 * i;
    capture.range("layer", begin, begin + 9'000).range("part", begin + 10, begin + 900).launch(begin + 100);
    capture.kernel("gemm", begin + 2'000, begin + 3'000 + i * 7 % 100);
  }
  capture.chunk_rows(4).write(folder.file("x.rfcap"));
  for (const char* sort : {"", "duration", "+range", "range_id"})
    for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kCsv, ReportFormat::kJson})
      for (const std::size_t top : {1, 7, 39, 1'000}) {
        ReportOptions options;
        options.view = "kernels";
        options.instances = true;
        options.sort = sort;
        options.format = format;
        options.top = top;
        const std::string whole = loaded(folder.file("x.rfcap"), options);
        INFO(whole);
        for (const std::size_t rows : {1, 7, 1'000})
          REQUIRE(windowed(folder.file("x.rfcap"), options, {.rows = rows}) == whole);
      }
}

TEST_CASE("the first rows of all ranges are those of the loaded capture", "[report]") {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.h100().on_thread(1).range("job", 0, 1'000'000);
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t begin = 10'000 * i;
    capture.range("layer", begin, begin + 9'000 - i % 3).range("part", begin + 10, begin + 900).launch(begin + 100);
    capture.kernel("gemm", begin + 20'000, begin + 23'000 + i * 7 % 100);  // in a later window
    capture.range("host alone", begin + 1'000, begin + 1'100);
  }
  capture.chunk_rows(4).write(folder.file("x.rfcap"));
  for (const char* sort : {"", "host", "+host", "gpu_busy", "+range", "id", "launch_delay", "payload"})
    for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kCsv, ReportFormat::kJson})
      for (const std::size_t top : {1, 7, 120, 1'000}) {
        ReportOptions options;
        options.instances = true;
        options.sort = sort;
        options.format = format;
        options.top = top;
        CAPTURE(sort, format, top);
        const std::string whole = loaded(folder.file("x.rfcap"), options);
        for (const std::size_t rows : {1, 7, 1'000})
          REQUIRE(first_difference(whole, windowed(folder.file("x.rfcap"), options, {.rows = rows})) == "");
      }
}

TEST_CASE("a list of ranges by windows refuses a column that is not there", "[report]") {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.on_thread(1).range("r", 0, 10).write(folder.file("x.rfcap"));
  Result<capture::CaptureReader> reader = capture::CaptureReader::open(folder.file("x.rfcap"));
  REQUIRE(reader);
  report::ViewOptions wanted;
  wanted.instances = true;
  wanted.top = 3;
  wanted.sort = "nonsense";
  const Result<const report::View*> view = report::find_view("ranges", wanted);
  REQUIRE(view);
  const Status written =
      report::write_windowed_report(*reader, {}, **view, wanted, {}, [](std::string_view) { return Status(); });
  REQUIRE_FALSE(written.ok());
  CHECK(has(written.error().message(), "nonsense"));
}

TEST_CASE("medians of more lengths than are kept are exact to a thousandth", "[report]") {
  CaptureBuilder capture;
  std::int64_t time = 0;
  for (std::int64_t i = 0; i < 5'000; ++i, time += 2'000'000) {
    capture.range("a", time, time + 10 + i * 97);
    capture.range("b", time + 1'000'000, time + 1'000'000 + (i * i) % 700'001);
  }
  const ScratchFolder folder;
  capture.chunk_rows(512).write(folder.file("x.rfcap"));
  ReportOptions options;
  options.format = ReportFormat::kCsv;
  options.columns = "range,count,host,host_min,host_max,host_median,host_p95";
  const std::string path = folder.file("x.rfcap");
  CHECK(windowed(path, options, {.rows = 1'000}) == loaded(path, options));
  std::istringstream whole(loaded(path, options)), counted(windowed(path, options, {.rows = 1'000, .lengths = 100}));
  int rows = 0;
  for (std::string a, b; std::getline(whole, a) && std::getline(counted, b); ++rows) {
    if (rows == 0) continue;
    std::istringstream one(a), other(b);
    for (int cell = 0; cell < 7; ++cell) {
      REQUIRE(std::getline(one, a, ','));
      REQUIRE(std::getline(other, b, ','));
      if (cell < 5)
        CHECK(a == b);
      else
        CHECK(std::abs(std::stod(a) - std::stod(b)) <= 0.001 * std::stod(a));
    }
  }
  CHECK(rows == 3);
  options.format = ReportFormat::kText;
  CHECK(has(windowed(path, options, {.rows = 1'000, .lengths = 100}), "medians and p95 are exact to a thousandth"));
  options.view = "nvtx_sum";
  options.columns = "";
  CHECK(has(windowed(path, options, {.rows = 1'000, .lengths = 100}), ": medians are exact to a thousandth"));
  CHECK(windowed(path, options, {.rows = 1'000}) == loaded(path, options));
}

TEST_CASE("the report of a long capture takes little memory", "[report]") {
  if (!resident_memory_counts()) RANGEFINDER_SKIP("resident memory says nothing under a sanitizer");
  const ScratchFolder folder;
  const std::string path = folder.file("x.rfcap");
  write_long_capture(path, 640'000);
  {
    Result<capture::CaptureReader> reader = capture::CaptureReader::open(path);
    REQUIRE(reader);
    CHECK(report::is_long(*reader));
  }
  const struct {
    const char* view;
    bool instances = false;
  } cases[] = {{"ranges"},
               {"ranges", true},
               {"tree"},
               {"kernels", true},
               {"cuda_gpu_trace"},
               {"nvtx_sum"},
               {"nvtx_gpu_proj_sum"},
               {"nvtx_kern_sum"},
               {"cuda_kern_exec_sum"},
               {"cuda_gpu_sum:nvtx-name"},
               {"launches"},
               {"api"}};
  for (const auto& [view, instances] : cases) {
    CAPTURE(view, instances);
    const ChildRun run = run_in_child([&, view = view, instances = instances] {
      ReportOptions options;
      options.view = view;
      options.instances = instances;
      options.top = 10;
      const Status written = report_files({path}, {}, options, [](std::string_view) { return true; });
      return written.ok() ? 0 : 1;
    });
    CHECK(run.code == 0);
    constexpr std::int64_t kMiB = 1 << 20;
    CHECK(run.growth_bytes < 128 * kMiB);
  }
}

TEST_CASE("windows of recorded captures give their report", "[report][golden]") {
  std::uint64_t seed = property_seed("recorded captures");
  std::size_t captures = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(data_folder() + "/captures")) {
    if (file.path().extension() != ".rfcap") continue;
    INFO(file.path().string());
    require_equal(file.path().string(), false, seed++);
    ++captures;
  }
  CHECK(captures > 0);
}
