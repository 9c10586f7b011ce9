// SPDX-License-Identifier: MIT
#include "buffer/name_table.hpp"

#include "buffer/literals.hpp"
#include "support/catch.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::buffer;

TEST_CASE("a name has one number for ever", "[buffer]") {
  NameTable table;
  CHECK(table.size() == 0);
  CHECK(table.text(0).empty());
  CHECK(table.text(1).empty());
  const NameTable::Interned first = table.intern("forward", false);
  CHECK(first.id == 1);
  CHECK(first.is_new);
  CHECK_FALSE(table.intern("forward", false).is_new);
  CHECK(table.intern("forward", true).id == 1);
  CHECK(table.intern("", false).id == 2);
  CHECK(table.intern(std::string_view("a\0b", 3), false).id == 3);
  CHECK(table.text(1) == "forward");
  CHECK(table.text(2).empty());
  CHECK(table.text(3) == std::string_view("a\0b", 3));
  CHECK(table.size() == 3);
}

TEST_CASE("a name past the limit is cut and says so", "[buffer]") {
  NameTable table;
  const std::string longest(NameTable::kMaxNameBytes, 'x');
  CHECK_FALSE(table.intern(longest, false).truncated);
  const NameTable::Interned cut = table.intern(longest + "y", false);
  CHECK(cut.truncated);
  CHECK(cut.id == 1);
  CHECK(table.text(1).size() == NameTable::kMaxNameBytes);
}

TEST_CASE("a full table refuses the program's names and keeps room for kernels", "[buffer]") {
  NameTable table;
  SECTION("too many") {
    for (std::uint32_t i = 0; i < NameTable::kMaxNames; ++i) {
      if (table.intern(std::to_string(i), false).id != i + 1) FAIL("name " << i);
    }
  }
  SECTION("too much text") {
    const std::string text(NameTable::kMaxNameBytes - 10, 'x');
    for (std::size_t i = 0; i < NameTable::kMaxTextBytes / text.size(); ++i)
      REQUIRE(table.intern(text + std::to_string(i), false).id != 0);
  }
  CHECK(table.intern("one too many" + std::string(NameTable::kMaxNameBytes - 100, 'y'), false).id == 0);
  const std::uint32_t before = table.size();
  CHECK(table.intern("a kernel" + std::string(NameTable::kMaxNameBytes - 100, 'z'), true).id == before + 1);
  CHECK(table.text(1).size() <= NameTable::kMaxNameBytes);
}

TEST_CASE("texts of inputs leave room for names, and are whole or not there", "[buffer]") {
  NameTable table;
  const std::string text(NameTable::kMaxNameBytes - 10, 'x');
  SECTION("too many") {
    for (std::uint32_t i = 0; i < NameTable::kMaxInputs; ++i) {
      if (table.intern_inputs(std::to_string(i)).id != i + 1) FAIL("text " << i);
    }
  }
  SECTION("too much text") {
    for (std::size_t i = 0; i < NameTable::kMaxInputBytes / (text.size() + 3); ++i)
      REQUIRE(table.intern_inputs(text + std::to_string(100 + i)).id != 0);
  }
  CHECK(table.intern_inputs("another " + text.substr(100)).id == 0);
  CHECK(table.intern_inputs(table.text(1)).id == 1);
  CHECK(table.intern("a range " + text.substr(100), false).id != 0);
  CHECK(table.intern_inputs("a range " + text.substr(100)).id != 0);  // it is there
  NameTable other;
  CHECK(other.intern_inputs(std::string(NameTable::kMaxNameBytes, 'x')).id == 1);
  CHECK(other.intern_inputs(std::string(NameTable::kMaxNameBytes + 1, 'x')).id == 0);
  CHECK(other.size() == 1);
}

TEST_CASE("threads that intern the same names get the same numbers", "[buffer]") {
  NameTable table;
  constexpr int kNames = 5'000;
  std::vector<std::vector<std::uint32_t>> ids(4, std::vector<std::uint32_t>(kNames));
  std::atomic<int> created{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) {
        const int which = t % 2 == 0 ? i : kNames - 1 - i;
        const NameTable::Interned interned = table.intern("name " + std::to_string(which), false);
        ids[t][static_cast<std::size_t>(which)] = interned.id;
        created += interned.is_new ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(created == kNames);
  CHECK(table.size() == kNames);
  CHECK((ids[0] == ids[1] && ids[1] == ids[2] && ids[2] == ids[3]));
  for (int i = 0; i < kNames; ++i) {
    if (table.text(ids[0][static_cast<std::size_t>(i)]) != "name " + std::to_string(i)) FAIL("name " << i);
  }
}

TEST_CASE("categories begin with that of operators", "[buffer]") {
  CHECK(categories().text(1) == "operator");
  CHECK(categories().intern("operator", false).id == 1);
}

namespace {

std::uint32_t interned = 0;
std::uint32_t count_interned(const char*, std::size_t) { return ++interned; }

}  // namespace

TEST_CASE("a literal is found by its address, an array on the stack is not", "[buffer]") {
  auto literals = std::make_unique<Literals>();
  interned = 0;
  static const char* const literal = "a literal of this test";
  const std::uint64_t word = literals->word(literal, 22, 0, count_interned);
  CHECK(word != 0);
  CHECK(interned == 1);
  CHECK(literals->word(literal, 22, 0, count_interned) == word);
  CHECK(interned == 1);
  char local[] = "on the stack";
  CHECK(literals->word(local, sizeof local - 1, 0, count_interned) == 0);
  const auto heap = std::make_unique<char[]>(16);
  CHECK(literals->word(heap.get(), 15, 0, count_interned) == 0);
  CHECK(interned == 1);
  // A library was unloaded, and the drain has seen it: what stands at an address is looked at again.
  literals->forget_first();
  CHECK(literals->word(literal, 22, 1, count_interned) != 0);
  CHECK(interned == 2);
}
