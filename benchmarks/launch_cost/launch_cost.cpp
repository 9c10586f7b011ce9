// SPDX-License-Identifier: MIT
// One kernel launch through the driver, in a range: without a recording, and with more and more of it switched on.
//
//   bench_launch_cost [--rounds N]
#include "common/cases.hpp"
#include "support/cuda_program.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace {

std::optional<rangefinder::testing::CudaProgram> program;
std::unique_ptr<rangefinder::Session> session;
std::string folder;

void open() {
  rangefinder::Result<rangefinder::testing::CudaProgram> opened = rangefinder::testing::CudaProgram::open();
  if (!opened) std::_Exit(3);
  program.emplace(std::move(*opened));
}

void record(bool cuda, bool api, bool rest) {
  rangefinder::SessionOptions options;
  options.output = folder + "/%p.rfcap";
  options.cuda = cuda;
  options.cuda_api = api;
  options.cuda_sync = options.cuda_overhead = rest;
  options.memory_bytes = std::uint64_t{256} << 20;
  session = std::make_unique<rangefinder::Session>(options);
  if (!session->status().ok() || (cuda && !session->device().full)) std::_Exit(3);
  open();
}

std::string stop() {
  (void)session->stop();
  ::unlink(session->output().c_str());
  const rangefinder::CaptureHealth health = session->health();
  return health.complete() ? "nothing lost"
                           : std::to_string(health.cupti_dropped + health.dropped_launches) + " lost and counted";
}

std::vector<bench::Case> cases() {
  std::vector<bench::Case> all;
  const auto add = [&](const char* name, const char* what, std::function<void()> set_up) -> bench::Case& {
    bench::Case added;
    added.name = name;
    added.what = what;
    added.set_up = std::move(set_up);
    added.run = [](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        const rangefinder::ProfileRange range("launch");
        (void)program->launch(0);
      }
    };
    added.between = [] { (void)program->synchronize(); };
    all.push_back(std::move(added));
    return all.back();
  };
  add("launch, nothing recorded", "floor", open);
  add("ranges", "no CUPTI", [] { record(false, false, false); }).finish = stop;
  add("ranges + kernels", "callback", [] { record(true, false, false); }).finish = stop;
  add("ranges + kernels + API calls", "callback and API records", [] { record(true, true, false); }).finish = stop;
  add("everything", "the default", [] { record(true, true, true); }).finish = stop;
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options;
  options.floor = "launch, nothing recorded";
  options.per_round = 500;  // a stream queues 1,024: past that a launch waits for the device
  if (argc == 3 && std::string(argv[1]) == "--rounds")
    options.rounds = std::atoi(argv[2]);
  else if (argc != 1)
    return std::fprintf(stderr, "bench_launch_cost [--rounds N]\n"), 2;
  // Not opened here: a child of fork cannot use the driver of its parent.
  if (::access("/dev/nvidiactl", F_OK) != 0) return std::printf("SKIPPED: no NVIDIA device on this machine\n"), 0;
  char made[] = "/tmp/rangefinder-bench-XXXXXX";
  if (::mkdtemp(made) == nullptr) return 3;
  folder = made;
  std::printf("launch cost: %s\n", bench::machine().c_str());
  bench::print(bench::measure(cases(), options), options);
  ::rmdir(made);
  return 0;
}
