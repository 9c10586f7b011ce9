// SPDX-License-Identifier: MIT
#include "buffer/arena.hpp"

#include "capture/live_file.hpp"
#include "format/chunk.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::buffer;
using namespace rangefinder::testing;
using format::BlockHeader;

namespace {

constexpr std::uint64_t kMemory = std::uint64_t{4} << 20;

std::unique_ptr<Arena> make(ArenaOptions options) {
  Result<Arena*> arena = Arena::create(options);
  if (!arena) throw std::runtime_error(arena.error().message());
  return std::unique_ptr<Arena>(*arena);
}

std::vector<BlockHeader*> take_all(Arena& arena) {
  std::vector<BlockHeader*> blocks;
  while (BlockHeader* block = arena.take_free()) blocks.push_back(block);
  return blocks;
}

}  // namespace

TEST_CASE("blocks are aligned to their size and handed out once", "[buffer]") {
  const ScratchFolder folder;
  ArenaOptions options;
  options.memory_bytes = kMemory;
  SECTION("in a file") { options.live_path = folder.file("a.live"); }
  SECTION("in private memory") {}
  const std::unique_ptr<Arena> arena = make(options);
  CHECK(arena->bytes() <= kMemory);
  CHECK(arena->free_count() == arena->block_count());
  const std::vector<BlockHeader*> blocks = take_all(*arena);
  CHECK(blocks.size() == arena->block_count());
  CHECK(blocks.size() > 50);
  CHECK(std::set<BlockHeader*>(blocks.begin(), blocks.end()).size() == blocks.size());
  for (BlockHeader* block : blocks) {
    CHECK(reinterpret_cast<std::uintptr_t>(block) % detail::kBlockBytes == 0);
    std::memset(reinterpret_cast<char*>(block) + sizeof *block, 0xAB, detail::kBlockBytes - sizeof *block);
  }
  CHECK(arena->free_count() == 0);
  // The last one back is the first one out: it is still in the cache.
  arena->give_free(blocks[3]);
  arena->give_free(blocks[5]);
  CHECK(arena->take_free() == blocks[5]);
  CHECK(arena->take_free() == blocks[3]);
  CHECK_FALSE(arena->grow());
}

TEST_CASE("of a flight recorder the blocks drained last are not used again as long as others are free", "[buffer]") {
  ArenaOptions options;
  options.memory_bytes = kMemory;
  options.keep_newest = true;
  const std::unique_ptr<Arena> arena = make(options);
  const std::uint32_t kept = arena->block_count() / 4;
  REQUIRE(kept > 10);
  std::deque<BlockHeader*> drained;
  for (std::uint32_t i = 0; i < 10 * arena->block_count(); ++i) {
    BlockHeader* const block = arena->take_free();
    REQUIRE(block != nullptr);
    REQUIRE(std::find(drained.begin(), drained.end(), block) == drained.end());
    arena->give_drained(block);
    drained.push_back(block);
    if (drained.size() > kept) drained.pop_front();
  }
  // Many new threads at once find all blocks that are not kept, and soon those too, oldest first.
  const std::vector<BlockHeader*> free = take_all(*arena);
  CHECK(free.size() == arena->block_count() - kept);
  arena->free_oldest_drained();
  std::vector<BlockHeader*> last = take_all(*arena);
  CHECK(last.size() > arena->block_count() / 8);
  std::reverse(last.begin(), last.end());
  CHECK(std::equal(last.begin(), last.end(), drained.begin()));
  std::size_t more = 0;
  for (std::size_t taken = 1; taken != 0; more += taken) {
    arena->free_oldest_drained();
    taken = take_all(*arena).size();
  }
  CHECK(last.size() + more == kept);
}

TEST_CASE("full blocks reach the drain in the order in which they became full", "[buffer]") {
  ArenaOptions options;
  options.memory_bytes = kMemory;
  const std::unique_ptr<Arena> arena = make(options);
  std::vector<BlockHeader*> blocks = take_all(*arena);
  blocks.resize(10);
  std::uint32_t waiting = 0;
  for (BlockHeader* block : blocks) CHECK(arena->push_full(block) == ++waiting);
  std::vector<BlockHeader*> drained;
  for (BlockHeader* block = arena->take_all_full(); block != nullptr; block = arena->next_full(block))
    drained.push_back(block);
  CHECK(drained == blocks);
  CHECK(arena->take_all_full() == nullptr);
}

