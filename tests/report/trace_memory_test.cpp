// SPDX-License-Identifier: MIT
#include "support/allocation_count.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

// Memory by event of a trace of torch.profiler, in bytes that were allocated at a time, not in pages of the system:
// counted like that it is the same in each run.
using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr std::int64_t kEventsPerCall = 10;
// Where columns, which double, are nearly full.
constexpr std::int64_t kFewCalls = 8'100, kManyCalls = 2 * kFewCalls;

void append(std::string& text, const char* format, auto... values) {
  char line[512];
  text.append(line, static_cast<std::size_t>(std::snprintf(line, sizeof line, format, values...)));
}

/// What PyTorch does for a call: operators that call each other, an allocation and a launch, a kernel, and the flows
/// between them. An annotation for every fifty.
void write_calls(const std::string& path, std::int64_t calls) {
  std::string text = R"({"traceEvents":[)";
  for (std::int64_t i = 0; i < calls; ++i) {
    const long long at = 1'000'000 + i * 100, id = 4 * i;
    if (i % 50 == 0)
      append(text, R"({"ph":"X","cat":"user_annotation","name":"layer %lld","pid":1,"tid":1,"ts":%lld,"dur":4990},)",
             static_cast<long long>(i / 50 % 20), at);
    for (int depth = 0; depth < 4; ++depth)
      append(text,
             R"({"ph":"X","cat":"cpu_op","name":"aten::op%d","pid":1,"tid":1,"ts":%lld,"dur":%d,)"
             R"("args":{"External id":%lld,"Sequence number":%lld,"Fwd thread id":0}},)",
             depth, at + depth, 90 - 2 * depth, id + depth, static_cast<long long>(i));
    for (int call = 0; call < 2; ++call)
      append(text,
             R"({"ph":"X","cat":"cuda_runtime","name":"%s","pid":1,"tid":1,"ts":%lld,"dur":5,)"
             R"("args":{"External id":%lld,"cbid":211,"correlation":%lld}},)",
             call == 0 ? "cudaEventQuery" : "cudaLaunchKernel", at + 10 + 20 * call, id + 3, 2 * id + call + 1);
    append(
        text,
        R"({"ph":"X","cat":"kernel","name":"gemm%lld","pid":0,"tid":7,"ts":%lld,"dur":60,"args":{"External id":%lld,)"
        R"("device":0,"context":1,"stream":7,"correlation":%lld,"grid":[64,1,1],"block":[128,1,1]}},)",
        static_cast<long long>(i % 7), at + 40, id + 3, 2 * id + 2);
    for (const char* phase : {"s", "f", "f"})
      append(text, R"({"ph":"%s","cat":"ac2g","name":"ac2g","id":%lld,"pid":1,"tid":1,"ts":%lld,"bp":"e"},)", phase,
             2 * id + 2, at + 30);
  }
  text.back() = ']';
  text += '}';
  std::FILE* const file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  REQUIRE(std::fclose(file) == 0);
}

/// The most that was allocated at a time meanwhile.
template <typename Work>
std::int64_t peak_of(Work work) {
  const std::int64_t before = allocated_bytes();
  begin_peak();
  work();
  return peak_of_allocated_bytes() - before;
}

void report_view(const std::string& path, const char* view) {
  ReportOptions options;
  options.view = view;
  LoadOptions load;
  load.operator_inputs = options.view == "ops";
  REQUIRE(report_files({path}, load, options, [](std::string_view) { return true; }).ok());
}

std::int64_t kept_text_bytes(const std::string& path) {
  LoadOptions load;
  load.keep_arguments = true;
  const Result<Timeline> timeline = load_timeline(path, load);
  REQUIRE(timeline.ok());
  return static_cast<std::int64_t>(timeline->arguments.bytes());
}

}  // namespace

TEST_CASE("a trace takes at most 64 bytes an event, beside its own texts in an export", "[report]") {
  const ScratchFolder folder(true);
  const std::string few = folder.file("few.json"), many = folder.file("many.json");
  write_calls(few, kFewCalls);
  write_calls(many, kManyCalls);
  constexpr std::int64_t kMoreEvents = (kManyCalls - kFewCalls) * kEventsPerCall;
  const struct {
    const char* view;
    std::int64_t most_bytes;
  } bounds[] = {{"ranges", 64}, {"tree", 64}, {"kernels", 64}, {"ops", 100}};
  for (const auto& [view, most_bytes] : bounds) {
    CAPTURE(view);
    const auto peak = [&, name = view](const std::string& path) { return peak_of([&] { report_view(path, name); }); };
    const std::int64_t of_few = peak(few), bytes = (peak(many) - of_few) / kMoreEvents;
    CAPTURE(bytes);
    CHECK(bytes <= most_bytes);
  }
  const auto peak = [&](const std::string& path) {
    return peak_of([&] { REQUIRE(export_chrome_trace(path, folder.file("out.json"), {.replace = true}).ok()); }) -
           kept_text_bytes(path);
  };
  const std::int64_t of_few = peak(few), bytes = (peak(many) - of_few) / kMoreEvents;
  CAPTURE(bytes);
  CHECK(bytes <= 64);
}
