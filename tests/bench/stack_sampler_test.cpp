// SPDX-License-Identifier: MIT
#include "bench/stack_sampler.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <set>
#include <thread>

using rangefinder::ErrorCode;
using namespace rangefinder::bench;

namespace {

std::int64_t thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Works for so much CPU time of its own, however busy the machine is.
[[gnu::noinline]] std::uint64_t planted_work(std::int64_t cpu_ns) {
  std::uint64_t value = 1;
  for (const std::int64_t end = thread_cpu_ns() + cpu_ns; thread_cpu_ns() < end;) {
    for (int i = 0; i < 20'000; ++i) value = value * 6'364'136'223'846'793'005 + 1;
  }
  volatile std::uint64_t used = value;
  return used;
}

[[gnu::noinline]] std::uint64_t planted_caller(std::int64_t cpu_ns) { return planted_work(cpu_ns) + 1; }

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Whether the stack has the work, called by its caller.
bool is_of_work(JsonView document, JsonView sample) {
  bool work = false;
  for (const JsonView function :
       document["stacks"].items().at(static_cast<std::size_t>(sample.items()[3].integer())).items()) {
    const std::string name = document["functions"].items().at(static_cast<std::size_t>(function.integer())).text();
    if (work && ends_with(name, "planted_caller")) return true;
    work = work || ends_with(name, "planted_work");
  }
  return false;
}

}  // namespace

TEST_CASE("samples are of the threads that work, with their callers and CPU time", "[bench]") {
  constexpr std::int64_t kWork_ns = 100'000'000;
  auto sampler = StackSampler::start();
  REQUIRE(sampler.ok());
  const std::int64_t begin_ns = thread_cpu_ns();
  std::thread other([] { planted_caller(kWork_ns); });  // one that was not there at first
  planted_caller(kWork_ns);
  other.join();
  const std::int64_t main_ns = thread_cpu_ns() - begin_ns;
  const Json samples = to_json(sampler->stop());
  const JsonView document = samples;
  CHECK(document["lost"].integer(-1) == 0);
  std::int64_t cpu_ns = 0, work_ns = 0, last_ns = 0;
  std::set<std::int64_t> threads;
  REQUIRE(document["samples"].items().size() >= 20);
  for (const JsonView sample : document["samples"].items()) {
    REQUIRE(sample.items().size() == 4);
    CHECK(sample.items()[0].integer() > 0);
    CHECK(sample.items()[2].integer() >= 0);
    last_ns = sample.items()[0].integer();
    cpu_ns += sample.items()[2].integer();
    if (!is_of_work(document, sample)) continue;
    work_ns += sample.items()[2].integer();
    threads.insert(sample.items()[1].integer());
  }
  CHECK(last_ns > 0);
  // All CPU time up to each thread's last sample, and most of it in the work.
  CHECK(cpu_ns <= main_ns + kWork_ns * 3 / 2);
  CHECK(cpu_ns >= kWork_ns);
  if (!RANGEFINDER_HAS_LIBDW) RANGEFINDER_SKIP("built without libdw: functions have no names");
  CHECK(threads.size() == 2);
  CHECK(work_ns >= cpu_ns / 2);
}

TEST_CASE("waiting threads are not sampled, and none after the end", "[bench]") {
  auto sampler = StackSampler::start();
  REQUIRE(sampler.ok());
  CHECK(StackSampler::start().error().code() == ErrorCode::kBusy);
  planted_work(2'000'000);  // after it a sample is not followed by one of the time that it took itself
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // what work there was has its samples
  const std::int64_t waits_ns = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const StackSamples samples = sampler->stop();
  const auto of_waiting = std::count_if(samples.samples.begin(), samples.samples.end(),
                                        [&](const StackSample& sample) { return sample.time_ns >= waits_ns; });
  CHECK(of_waiting < 20);  // of 50
  CHECK(sampler->stop().samples.empty());
  ::raise(SIGPROF);  // one that comes late ends nothing
  CHECK(StackSampler::start().ok());
}

TEST_CASE("somebody else's SIGPROF is left alone", "[bench]") {
  struct sigaction before {
  }, other{};
  other.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGPROF, &other, &before) == 0);
  const auto sampler = StackSampler::start();
  REQUIRE_FALSE(sampler.ok());
  CHECK(sampler.error().message().find("SIGPROF") != std::string::npos);
  ::sigaction(SIGPROF, &before, nullptr);
}