TEST_CASE("an arena grows to its limit", "[buffer]") {
  const ScratchFolder folder;
  ArenaOptions options;
  options.memory_bytes = kMemory;
  options.limit_bytes = std::uint64_t{40} << 20;
  SECTION("in a file") { options.live_path = folder.file("a.live"); }
  SECTION("in private memory") {}
  const std::unique_ptr<Arena> arena = make(options);
  std::vector<BlockHeader*> blocks = take_all(*arena);
  while (arena->grow()) {
    const std::vector<BlockHeader*> more = take_all(*arena);
    CHECK_FALSE(more.empty());
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  CHECK(blocks.size() == (std::uint64_t{40} << 20) / detail::kBlockBytes);
  CHECK(std::set<BlockHeader*>(blocks.begin(), blocks.end()).size() == blocks.size());
  for (BlockHeader* block : blocks) block->tid = 1;
  while (arena->prepare(100)) {
  }
  if (!options.live_path.empty()) CHECK(std::filesystem::file_size(options.live_path) == arena->bytes());
}

TEST_CASE("many threads take blocks and hand them in, and none is lost", "[buffer]") {
  ArenaOptions options;
  options.memory_bytes = kMemory;
  const std::unique_ptr<Arena> arena = make(options);
  std::atomic<bool> end{false};
  std::atomic<std::uint64_t> handed_in{0};
  std::atomic<std::uint64_t> taken_twice{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50'000; ++i) {
        BlockHeader* block = arena->take_free();
        if (block == nullptr) continue;
        if (block->drained.exchange(1) != 0) ++taken_twice;  // stands for "somebody has it"
        if (i % 3 == 0) {
          block->drained = 0;
          arena->give_free(block);
        } else {
          ++handed_in;
          arena->push_full(block);
        }
      }
    });
  }
  std::atomic<std::uint64_t> drained{0};
  std::thread drain([&] {
    while (!end) {
      for (BlockHeader* block = arena->take_all_full(); block != nullptr;) {
        BlockHeader* const next = arena->next_full(block);
        block->drained = 0;
        arena->give_free(block);
        ++drained;
        block = next;
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  while (drained < handed_in && taken_twice == 0) ::sched_yield();
  end = true;
  drain.join();
  CHECK(taken_twice == 0);
  CHECK(drained == handed_in);
  CHECK(arena->free_count() == arena->block_count());
  CHECK(take_all(*arena).size() == arena->block_count());
}

TEST_CASE("names are readable from the live file, until their room is full", "[buffer]") {
  const ScratchFolder folder;
  ArenaOptions options;
  options.memory_bytes = kMemory;
  options.live_path = folder.file("a.live");
  options.file_header.pid = 77;
  options.file_header = format::sealed(options.file_header);
  const std::unique_ptr<Arena> arena = make(options);
  std::uint32_t published = 0;
  for (std::uint32_t id = 1; arena->publish_name(id, std::string(id % 100, 'n')); ++id) published = id;
  CHECK(published > 1'000);
  arena->count(2, 5);
  arena->count(2, 6);
  arena->count(1'000'000, 1);  // of no number
  CHECK(arena->counted(2) == 11);
  Result<base::InputFile> file = base::InputFile::open(options.live_path);
  REQUIRE(file.ok());
  const Result<capture::LiveContent> live = capture::read_live_file(*file);
  REQUIRE(live.ok());
  CHECK(live->header.pid == 77);
  REQUIRE(live->names.size() == published);
  for (std::uint32_t i = 0; i < published; ++i) {
    if (live->names[i] != std::pair<std::uint32_t, std::string>(i + 1, std::string((i + 1) % 100, 'n')))
      FAIL("name " << i);
  }
  CHECK(live->health.at(2) == 11);
}

TEST_CASE("what is written after an arena retired lands nowhere", "[buffer]") {
  const ScratchFolder folder;
  ArenaOptions options;
  options.memory_bytes = kMemory;
  options.live_path = folder.file("a.live");
  std::unique_ptr<Arena> arena = make(options);
  BlockHeader* const block = arena->take_free();
  const bool keep = GENERATE(true, false);
  arena->retire(!keep);
  CHECK(std::filesystem::exists(options.live_path) == keep);
  block->sequence = 42;  // a straggler
  std::memset(reinterpret_cast<char*>(block), 1, detail::kBlockBytes);
  arena.reset();
  CHECK(std::filesystem::exists(options.live_path) == keep);
}

TEST_CASE("an arena that cannot be made says why and leaves no file", "[buffer]") {
  const ScratchFolder folder;
  ArenaOptions options;
  options.memory_bytes = 100'000;
  CHECK(Arena::create(options).error().message().find("is too little; at least") != std::string::npos);
  options.memory_bytes = kMemory;
  options.live_path = folder.file("no/such/folder");
  CHECK_FALSE(Arena::create(options).ok());
  options.live_path = folder.file("a.live");
  options.memory_bytes = std::uint64_t{1} << 50;  // no disk holds it
  CHECK_FALSE(Arena::create(options).ok());
  CHECK(std::filesystem::is_empty(folder.path()));
}
