// SPDX-License-Identifier: MIT
#include "common/cases.hpp"
#include "parts.hpp"
#include "raw_cupti.hpp"
#include "recording.hpp"
#include "support/allocation_count.hpp"

#include <rangefinder/range.hpp>

#include <fake_cupti.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {
namespace {

constexpr const char* kLaunch = "cuLaunchKernel";
constexpr const char* kNoted = "launches noted";
constexpr const char* kDecoded = "records decoded, packed and written";
constexpr int kRecordsOfALaunch = 2;  // the kernel's and the call's

void open_fake() {
  ::setenv("RANGEFINDER_CUPTI_LIBRARY", FAKE_CUPTI_PATH, 1);
  fakecupti_reset();
  fakecupti_set_launch_latency(0);
  fakecupti_tell_calls(kLaunch, 0);  // its table of functions is made now
}

std::uint64_t allocations = 0;

/// Callbacks alone: what is on the launching thread.
Case told(const char* name, const char* what) {
  Case made;
  made.name = name;
  made.what = what;
  made.run = [](std::uint64_t n) {
    const rangefinder::ProfileRange range("launches");
    const std::uint64_t before = rangefinder::testing::allocations_of_this_thread();
    fakecupti_tell_calls(kLaunch, n);
    allocations += rangefinder::testing::allocations_of_this_thread() - before;
  };
  return made;
}

std::vector<Case> callbacks() {
  std::vector<Case> all;
  all.push_back(told("a callback that does nothing", "floor"));
  all.back().set_up = [] {
    open_fake();
    start_raw_cupti({.kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}, .callbacks = true});
  };
  all.push_back(told(kNoted, "rangefinder"));
  all.back().set_up = [] {
    open_fake();
    start_recording({.api = true});
  };
  all.back().between = flush_recording;
  all.back().finish = [] { return std::to_string(allocations) + " allocations while launching, " + stop_recording(); };
  return all;
}

/// Whole launches; what counts is what other threads do about them.
Case launched(const char* name, const char* what) {
  Case made;
  made.name = name;
  made.what = what;
  made.run = [](std::uint64_t n) {
    FakeKernel kernel;
    kernel.name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>";
    const rangefinder::ProfileRange range("launches");
    for (std::uint64_t i = 0; i < n; ++i) fakecupti_launch(kLaunch, &kernel);
  };
  return made;
}

std::vector<Case> records() {
  std::vector<Case> all;
  all.push_back(launched("records walked and copied", "floor"));
  all.back().set_up = [] {
    open_fake();
    start_raw_cupti({.kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER}, .walk = true});
  };
  all.back().between = flush_raw_cupti;
  all.push_back(launched(kDecoded, "rangefinder"));
  all.back().set_up = [] {
    open_fake();
    start_recording({.api = true});
    // Not where the launching thread's time counts: watching takes some of it.
    fakecupti_watch_allocations(+[] { return rangefinder::testing::allocations_of_this_thread(); });
  };
  all.back().between = flush_recording;
  all.back().finish = [] {
    const std::uint64_t made = fakecupti_allocations(kFakeApiCallback) + fakecupti_allocations(kFakeBufferRequested);
    return std::to_string(made) + " allocations in callbacks and requests for " +
           std::to_string(fakecupti_callbacks(kFakeBufferRequested)) + " buffers, " + stop_recording();
  };
  return all;
}

/// The row's remark begins with the number.
void print_allocations(const Row& row) {
  print_target("allocations on the launching thread, " + row.name, 0,
               row.remark.empty() ? 1 : std::atof(row.remark.c_str()), row.remark);
}

}  // namespace

void measure_launches(int rounds) {
  Options options;
  options.rounds = rounds;
  options.floor = "a callback that does nothing";
  const std::vector<Row> threads = measure(callbacks(), options);
  print(threads, options);
  print_added("launching thread, ns a launch beyond a callback that does nothing", 60, threads, kNoted, options.floor);
  print_allocations(threads.back());
  options.threads = 2;
  print(measure(callbacks(), options), options);

  options.threads = 1;
  options.clock = Clock::kOthers;
  options.floor = "records walked and copied";
  const std::vector<Row> behind = measure(records(), options);
  print(behind, options);
  print_added("background threads, ns of CPU time a record", 250, behind, kDecoded, "", kRecordsOfALaunch);
  print_allocations(behind.back());
}

}  // namespace bench
