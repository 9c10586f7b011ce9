// SPDX-License-Identifier: MIT
//
// What bounds a variant: planted workloads of each class, mixtures, and evidence that is not there.
#include "bench/bottleneck.hpp"

#include "bench/simulated_steps.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/shared_data.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::bench;
using namespace rangefinder::testing;

namespace {

using Class = BottleneckClass;

constexpr char kMatrices[] = "[[4096, 4096], [4096, 4096]]";  // 137 GFLOP, 101 MB of bf16
constexpr char kHalves[] = R"(["c10::BFloat16", "c10::BFloat16"])";
constexpr char kVectors[] = "[[67108864], [67108864]]";  // 0.07 GFLOP, 805 MB of float
constexpr char kFloats[] = R"(["float", "float"])";

MachinePeaks peaks_of_device() {
  return {"peaks.json",
          {{"GPU 9000", "flops", "bf16", 1e15},
           {"GPU 9000", "flops", "fp32", 6e13},
           {"GPU 9000", "bandwidth", "triad", 3e12}},
          {}};
}

struct Planted {
  const char* name;
  Class what;
  std::function<void(SimulatedSteps&)> run;  ///< a step
  double processor = 1;
  std::function<void(SimulatedSteps&)> after{};  ///< all steps
  bool on_device = true;
  bool has_peaks = true;
  double recording_overhead = 0;
};

std::function<void(SimulatedSteps&)> counters(double tensor, double bytes_a_sample) {
  return [=](SimulatedSteps& s) {
    s.sampled("tensor_active_ratio", tensor);
    s.sampled("dram_read_bytes", bytes_a_sample);
    s.sampled("dram_write_bytes", 0);
  };
}

void train(SimulatedSteps& s, int kernels) {
  s.range("forward", [&] { repeat(kernels, [&] { s.kernel(50 * kMicrosecond); }); });
}

std::vector<Planted> planted_workloads() {
  using S = SimulatedSteps;
  return {
      {"batch read by the training thread", Class::kInput,
       [](S& s) {
         s.range("data", [&] { s.work(8 * kMillisecond); });
         train(s, 20);
       },
       0.2},
      {"many short waits for a loader", Class::kInput,
       [](S& s) {
         repeat(16, [&] {
           s.range("dataloader_next", [&] { s.work(400 * kMicrosecond); });
           train(s, 2);
         });
       },
       0.3},
      {"decoding on the training thread", Class::kInput,
       [](S& s) {
         s.range("data", [&] { s.work(5 * kMillisecond); });
         train(s, 10);
         s.wait("cudaStreamSynchronize_v3020");
       }},
      {"copies to the device beside nothing", Class::kInput,
       [](S& s) {
         s.copy(1, 6 * kMillisecond);
         train(s, 20);
       }},
      {"a thousand small kernels", Class::kHost,
       [](S& s) { repeat(1'000, [&] { s.work(4 * kMicrosecond), s.kernel(2 * kMicrosecond); }); }},
      {"operators that think before they launch", Class::kHost,
       [](S& s) {
         repeat(100, [&] { s.range("aten::op", [&] { s.work(60 * kMicrosecond), s.kernel(15 * kMicrosecond); }); });
       }},
      {"small kernels, and a thread that reads ahead", Class::kHost,
       [](S& s) { repeat(500, [&] { s.work(5 * kMicrosecond), s.kernel(2 * kMicrosecond); }); }, 1.9,
       [](S& s) { s.beside("data"); }},
      {"a long range on the host, read once a step", Class::kHost,
       [](S& s) {
         repeat(5, [&] {
           s.kernel(100 * kMicrosecond), s.copy(2, 2 * kMicrosecond), s.wait("cudaStreamSynchronize_v3020");
           s.range("beam_search", [&] { s.work(900 * kMicrosecond); });
         });
       }},
      {"matrix products near the peak, by shapes", Class::kDeviceCompute,
       [](S& s) { repeat(50, [&] { s.op("aten::mm", kMatrices, kHalves, 183 * kMicrosecond); }); }},
      {"matrix products, by counters", Class::kDeviceCompute, [](S& s) { train(s, 100); }, 1, counters(0.8, 60e6)},
      {"additions of long vectors, by shapes", Class::kDeviceMemory,
       [](S& s) { repeat(50, [&] { s.op("aten::add", kVectors, kFloats, 316 * kMicrosecond); }); }},
      {"kernels that stream, by counters", Class::kDeviceMemory, [](S& s) { train(s, 100); }, 1, counters(0.02, 260e6)},
      {"a result read after each small kernel", Class::kSynchronisation,
       [](S& s) {
         repeat(200, [&] {
           s.kernel(4 * kMicrosecond), s.copy(2, 1 * kMicrosecond), s.wait("cudaStreamSynchronize_v3020");
         });
       }},
      {"the device waited for after each kernel", Class::kSynchronisation,
       [](S& s) { repeat(300, [&] { s.kernel(4 * kMicrosecond), s.wait(); }); }},
      {"activations copied to the host", Class::kSynchronisation,
       [](S& s) {
         repeat(10, [&] { train(s, 4), s.copy(2, 900 * kMicrosecond), s.wait("cudaStreamSynchronize_v3020"); });
       }},
      {"gradients reduced after backward", Class::kCommunication,
       [](S& s) {
         train(s, 40);
         s.kernel(7 * kMillisecond, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
       }},
      {"gradients reduced over the host's network", Class::kCommunication,
       [](S& s) {
         train(s, 20);
         s.wait();
         s.range("all_reduce", [&] { s.work(6 * kMillisecond); });
         train(s, 2);
       },
       0.3},
      {"arithmetic on the CPU", Class::kHost, [](S& s) { s.work(9 * kMillisecond); }, 0.97, {}, false},
      {"a CPU that waits for data",
       Class::kInput,
       [](S& s) {
         s.range("data", [&] { s.work(8 * kMillisecond); });
         s.work(2 * kMillisecond);
       },
       0.2,
       {},
       false},
      {"ranks on CPUs that reduce",
       Class::kCommunication,
       [](S& s) {
         s.work(2 * kMillisecond);
         s.range("all_reduce", [&] { s.work(8 * kMillisecond); });
       },
       0.4,
       {},
       false},
      // Nothing takes twice as much as all else, or what would tell is not there.
      {"half of it kernels, half of it input", Class::kUndecided,
       [](S& s) {
         s.range("data", [&] { s.work(5 * kMillisecond); });
         train(s, 100);
       }},
      {"results read of kernels as long as the gaps", Class::kUndecided,
       [](S& s) {
         repeat(100, [&] {
           s.kernel(25 * kMicrosecond), s.copy(2, 1 * kMicrosecond), s.wait("cudaStreamSynchronize_v3020"),
               s.work(10 * kMicrosecond);
         });
       }},
      {"launches and input, a half each", Class::kUndecided,
       [](S& s) {
         s.range("data", [&] { s.work(4 * kMillisecond); });
         repeat(500, [&] { s.work(4 * kMicrosecond), s.kernel(1 * kMicrosecond); });
       }},
      {"kernels without peaks and counters", Class::kUndecided, [](S& s) { train(s, 100); }, 1, {}, true, false},
      {"kernels of which a third is known", Class::kUndecided,
       [](S& s) {
         repeat(10, [&] {
           s.op("aten::mm", kMatrices, kHalves, 183 * kMicrosecond);
           s.kernel(400 * kMicrosecond);
         });
       }},
      {"kernels that reach neither peak", Class::kUndecided, [](S& s) { train(s, 100); }, 1, counters(0.1, 50e6)},
      {"products and vectors, a half each", Class::kUndecided,
       [](S& s) {
         repeat(50, [&] {
           s.op("aten::mm", kMatrices, kHalves, 183 * kMicrosecond);
           s.op("aten::add", kVectors, kFloats, 316 * kMicrosecond);
         });
       }},
      {"waiting that no range names", Class::kUndecided,
       [](S& s) {
         s.work(8 * kMillisecond);
         train(s, 20);
       }},
      {"a range that waits and does not say for what", Class::kUndecided,
       [](S& s) {
         s.range("prepare", [&] { s.work(8 * kMillisecond); });
         train(s, 20);
       },
       0.15},
      {"a graph of small nodes with gaps", Class::kUndecided,
       [](S& s) { s.graph(1'000, 1 * kMicrosecond, 2 * kMicrosecond); }},
      {"launches that recording slowed down",
       Class::kUndecided,
       [](S& s) { repeat(300, [&] { s.work(8 * kMicrosecond), s.kernel(3 * kMicrosecond); }); },
       1,
       {},
       true,
       true,
       0.9},
      {"a CPU that waits for something", Class::kUndecided, [](S& s) { s.work(9 * kMillisecond); }, 0.2, {}, false},
  };
}

Bottleneck found_in(const Planted& workload) {
  SimulatedSteps simulated;
  repeat(3, [&] { simulated.step([&] { workload.run(simulated); }); });
  if (workload.after) workload.after(simulated);
  const Timeline timeline = simulated.build();
  const MachinePeaks peaks = peaks_of_device();
  BottleneckEvidence evidence;
  evidence.on_device = workload.on_device;
  evidence.processor = workload.processor;
  evidence.steps = step_time(timeline).value();
  evidence.recording_overhead = workload.recording_overhead;
  evidence.limits = device_limits(timeline, workload.has_peaks ? &peaks : nullptr).value();
  return bottleneck_of(evidence);
}

}  // namespace

TEST_CASE("the class of planted workloads is found, or none is named", "[bench]") {
  std::map<Class, std::map<Class, int>> confusion;
  int right = 0, all = 0;
  for (const Planted& workload : planted_workloads()) {
    const Bottleneck found = found_in(workload);
    ++confusion[workload.what][found.what];
    ++all;
    right += found.what == workload.what ? 1 : 0;
    INFO(workload.name << ": " << to_string(found.what) << ": " << found.evidence << "; missing: " << found.missing);
    CHECK(found.what == workload.what);
    CHECK((found.what == workload.what || found.what == Class::kUndecided));  // never a wrong name
    CHECK_FALSE(found.evidence.empty());
    if (found.what != Class::kUndecided) CHECK(found.missing.empty());
  }
  CHECK(right * 10 >= all * 9);
  std::string table = "| planted |", line = "|---|";
  constexpr std::array<Class, 7> kOrder{
      Class::kInput,           Class::kHost,          Class::kDeviceCompute, Class::kDeviceMemory,
      Class::kSynchronisation, Class::kCommunication, Class::kUndecided};
  for (const Class found : kOrder) {
    table += fmt::format(" {} |", to_string(found));
    line += "---:|";
  }
  table += "\n" + line + "\n";
  for (const Class what : kOrder) {
    table += fmt::format("| {} |", to_string(what));
    for (const Class found : kOrder) table += fmt::format(" {} |", confusion[what][found]);
    table += "\n";
  }
  std::printf("%s", table.c_str());
  const char* data = std::getenv("RANGEFINDER_TEST_DATA");
  REQUIRE(data != nullptr);
  const std::string page = read_file(std::string(data) + "/../../docs/reference/bench.md");
  INFO(table);
  CHECK(page.find(table) != std::string::npos);  // the page has this table
}

TEST_CASE("what is missing for a decision is named", "[bench]") {
  const auto missing = [](const char* name) {
    for (const Planted& workload : planted_workloads())
      if (std::string_view(workload.name) == name) return found_in(workload).missing;
    throw std::invalid_argument(name);
  };
  const auto tells = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(tells(missing("kernels without peaks and counters"), "--peaks peaks.json"));
  CHECK(tells(missing("kernels of which a third is known"), "pm_sampling=device"));
  CHECK(tells(missing("kernels that reach neither peak"), "occupancy"));
  CHECK(tells(missing("waiting that no range names"), "a range around"));
  CHECK(tells(missing("a range that waits and does not say for what"), "a range around"));
  CHECK(tells(missing("a CPU that waits for something"), "a range around"));
  CHECK(tells(missing("a graph of small nodes with gaps"), "queued work"));
  CHECK(missing("half of it kernels, half of it input").empty());  // everything is known
}

TEST_CASE("steps of real traces have the parts that their ranges and kernels say", "[bench][data]") {
  if (shared_file("data/kineto").empty()) {
    std::printf("SKIPPED: no real traces beside the source tree\n");
    return;
  }
  const auto found_of = [](const char* trace) {
    Timeline timeline = load_timeline(shared_file(std::string("data/kineto/") + trace)).value();
    for (RangeIndex range{0}; range < timeline.ranges.size(); ++range)
      if (timeline.text(timeline.ranges.name[range]).starts_with("ProfilerStep#"))
        timeline.ranges.set_name(range, timeline.intern("step"));
    BottleneckEvidence evidence;
    evidence.on_device = true;
    evidence.steps = step_time(timeline).value();
    CHECK(sum_of_parts(*evidence.steps) == evidence.steps->step_ns);
    evidence.limits = device_limits(timeline, nullptr).value();
    return bottleneck_of(evidence);
  };
  // A loader without workers: the device works in 56 % of the steps, and a range of the loader is open in 40 %.
  const Bottleneck loader = found_of("resnet50_workers0_v100.json.gz");
  CHECK(loader.what == Class::kUndecided);
  CHECK(loader.evidence.starts_with("device 55 % of a step, input 35 % (range \"enumerate(DataLoader)#_SingleProcess"));
  // The device works in 24 % of the steps, and it is no loader that it waits for.
  const Bottleneck small = found_of("nccl_a100_rank0of2.json.gz");
  CHECK(small.what == Class::kHost);
  CHECK(small.evidence == "host 76 % of a step, device 18 %, communication 6 %");
  const Bottleneck kernels = found_of("diff_control_a100_rank3of8.json.gz");
  CHECK(kernels.what == Class::kUndecided);  // the device's, and nothing tells arithmetic from memory
  CHECK(kernels.evidence.starts_with("device 61 % of a step, communication 19 %"));
  CHECK(kernels.missing.find("--peaks") != std::string::npos);
}

TEST_CASE("without evidence nothing is named", "[bench]") {
  BottleneckEvidence evidence;
  evidence.processor = 0.97;
  CHECK(bottleneck_of(evidence).what == Class::kUndecided);
  CHECK(bottleneck_of(evidence).evidence == "CPU time is 97 % of the wall time");
  CHECK(bottleneck_of(evidence).missing == "ranges and device activity of steps: --profile minimal");
  evidence.on_device = true;
  evidence.steps = StepTime{.step_ns = 1'000, .host_ns = 1'000};
  CHECK(bottleneck_of(evidence).what == Class::kUndecided);
  CHECK(bottleneck_of(evidence).evidence == "no device work was recorded");
  evidence.on_device = false;
  CHECK(bottleneck_of(evidence).what == Class::kHost);
  evidence.processor = {};
  CHECK(bottleneck_of(evidence).missing == "CPU time of the process");
  const Json json = to_json(Bottleneck{Class::kDeviceMemory, "figures", ""});
  CHECK(json_line(json) == R"({"class":"device_memory","evidence":"figures","missing":null,"parts":[]})");
  Bottleneck parted{Class::kInput, "figures", ""};
  parted.parts = {{Class::kInput, "input", 0.5}, {Class::kDeviceCompute, "device", 0.25}};
  parted.input_range = "data";
  const Json with_parts = to_json(parted);
  CHECK(json_line(with_parts["parts"]) ==
        R"([{"class":"input","share":0.5,"range":"data"},{"class":"device","share":0.25,"range":null}])");
  CHECK(what_to_try("undecided") == "-");
  CHECK(what_to_try("device_memory") != "-");
}
