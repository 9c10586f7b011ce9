// SPDX-License-Identifier: MIT
#include "importer/nsight/nsight_file.hpp"
#include "replay/replayed.hpp"
#include "replay/timeline_rows.hpp"
#include "support/nsight_reports.hpp"
#include "support/seed.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string integers(std::initializer_list<std::int64_t> values) {
  std::string out;
  for (const std::int64_t value : values) out += (out.empty() ? "" : ", ") + std::to_string(value);
  return out;
}

/// A program that NsightFile does not have words for: its statements are those of the tables.
class ProgramFile : public NsightFile {
 public:
  ProgramFile() {
    run("INSERT INTO PROCESSES VALUES (" + integers({kGlobalPid, 1000}) + ", 'trainer')");
    run("INSERT INTO TARGET_INFO_GPU (id, name, cuDevice) VALUES (0, 'GPU 0', 0), (1, 'GPU 1', 1)");
    for (int tid = 1000; tid < 1004; ++tid)
      run("INSERT INTO ThreadNames VALUES (" +
          integers({string("worker " + std::to_string(tid)), tid - 990, kGlobalPid | tid}) + ")");
  }

  /// Number 3, "library".
  void announce_domain() {
    run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, text) VALUES (" +
        integers({900, 75, kGlobalPid | 1000, 3}) + ", 'library')");
  }
  std::int64_t call(const std::string& function, std::int64_t begin, std::int64_t end, int tid = 1000) {
    const std::int64_t correlation = ++correlations_;
    run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, "
        "returnValue) VALUES (" +
        integers({begin, end, 0, kGlobalPid | tid, correlation, string(function), 0}) + ")");
    return correlation;
  }
  void kernel(std::int64_t correlation, std::int64_t begin, std::int64_t end, int device = 0, int stream = 7,
              std::int64_t node = 0) {
    run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
        "demangledName, shortName, mangledName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
        "staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, graphNodeId, graphId, clusterX, clusterY, "
        "clusterZ) VALUES (" +
        integers({begin,
                  end,
                  device,
                  device + 1,
                  stream,
                  correlation,
                  kGlobalPid,
                  string("scale(float*, int)"),
                  string("scale"),
                  string("_Z5scalePfi"),
                  32,
                  4,
                  2,
                  1,
                  128,
                  1,
                  1,
                  16,
                  1024,
                  8}) +
        ", " + (node == 0 ? "NULL, NULL" : integers({node, 5})) + ", 0, 0, 0)");
  }
  void copy(std::int64_t correlation, std::int64_t begin, std::int64_t end, std::int64_t bytes) {
    run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
        "bytes, copyKind, srcKind, dstKind) VALUES (" +
        integers({begin, end, 0, 1, 13, correlation, kGlobalPid, bytes, 1, 1, 2}) + ")");
  }
  void set(std::int64_t correlation, std::int64_t begin, std::int64_t end, std::int64_t bytes) {
    run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
        "value, bytes, memKind) VALUES (" +
        integers({begin, end, 0, 1, 7, correlation, kGlobalPid, 171, bytes, 2}) + ")");
  }
  void sync(std::int64_t correlation, std::int64_t begin, std::int64_t end) {
    run("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, streamId, correlationId, "
        "globalPid, syncType) VALUES (" +
        integers({begin, end, 0, 1, 7, correlation, kGlobalPid, 3}) + ")");
  }
  void event(int type, std::int64_t begin, std::int64_t end, int tid, int end_tid, const std::string& columns,
             const std::string& values) {
    run("INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, endGlobalTid, " + columns + ") VALUES (" +
        integers({begin, end, type, kGlobalPid | tid, kGlobalPid | end_tid}) + ", " + values + ")");
  }

 private:
  std::int64_t correlations_ = 100;
};

