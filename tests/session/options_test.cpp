// SPDX-License-Identifier: MIT
#include "session/options.hpp"

#include "session/session_fixture.hpp"
#include "support/environment.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;
using rangefinder::testing::Environment;

namespace {

std::string problems_of(std::string_view config) {
  SessionOptions options;
  const Status status = options.apply(config);
  if (!status.ok()) CHECK(status.error().code() == ErrorCode::kInvalidArgument);
  return status.ok() ? "" : status.error().message();
}

}  // namespace

TEST_CASE("a configuration takes values in the ways that people write them", "[session]") {
  SessionOptions options;
  REQUIRE(options
              .apply("output=/tmp/%p.rfcap,memory=32M,grow_limit=2GiB,ring_bytes=1K,cuda=no,cuda_api=0,cuda_sync=false,"
                     "cuda_overhead=off,cpu_counters,cuda_latency=yes,ring_time=1min,dump_step_over=250us,nvml=50ms,"
                     "record_signal=USR1,dump_signal=SIGUSR2,counter_depth=-1,counters=memory+sm,counter_ranges=a|b*,"
                     "pm_sampling=,meta.model=gpt,meta.k=a=b")
              .ok());
  CHECK(options.output == "/tmp/%p.rfcap");
  CHECK(options.memory_bytes == std::uint64_t{32} << 20);
  CHECK(options.grow_limit_bytes == std::uint64_t{2} << 30);
  CHECK(options.ring_bytes == 1024);
  CHECK_FALSE((options.cuda || options.cuda_api || options.cuda_sync || options.cuda_overhead));
  CHECK((options.cpu_counters && options.cuda_latency));
  CHECK(options.ring_time == 60s);
  CHECK(options.dump_step_over == 250us);
  CHECK(options.nvml_period == 50ms);
  CHECK(options.record_signal == SIGUSR1);
  CHECK(options.dump_signal == SIGUSR2);
  CHECK(options.counter_depth == -1);
  CHECK(options.counters == std::vector<std::string>{"memory", "sm"});
  CHECK(options.counter_ranges == std::vector<std::string>{"a", "b*"});
  CHECK(options.pm_sampling.empty());
  CHECK(options.metadata == std::vector<std::pair<std::string, std::string>>{{"model", "gpt"}, {"k", "a=b"}});
}

TEST_CASE("sensors are switched on with a period of their own, or with one that is asked for", "[session]") {
  const auto period = [](std::string_view config) {
    SessionOptions options;
    options.nvml_period = 7ms;
    return options.apply(config).ok() ? options.nvml_period : -1ms;
  };
  CHECK(SessionOptions().nvml_period == 0ms);
  CHECK(period("nvml=on") == 20ms);
  CHECK(period("nvml") == 20ms);
  CHECK(period("nvml=off") == 0ms);
  CHECK(period("nvml=0") == 0ms);
  CHECK(period("nvml=100") == 100ms);
  CHECK(period("nvml=2us") == 1ms);  // no time that is not 0 becomes 0
  CHECK(period("nvml=often") == -1ms);
}

TEST_CASE("a configuration names what it got wrong and keeps the rest", "[session]") {
  SessionOptions options;
  const Status status = options.apply("active=3,momory=1G,mode=fast,,nvtx=off,memory=,wait=-1");
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message() ==
        "configuration: unknown key 'momory', did you mean 'memory'?; mode: 'fast' is not mapped, ring or buffered; "
        "memory: '' is not a size of at least 8MiB and less than 8EiB, such as 64MiB (units K, M, G, KiB, MiB, GiB); "
        "wait: '-1' is not a whole number from 0 to 4294967295");
  CHECK(options.schedule.active == 3);
  CHECK_FALSE(options.nvtx);
  CHECK(options.mode == CaptureMode::kMapped);
  CHECK(options.memory_bytes == SessionOptions{}.memory_bytes);

  CHECK(problems_of("").empty());
  CHECK(problems_of(",,").empty());
  CHECK(problems_of("cuda").empty());  // alone: on
  for (const char* bad :
       {"memory=17179869184G", "memory=1T", "memory=8191K", "pm_sampling_interval=9us", "ring_time=1h",
        "flush_period=0", "dump_signal=NOPE", "record_signal=kill", "dump_signal=9999", "output="}) {
    const std::string_view text = bad;
    const std::size_t equals = text.find('=');
    const std::string start = "configuration: " + std::string(text.substr(0, equals)) + ": '" +
                              std::string(text.substr(equals + 1)) + "' is not ";
    CHECK(problems_of(bad).substr(0, start.size()) == start);
  }
  CHECK(problems_of("\x1b[31m=1") == "configuration: unknown key '\\x1b[31m'");
  CHECK(problems_of("meta.=x").find("unknown key 'meta.'") != std::string::npos);
}

