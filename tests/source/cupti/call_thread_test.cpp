// SPDX-License-Identifier: MIT
#include "source/cupti/call_thread.hpp"

#include "support/catch.hpp"

#include <future>
#include <memory>
#include <vector>

namespace rangefinder::source::cupti {
namespace {
using namespace std::chrono_literals;
auto soon() { return std::chrono::steady_clock::now() + 60s; }
auto already() { return std::chrono::steady_clock::now() - 1s; }
}  // namespace

TEST_CASE("tasks run in order on one other thread", "[source]") {
  CallThread calls;
  std::vector<int> order;
  std::thread::id where;
  for (int i = 0; i < 5; ++i) {
    calls.post([&order, &where, i] {
      order.push_back(i);
      where = std::this_thread::get_id();
    });
  }
  const auto last = calls.post([] {});
  REQUIRE(calls.wait(last, soon()));
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(where != std::this_thread::get_id());
  CHECK(calls.finished(last));
  CHECK(calls.end(soon()));
}

TEST_CASE("a task that does not return does not delay callers with a deadline", "[source][fault]") {
  CallThread calls;
  std::promise<void> begun, release;
  const auto stuck = calls.post([&] {
    begun.set_value();
    release.get_future().wait();
  });
  begun.get_future().wait();
  const auto behind = calls.post([] {});
  CHECK_FALSE(calls.wait(stuck, already()));
  CHECK_FALSE(calls.wait(behind, already()));
  CHECK(calls.busy_for() > 0ns);
  CHECK(calls.oldest_unfinished() == stuck);
  CHECK_FALSE(calls.end(already()));
  release.set_value();
  CHECK(calls.wait(behind, soon()));  // what was posted is done all the same
  CHECK(calls.end(soon()));
  CHECK(calls.busy_for() == 0ns);
}

TEST_CASE("a thread that has ended starts again for the next task", "[source]") {
  CallThread calls;
  CHECK(calls.end(soon()));  // there was none
  for (int round = 0; round < 3; ++round) {
    int done = 0;
    REQUIRE(calls.wait(calls.post([&] { ++done; }), soon()));
    CHECK(done == 1);
    CHECK(calls.end(soon()));
  }
}

}  // namespace rangefinder::source::cupti
