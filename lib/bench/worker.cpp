// SPDX-License-Identifier: MIT
#include "base/process_age.hpp"
#include "bench/worker_server.hpp"

#include <rangefinder/bench/worker.hpp>
#include <rangefinder/version.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr int kUsage = 2, kBroken = 70;

WorkerHooks& hooks() {
  static WorkerHooks instance;
  return instance;
}

int answer_all(Channel& channel, WorkerServer& server) {
  for (;;) {
    const Result<Json> request = channel.receive(-1);
    if (!request) {
      if (request.error().code() == ErrorCode::kIncomplete) return 0;  // the harness is gone
      std::fprintf(stderr, "worker: %s\n", request.error().message().c_str());
      return kBroken;
    }
    if (!channel.send(server.answer(*request)).ok()) return 0;
    if (JsonView(*request)["do"].text() == "quit") return 0;
  }
}

/// `progress_fd`: of a rank, memory that it shares with the harness; -1: none.
int serve(int fd, int progress_fd) {
  std::signal(SIGPIPE, SIG_IGN);
  std::optional<RankProgress> progress;
  if (progress_fd >= 0) {
    Result<RankProgress> attached = RankProgress::attach(progress_fd);
    if (!attached) {
      std::fprintf(stderr, "worker: %s\n", attached.error().message().c_str());
      return kBroken;
    }
    progress.emplace(std::move(*attached));
    RankProgress::tell(&*progress);
    // Whole lines, at once: those of a rank that is killed are there, and in order with the others'.
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  }
  WorkerServer server(hooks(), base::process_age_ns(), progress ? &*progress : nullptr);
  Channel channel{base::Fd(fd)};
  const int code = answer_all(channel, server);
  RankProgress::tell(nullptr);
  return code;
}

}  // namespace

void set_worker_hooks(WorkerHooks given) { hooks() = std::move(given); }

int worker_main(int argc, char** argv) {
  if ((argc == 3 || argc == 4) && std::strcmp(argv[1], "--serve") == 0)
    return serve(std::atoi(argv[2]), argc == 4 ? std::atoi(argv[3]) : -1);
  if (argc == 2 && std::strcmp(argv[1], "list") == 0) {
    for (const Benchmark& benchmark : benchmarks())
      std::printf("%-32s %s\n", benchmark.name.c_str(), benchmark.purpose.c_str());
    return std::fflush(stdout) == 0 ? 0 : kUsage;
  }
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("worker of rangefinder %s\n", version());
    return 0;
  }
  std::fprintf(stderr,
               "This program holds workloads; `rangefinder bench run --worker %s` runs them.\n\n"
               "  list        names and purposes\n"
               "  --version   of the library\n",
               argc > 0 ? argv[0] : "PROGRAM");
  return kUsage;
}

}  // namespace rangefinder::bench