TEST_CASE("times are rounded up to their unit, and plain numbers are milliseconds", "[session]") {
  SessionOptions options;
  REQUIRE(options.apply("flush_period=1ns,stop_timeout=1500us,ring_time=7,dump_step_over=7").ok());
  CHECK(options.flush_period == 1ms);
  CHECK(options.stop_timeout == 2ms);
  CHECK(options.ring_time == 7ms);
  CHECK(options.dump_step_over == 7ms);
}

TEST_CASE("signals are known by name and by number", "[session]") {
  SessionOptions options;
  for (const auto& [text, signal] :
       {std::pair{"USR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGHUP", SIGHUP}, {"none", 0}, {"12", 12}}) {
    options.dump_signal = -1;
    REQUIRE(options.apply(std::string("dump_signal=") + text).ok());
    CHECK(options.dump_signal == signal);
  }
}

TEST_CASE("the environment overrides the program's options", "[session]") {
  const ScratchFolder folder;
  const Environment config("RANGEFINDER_CONFIG",
                           ("output=" + folder.file("env.rfcap") + ",active=2,nonsense=1").c_str());
  SessionOptions options = host_only(folder.file("program.rfcap"));
  options = with_environment(options);
  CHECK(options.output == folder.file("env.rfcap"));
  CHECK(options.schedule.active == 2);
  Session session(host_only(folder.file("program.rfcap")));
  REQUIRE(session.status().ok());
  CHECK(session.output() == folder.file("env.rfcap"));
  { const ProfileRange range{"work"}; }
  REQUIRE(session.stop().ok());
  CHECK(std::filesystem::exists(folder.file("env.rfcap")));
  CHECK_FALSE(std::filesystem::exists(folder.file("program.rfcap")));
}

TEST_CASE("RANGEFINDER_DISABLE switches sessions off", "[session]") {
  const ScratchFolder folder;
  for (const char* value : {"1", "yes"}) {
    const Environment disable("RANGEFINDER_DISABLE", value);
    Session session(host_only(folder.file("a.rfcap")));
    CHECK_FALSE(session.running());
    CHECK(session.status().error().code() == ErrorCode::kUnsupported);
    { const ProfileRange range{"work"}; }
    CHECK(std::filesystem::is_empty(folder.path()));
  }
  for (const char* value : {"0", ""}) {
    const Environment disable("RANGEFINDER_DISABLE", value);
    CHECK(reason_not_to_record() == nullptr);
  }
}

TEST_CASE("placeholders in the capture's name are filled in", "[session]") {
  const Environment rank("RANK", "3");
  const std::string pid = std::to_string(::getpid());
  CHECK(resolve_output("run-%p.rfcap") == "run-" + pid + ".rfcap");
  CHECK(resolve_output("%r%%%q%") == "3%%q%");
  CHECK(resolve_output("").find("session_test-" + pid + ".rfcap") == 0);
  char host[256] = {};
  REQUIRE(::gethostname(host, sizeof host - 1) == 0);
  CHECK(resolve_output("%h") == host);
}

TEST_CASE("a number stands before the ending of a capture's name", "[session]") {
  CHECK(with_number("a/train.rfcap", 7) == "a/train.7.rfcap");
  CHECK(with_number("train", 7) == "train.7");
}

TEST_CASE("the rank comes from the launcher's first variable that is a number", "[session]") {
  const Environment torchrun("RANK", nullptr);
  const Environment slurm("SLURM_PROCID", "what");
  const Environment mpi("OMPI_COMM_WORLD_RANK", "5");
  const Environment pmi("PMI_RANK", "6");
  const Environment world("OMPI_COMM_WORLD_SIZE", "8");
  CHECK(rank_from_environment() == 5);
  CHECK(world_size_from_environment() == 8);
  const Environment none("OMPI_COMM_WORLD_RANK", nullptr);
  const Environment none_either("PMI_RANK", nullptr);
  CHECK(rank_from_environment() == -1);
  CHECK(resolve_output("%r") == "0");
}

TEST_CASE("ranks of mpirun in a job of Slurm are mpirun's", "[session]") {
  const Environment torchrun("RANK", nullptr);
  const Environment slurm("SLURM_PROCID", "0");
  const Environment tasks("SLURM_NTASKS", "1");
  {
    const Environment rank("OMPI_COMM_WORLD_RANK", "3");
    const Environment size("OMPI_COMM_WORLD_SIZE", "4");
    CHECK(rank_from_environment() == 3);
    CHECK(world_size_from_environment() == 4);
  }
  {
    const Environment pmix("PMIX_RANK", "3");  // tells no size, and Slurm's is not of that rank
    CHECK(rank_from_environment() == 3);
    CHECK(world_size_from_environment() == -1);
    const Environment srun("SLURM_PROCID", "3");
    const Environment four("SLURM_NTASKS", "4");
    CHECK(world_size_from_environment() == 4);
  }
}
