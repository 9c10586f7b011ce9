// SPDX-License-Identifier: MIT
#include "exporter/chrome/relay.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

using rangefinder::chrome::Relay;

TEST_CASE("what is handed on is done in order, on another thread", "[exporter]") {
  std::vector<int> done;
  std::thread::id worker;
  Relay<int> relay([&](int& work) {
    worker = std::this_thread::get_id();
    done.push_back(work);
  });
  constexpr std::size_t kLarge = std::size_t{1} << 19;  // so that some of it has to wait
  for (int i = 0; i < 100; ++i) relay.hand_on(i, kLarge);
  relay.finish();
  REQUIRE(done.size() == 100);
  for (int i = 0; i < 100; ++i) REQUIRE(done[static_cast<std::size_t>(i)] == i);
  CHECK(worker != std::this_thread::get_id());
}

TEST_CASE("what work throws comes out where it is handed on, and the rest is dropped", "[exporter]") {
  std::atomic<int> done{0};
  Relay<int> relay([&](int& work) {
    if (work == 3) throw std::runtime_error("the third");
    ++done;
  });
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  const auto hand_on_all = [&] {
    for (int i = 1; i < 100; ++i) relay.hand_on(i, kLarge);
    relay.finish();
  };
  CHECK_THROWS_WITH(hand_on_all(), "the third");
  CHECK(done == 2);
}

TEST_CASE("a relay that ends early drops what waits", "[exporter]") {
  std::atomic<bool> may_go_on{false};
  std::atomic<int> done{0};
  {
    Relay<int> relay([&](int&) {
      while (!may_go_on) std::this_thread::yield();
      ++done;
    });
    for (int i = 0; i < 10; ++i) relay.hand_on(i, 1);
    may_go_on = true;
  }
  CHECK(done <= 10);
}
