// SPDX-License-Identifier: MIT
#include "common/size_class_pool.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using examples::SizeClassPool;

namespace {

struct Block {
  unsigned char* data;
  std::size_t bytes;
  unsigned char mark;
};

Block marked(SizeClassPool& pool, std::size_t bytes, unsigned char mark, std::uint64_t stream = 0) {
  Block block{static_cast<unsigned char*>(pool.allocate(bytes, stream)), bytes, mark};
  std::memset(block.data, mark, bytes);
  return block;
}

bool keeps_its_mark(const Block& block) {
  return std::all_of(block.data, block.data + block.bytes, [&](unsigned char byte) { return byte == block.mark; });
}

/// Allocates and frees at random; false when a block was written over or lies askew.
bool stress(SizeClassPool& pool, std::uint64_t seed, std::uint64_t stream, int times) {
  std::mt19937_64 random(seed);
  std::vector<Block> live;
  bool good = true;
  for (int i = 0; i < times; ++i) {
    if (live.size() > 20 || (!live.empty() && random() % 3 == 0)) {
      std::swap(live[random() % live.size()], live.back());
      good = good && keeps_its_mark(live.back()) && pool.free(live.back().data);
      live.pop_back();
    } else {
      live.push_back(marked(pool, 1 + random() % 5000, static_cast<unsigned char>(random()), stream));
      good = good && reinterpret_cast<std::uintptr_t>(live.back().data) % SizeClassPool::kAlignment == 0;
    }
  }
  for (const Block& block : live) good = good && keeps_its_mark(block) && pool.free(block.data);
  return good;
}

}  // namespace

TEST_CASE("blocks of a pool are aligned and do not overlap", "[examples]") {
  SizeClassPool pool;
  CHECK(stress(pool, rangefinder::testing::property_seed("pool"), 0, 5000));
}

TEST_CASE("a pool serves a freed block again, of its size class alone", "[examples]") {
  SizeClassPool pool;
  void* const first = pool.allocate(1000);
  REQUIRE(pool.free(first));
  CHECK(pool.allocate(1025) != first);
  CHECK(pool.allocate(513) == first);
  CHECK(pool.counts().hits == 1);
  CHECK(pool.counts().allocations == 3);
}

TEST_CASE("a pool refuses to free a block twice", "[examples]") {
  SizeClassPool pool;
  void* const block = pool.allocate(64);
  CHECK(pool.free(block));
  CHECK_FALSE(pool.free(block));
  CHECK(pool.counts().refused_frees == 1);
  // Nor is it in the list twice.
  CHECK(pool.allocate(64) != pool.allocate(64));
}

TEST_CASE("a pool conserves bytes", "[examples]") {
  SizeClassPool pool;
  std::vector<void*> blocks;
  for (std::size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) blocks.push_back(pool.allocate(bytes));
  const auto full = pool.counts();
  CHECK(full.live_bytes > 0);
  CHECK(full.live_block_bytes >= full.live_bytes);
  CHECK(full.live_block_bytes == full.reserved_bytes);
  for (void* const block : blocks) CHECK(pool.free(block));
  const auto empty = pool.counts();
  CHECK(empty.live_bytes == 0);
  CHECK(empty.live_block_bytes == 0);
  CHECK(empty.free_block_bytes == full.reserved_bytes);
  CHECK(empty.reserved_bytes == full.reserved_bytes);
}

TEST_CASE("a block that a stream freed serves others only once that stream is done", "[examples]") {
  SizeClassPool pool;
  void* const block = pool.allocate(4096, 7);
  REQUIRE(pool.free(block));
  SECTION("its own stream at once") { CHECK(pool.allocate(4096, 7) == block); }
  SECTION("another one not before") { CHECK(pool.allocate(4096, 8) != block); }
  SECTION("another one after") {
    pool.synchronized(9);  // of no concern
    void* const other = pool.allocate(4096, 8);
    CHECK(other != block);
    pool.synchronized(7);
    CHECK(pool.allocate(4096, 8) == block);
    // Now it is stream 8's.
    REQUIRE(pool.free(block));
    CHECK(pool.allocate(4096, 7) != block);
  }
}

TEST_CASE("a pool refuses sizes that no memory has", "[examples]") {
  SizeClassPool pool;
  CHECK_THROWS_AS(pool.allocate(~std::size_t{0}), std::bad_alloc);
  CHECK_THROWS_AS(pool.allocate(std::size_t{1} << 48), std::bad_alloc);
  CHECK(pool.counts().allocations == 0);
  CHECK(pool.free(pool.allocate(0)));
}

TEST_CASE("threads share a pool", "[examples]") {
  SizeClassPool pool;
  bool good[4] = {};
  const std::uint64_t seed = rangefinder::testing::property_seed("threads of a pool");
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back([&, i] { good[i] = stress(pool, seed + i, i % 2, 3000); });
  for (std::thread& thread : threads) thread.join();
  CHECK(std::all_of(std::begin(good), std::end(good), [](bool each) { return each; }));
  const auto counts = pool.counts();
  CHECK(counts.live_bytes == 0);
  CHECK(counts.free_block_bytes == counts.reserved_bytes);
  CHECK(counts.allocations > 4000);
  CHECK(counts.refused_frees == 0);
}