/// Two threads, two devices, and each thing that a play knows of.
void fill(ProgramFile& file) {
  file.announce_domain();
  file.range("step", 1000, 9000);
  file.range("forward", 1000, 4000);  // begins with what is around it
  file.kernel(file.call("cudaLaunchKernel_v7000", 1100, 1200), 1500, 2500);
  file.kernel(file.call("cudaLaunchKernel_v7000", 1300, 1400), 2500, 2900);
  file.event(59, 1450, 1950, 1000, 1000, "domainId, textId", "3, " + std::to_string(file.string("registered")));
  file.event(59, 1500, 1900, 1000, 1000, "domainId, text, uint64Value", "0, 'payload', 42");
  const std::int64_t copied = file.call("cudaMemcpyAsync_v3020", 1600, 1700);
  file.copy(copied, 2000, 5000, 1 << 20);
  file.event(60, 2000, 7000, 1000, 1001, "domainId, text", "0, 'request'");  // ended by the other thread
  file.event(34, 2100, 2100, 1000, 1000, "domainId, text", "0, 'mark'");
  const std::int64_t replay = file.call("cudaGraphLaunch_v10000", 3000, 3500);
  file.kernel(replay, 5100, 5200, 0, 7, 71);
  file.kernel(replay, 5200, 5400, 0, 7, 72);
  file.kernel(replay, 5150, 5300, 0, 21, 73);
  file.range("backward", 4200, 6800, 1001);
  file.range("at once", 4300, 4300, 1001);
  file.set(file.call("cudaMemsetAsync_v3020", 4400, 4500, 1001), 5400, 5450, 4096);
  file.kernel(file.call("cudaLaunchKernelExC_v11060", 4600, 4700, 1001), 5500, 7500, 1, 7);
  const std::int64_t waited = file.call("cudaStreamSynchronize_v3020", 7600, 8000);
  file.sync(waited, 7650, 7950);
  file.kernel(7, 950, 1450);                                                 // of a call that was not seen
  file.kernel(file.call("cudaLaunchKernel_v7000", 9100, 9200), 9300, 9400);  // outside of all ranges
}

/// A thread of a program made up by a seed. No two things of a program happen at one moment, so that rows have one
/// order.
class RandomThread {
 public:
  RandomThread(ProgramFile& file, std::mt19937_64& random, int number)
      : file_(file), random_(random), tid_(1000 + number), now_(1000 + number) {}

  void run(int events) {
    for (int i = 0; i < events; ++i) {
      switch (below(random_, 7)) {
        case 0:
        case 1:
          open_.push_back({tick(), static_cast<int>(below(random_, 2)), "r" + std::to_string(below(random_, 5))});
          break;
        case 2:
          if (!open_.empty()) close(below(random_, open_.size()));
          break;
        case 3: {
          const std::int64_t begin = tick();
          file_.sync(file_.call("cudaStreamSynchronize_v3020", begin, tick(), tid_), begin + 16, begin + 32);
          break;
        }
        default:
          launch();
      }
    }
    while (!open_.empty()) close(open_.size() - 1);
  }

 private:
  struct Open {
    std::int64_t begin_ns;
    int domain;
    std::string name;
  };

  std::int64_t tick() { return now_ += 64 * static_cast<std::int64_t>(1 + below(random_, 20)); }

