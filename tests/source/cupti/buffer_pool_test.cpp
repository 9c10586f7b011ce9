// SPDX-License-Identifier: MIT
#include "source/cupti/buffer_pool.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

namespace rangefinder::source::cupti {

TEST_CASE("a pool hands out zeroed buffers up to its bound and no more", "[source]") {
  const auto pool = BufferPool::create(10 * 8192, 8192);
  REQUIRE(pool != nullptr);
  pool->prepare(3);
  std::set<std::uint8_t*> seen;
  for (int i = 0; i < 10; ++i) {
    const auto buffer = pool->take();
    REQUIRE(buffer.size() == 8192);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 8 == 0);
    CHECK(std::all_of(buffer.begin(), buffer.end(), [](std::uint8_t byte) { return byte == 0; }));
    CHECK(seen.insert(buffer.data()).second);
  }
  CHECK(pool->take().empty());
  CHECK(pool->outstanding() == 10);
}

TEST_CASE("there are at least two buffers, of whole pages", "[source]") {
  const auto pool = BufferPool::create(1, 5000);
  CHECK(pool->buffers() == 2);
  CHECK(pool->buffer_bytes() == 8192);
}

TEST_CASE("what a reader has zeroed is not zeroed again, all else is", "[source]") {
  const auto pool = BufferPool::create(2 * 8192, 8192);
  const auto buffer = pool->take();
  std::memset(buffer.data(), 0xEE, buffer.size());
  REQUIRE(pool->give(buffer.data(), 6000));
  BufferPool::Filled filled;
  REQUIRE(pool->pop(filled));
  CHECK(filled.zeroed == 0);
  std::memset(filled.data, 0, 5000);
  filled.zeroed = 5000;
  pool->recycle(filled);
  CHECK(std::all_of(buffer.begin(), buffer.end(), [](std::uint8_t byte) { return byte == 0; }));
}

TEST_CASE("buffers come back in order and are zero again", "[source]") {
  const auto pool = BufferPool::create(3 * 4096, 4096);
  const auto a = pool->take();
  const auto b = pool->take();
  std::memset(a.data(), 0xFF, a.size());
  std::memset(b.data(), 0xEE, b.size());  // also behind what it says is valid
  CHECK(pool->give(b.data(), 100));
  CHECK(pool->give(a.data(), 4096));
  CHECK(pool->outstanding() == 0);
  BufferPool::Filled filled;
  REQUIRE(pool->pop(filled));
  CHECK(filled.data == b.data());
  CHECK(filled.valid == 100);
  pool->recycle(filled);
  REQUIRE(pool->pop(filled));
  CHECK(filled.data == a.data());
  pool->recycle(filled);
  CHECK_FALSE(pool->pop(filled));
  for (int i = 0; i < 3; ++i) {
    const auto again = pool->take();
    REQUIRE(again.size() == 4096);
    CHECK(std::all_of(again.begin(), again.end(), [](std::uint8_t byte) { return byte == 0; }));
  }
}

TEST_CASE("what is not out is not taken back", "[source][fault]") {
  const auto pool = BufferPool::create(2 * 4096, 4096);
  const auto buffer = pool->take();
  std::uint8_t other[64];
  CHECK_FALSE(pool->give(other, 10));
  CHECK_FALSE(pool->give(nullptr, 10));
  CHECK_FALSE(pool->give(buffer.data() + 8, 10));
  CHECK(pool->give(buffer.data(), 1u << 30));  // more than it holds
  CHECK_FALSE(pool->give(buffer.data(), 10));  // twice
  BufferPool::Filled filled;
  REQUIRE(pool->pop(filled));
  CHECK(filled.valid == 4096);
  CHECK_FALSE(pool->give(buffer.data(), 10));  // while it is decoded
}

TEST_CASE("an emergency buffer goes beyond the bound and back to the system", "[source][fault]") {
  const auto pool = BufferPool::create(2 * 4096, 4096);
  pool->take();
  pool->take();
  CHECK(pool->take().empty());
  const auto spare = pool->take_emergency();
  REQUIRE(spare.size() >= 4096);
  CHECK(pool->outstanding() == 3);
  CHECK(pool->emergencies() == 1);
  std::memset(spare.data(), 1, spare.size());
  CHECK(pool->give(spare.data(), 216));
  BufferPool::Filled filled;
  REQUIRE(pool->pop(filled));
  CHECK(filled.data == spare.data());
  CHECK(filled.valid == 216);
  pool->recycle(filled);
  CHECK_FALSE(pool->give(spare.data(), 216));
}

TEST_CASE("memory that is given back to the system comes again as zeros", "[source]") {
  const auto pool = BufferPool::create(2 * 4096, 4096);
  pool->prepare(2);
  pool->release_memory();
  const auto buffer = pool->take();
  REQUIRE_FALSE(buffer.empty());
  CHECK(buffer[0] == 0);
}

TEST_CASE("threads take and give while one decodes, and no buffer is in two hands", "[source]") {
  const auto pool = BufferPool::create(8 * 4096, 4096);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> given{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto buffer = pool->take();
        if (buffer.empty()) {
          std::this_thread::yield();
          continue;
        }
        std::memcpy(buffer.data(), &t, sizeof t);
        std::memcpy(buffer.data() + 4092, &t, sizeof t);
        if (pool->give(buffer.data(), 8)) ++given;
      }
    });
  }
  std::uint64_t popped = 0;
  bool torn = false;
  std::thread decoder([&] {
    BufferPool::Filled filled;
    for (;;) {
      const bool last = stop;
      while (pool->pop(filled)) {
        std::uint32_t first = 0, end = 0;
        std::memcpy(&first, filled.data, sizeof first);
        std::memcpy(&end, filled.data + 4092, sizeof end);
        torn = torn || first != end || first == 0;
        pool->recycle(filled);
        ++popped;
      }
      if (last) break;
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  decoder.join();
  CHECK(popped == given);
  CHECK_FALSE(torn);
  CHECK(pool->outstanding() == 0);
}

}  // namespace rangefinder::source::cupti
