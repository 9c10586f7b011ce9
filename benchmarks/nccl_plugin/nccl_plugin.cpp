// SPDX-License-Identifier: MIT
// What the plugin costs the thread that calls a collective: all calls that NCCL makes of it there, for an all-reduce
// that is launched alone. The progress thread's calls come on another thread.
//
//   bench_nccl_plugin [--rounds N] [--threads N]
#include "common/arguments.hpp"
#include "common/cases.hpp"
#include "common/floor.hpp"
#include "source/nccl/profiler_api.hpp"

#include <rangefinder/session.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace rangefinder::nccl;
using bench::TwoReadsAndStore;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_nccl_plugin: %s\n", why.c_str());
  std::_Exit(3);
}

/// The table of a version, as NCCL finds it.
template <typename Profiler>
const Profiler& table_of(int version) {
  void* const library = ::dlopen(RANGEFINDER_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) give_up(::dlerror());
  const void* const table = ::dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str());
  if (table == nullptr) give_up("no table of version " + std::to_string(version));
  return *static_cast<const Profiler*>(table);
}

/// A communicator of a thread's own, and the launch of an all-reduce on it.
template <int kVersion, typename Profiler>
class Launches {
  using Descriptor = typename Profiler::Descriptor;

 public:
  static void set_up() {
    table_ = &table_of<Profiler>(kVersion);
    int mask = 0;
    if constexpr (kVersion <= 3)
      table_->init(&context_, &mask);
    else if constexpr (kVersion == 4)
      table_->init(&context_, &mask, "world", 0x1234567890ABCDEF, 1, 8, 3, nullptr);
    else
      table_->init(&context_, 0x1234567890ABCDEF, &mask, "world", 1, 8, 3, nullptr);
    if (context_ == nullptr || mask == 0) give_up("no communicator");
  }
  static void run(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      launch();
      BENCH_BODY;
    }
  }

 private:
  static void* start(Descriptor& event) {
    void* handle = nullptr;
    table_->start_event(context_, &handle, &event);
    return handle;
  }
  static void stop(void* handle) {
    if (handle != nullptr) table_->stop_event(handle);
  }
  static Descriptor descriptor(EventKind kind, void* parent) {
    Descriptor event{};
    event.type = static_cast<decltype(event.type)>(kind);
    event.parent = parent;
    return event;
  }

  static void launch() {
    void* parent = nullptr;
    if constexpr (kVersion >= 5) {
      Descriptor group_api = descriptor(kGroupApi, nullptr);
      parent = start(group_api);
      Descriptor api = descriptor(kCollectiveApi, parent);
      api.collective_api = {"AllReduce", 1 << 20, "ncclBfloat16", 0, nullptr, false};
      void* const call = start(api);
      stop(call);
      stop(parent);
      parent = call;
    }
    Descriptor group = descriptor(kGroup, nullptr);
    void* const launched = start(group);
    Descriptor event = descriptor(kCollective, kVersion >= 5 ? parent : launched);
    set(event.collective);
    void* const collective = start(event);
    stop(collective);
    stop(launched);
  }
  template <typename Event>
  static void set(Event& event) {
    event.count = 1 << 20;
    if constexpr (requires { event.communicator_hash; }) {
      event.communicator_name = "world";
      event.communicator_hash = 0x1234567890ABCDEF;
    }
    if constexpr (requires { event.function = "text"; }) {
      event.function = "AllReduce";
      event.datatype = "ncclBfloat16";
      event.algorithm = "RING";
      event.protocol = "SIMPLE";
    } else {
      event.function = 4, event.datatype = 9, event.algorithm = 1, event.protocol = 2;
    }
    if constexpr (requires { event.channels; }) event.channels = 24;
  }

  static inline const Profiler* table_ = nullptr;
  static inline thread_local void* context_ = nullptr;
};

std::unique_ptr<rangefinder::Session> session;
std::string folder;

void record() {
  rangefinder::SessionOptions options;
  options.output = folder + "/%p.rfcap";
  options.cuda = false;
  options.memory_bytes = std::uint64_t{64} << 20;
  session = std::make_unique<rangefinder::Session>(options);
  if (!session->status().ok()) give_up(session->status().error().message());
}

std::string stop() {
  const std::string path = session->output();
  (void)session->stop();
  const std::uint64_t dropped = session->health().dropped_collectives;
  ::unlink(path.c_str());
  return dropped == 0 ? "none dropped" : std::to_string(dropped) + " dropped and counted";
}

template <int kVersion, typename Profiler>
void add(std::vector<bench::Case>& all) {
  using Measured = Launches<kVersion, Profiler>;
  const std::string version = "plugin v" + std::to_string(kVersion);
  bench::Case off;
  off.name = version + ", no session";
  off.what = "off";
  off.set_up = off.thread_set_up = Measured::set_up;
  off.run = Measured::run;
  bench::Case on = off;
  on.name = version + ", recording";
  on.what = "recording";
  on.set_up = [] {
    record();
    Measured::set_up();
  };
  on.finish = stop;
  // Within the bound of memory: the drain empties the blocks between rounds, as it does between the steps of a program.
  on.between = [] { ::usleep(5000); };
  all.push_back(std::move(off));
  all.push_back(std::move(on));
}

std::vector<bench::Case> cases() {
  std::vector<bench::Case> all(1);
  all[0].name = bench::kFloor;
  all[0].what = "floor";
  all[0].run = BENCH_LOOP(const TwoReadsAndStore r("x"); BENCH_BODY);
  all[0].set_up = all[0].thread_set_up = TwoReadsAndStore::touch;
  add<1, ProfilerV1>(all);
  add<4, ProfilerV4>(all);
  add<6, ProfilerV6>(all);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options;
  options.floor = bench::kFloor;
  options.per_round = 5000;
  options.clock = bench::Clock::kThread;
  bench::read_arguments(argc, argv, {{"--rounds", &options.rounds}, {"--threads", &options.threads}});
  char made[] = "/tmp/rangefinder-bench-XXXXXX";
  if (::mkdtemp(made) == nullptr) return 3;
  folder = made;
  std::printf("a collective, by NCCL's profiler plugin: %s\n", bench::machine().c_str());
  const std::vector<bench::Row> rows = bench::measure(cases(), options);
  bench::print(rows, options);
  constexpr double kMostNs = 1000, kMostOffNs = 100;
  for (const int version : {1, 4, 6}) {
    const std::string name = "plugin v" + std::to_string(version);
    bench::print_added("ns a collective, " + name + ", recording", kMostNs, rows, name + ", recording", "");
    bench::print_added("ns a collective, " + name + ", no session", kMostOffNs, rows, name + ", no session", "");
  }
  ::rmdir(made);
  return bench::exit_code();
}