  /// NVTX closes the innermost range of a domain: ranges of two domains may overlap without lying in each other.
  void close(std::size_t chosen) {
    const int domain = open_[chosen].domain;
    std::size_t at = open_.size() - 1;
    while (open_[at].domain != domain) --at;
    const Open& range = open_[at];
    const bool registered = below(random_, 2) == 0;
    file_.event(59, range.begin_ns, tick(), tid_, tid_, registered ? "domainId, textId" : "domainId, text",
                std::to_string(range.domain == 0 ? 0 : 3) + ", " +
                    (registered ? std::to_string(file_.string(range.name)) : "'" + range.name + "'"));
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void launch() {
    const std::int64_t begin = tick();
    const bool replays = below(random_, 4) == 0;
    const std::int64_t call =
        file_.call(replays ? "cudaGraphLaunch_v10000" : "cudaLaunchKernel_v7000", begin, tick(), tid_);
    for (std::uint64_t left = replays ? 1 + below(random_, 4) : 1, node = 1; left > 0; --left, ++node) {
      const auto stream = static_cast<int>(below(random_, 3));
      std::int64_t& free_at = free_at_[stream];
      free_at = std::max(now_ + 8 * stream, free_at) + 64 * static_cast<std::int64_t>(1 + below(random_, 9));
      const std::int64_t start = free_at;
      free_at += 64 * static_cast<std::int64_t>(1 + below(random_, 90));
      // A stream is one thread's, and so are its moments.
      const int number = 100 * (tid_ - 999) + stream;
      file_.kernel(call, start, free_at, stream == 2 ? 1 : 0, number, replays ? static_cast<std::int64_t>(node) : 0);
    }
  }

  ProgramFile& file_;
  std::mt19937_64& random_;
  int tid_;
  std::int64_t now_;
  std::vector<Open> open_;
  std::map<int, std::int64_t> free_at_;
};

void check_reports(const Timeline& expected, const Timeline& ours) {
  std::size_t compared = 0;
  for (const ReportViewInfo& view : report_views()) {
    if (!view.nsight_compatible) continue;
    CAPTURE(view.name);
    const std::string theirs = csv_of(expected, std::string(view.name));
    const std::string text = csv_of(ours, std::string(view.name));
    if (theirs != text) FAIL_CHECK(first_difference(theirs, text));
    ++compared;
  }
  CHECK(compared >= 15);
}

}  // namespace

TEST_CASE("a play leaves the tables that an import of the same recording has", "[replay]") {
  ProgramFile file;
  fill(file);
  const Result<Timeline> imported = file.import();
  REQUIRE(imported.ok());
  const NsightProgram program = read_nsight_program(file.image());
  REQUIRE(program.processes.size() == 1);
  for (const std::uint64_t seed : {0u, 1u, 2u}) {  // each way of delivery
    CAPTURE(seed);
    const Timeline timeline = replayed(program, seed);
    for (const auto rows : {&range_rows, &mark_rows, &call_rows, &activity_rows, &sync_rows})
      CHECK(rows(timeline) == rows(*imported));
    CHECK(range_rows(timeline).size() == 7);
    CHECK(activity_rows(timeline).size() == 10);
  }
}

TEST_CASE("a play gets the compatible reports of the recording", "[replay]") {
  ProgramFile file;
  fill(file);
  const Result<Timeline> imported = file.import();
  REQUIRE(imported.ok());
  const Timeline timeline = replayed(read_nsight_program(file.image()), 1);
  check_reports(*imported, timeline);
  CHECK(csv_of(timeline, "nvtx_gpu_proj_trace") ==
        "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,NumGPUOps,"
        "Lvl,NumChild,RangeId,ParentId,RangeStack\n"
        ",9300,100,,,,1000,1000,1,,0,,,\n"
        "step,1500,3900,1000,8000,PushPop,1000,1000,4,0,1,2,,:2\n"
        "forward,1500,3900,1000,3000,PushPop,1000,1000,4,1,1,3,2,:2:3\n"
        "library:registered,2000,3000,1450,500,PushPop,1000,1000,1,2,1,4,3,:2:3:4\n"
        "payload,2000,3000,1500,400,PushPop,1000,1000,1,3,0,5,4,:2:3:4:5\n"
        "backward,5400,2100,4200,2600,PushPop,1000,1001,2,0,0,8,,:8\n");
}

TEST_CASE("random programs, played, get the tables and reports of their import", "[replay][property]") {
  for (const std::uint64_t seed : property_seeds("random programs", repeats(12))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    ProgramFile file;
    file.announce_domain();
    const int threads = 1 + static_cast<int>(below(random, 4));
    for (int i = 0; i < threads; ++i) RandomThread(file, random, i).run(60);
    const Result<Timeline> imported = file.import();
    REQUIRE(imported.ok());
    const Timeline timeline = replayed(read_nsight_program(file.image()), seed);
    for (const auto rows : {&range_rows, &call_rows, &activity_rows, &sync_rows})
      REQUIRE(rows(timeline) == rows(*imported));
    check_reports(*imported, timeline);
  }
}
