// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <cstring>
#include <string>

namespace rangefinder::capi {
namespace {

/// A struct as this library has it, as it was in the version before, and as it will be in the next.
struct Now {
  std::size_t struct_size;
  std::uint64_t first, added;
};
struct Before {
  std::size_t struct_size;
  std::uint64_t first;
};
struct Next {
  Now now;
  std::uint64_t later;
};
constexpr std::size_t kLeast = RANGEFINDER_SIZE_UP_TO(Now, first);
constexpr Now kDefaults{sizeof(Now), 1, 2};

template <typename Other>
const Now* as_now(const Other& other) {
  return reinterpret_cast<const Now*>(&other);
}

TEST_CASE("options of other versions are read by their size", "[capi]") {
  Now known = kDefaults;
  SECTION("none: the defaults stand") {
    CHECK(read_struct<Now>("f", nullptr, kLeast, known) == RF_STATUS_OK);
    CHECK((known.first == 1 && known.added == 2));
  }
  SECTION("older: what it lacks has its default") {
    const Before before{sizeof before, 10};
    CHECK(read_struct("f", as_now(before), kLeast, known) == RF_STATUS_OK);
    CHECK((known.struct_size == sizeof(Now) && known.first == 10 && known.added == 2));
  }
  SECTION("newer, with nothing in what is not known here") {
    const Next next{{sizeof next, 10, 20}, 0};
    CHECK(read_struct("f", as_now(next), kLeast, known) == RF_STATUS_OK);
    CHECK((known.struct_size == sizeof(Now) && known.first == 10 && known.added == 20));
  }
  SECTION("newer, with something there") {
    const Next next{{sizeof next, 10, 20}, std::uint64_t{1} << 63};
    CHECK(read_struct("f", as_now(next), kLeast, known) == RF_STATUS_UNSUPPORTED);
    CHECK(std::string(rf_last_error()).find("f: a struct of 32 bytes has something in those past 24") == 0);
    CHECK((known.first == 1 && known.added == 2));
  }
  SECTION("of no version") {
    const Before before{kLeast - 1, 10};
    CHECK(read_struct("f", as_now(before), kLeast, known) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(std::string(rf_last_error()).find("f: struct_size is 15, and no version") == 0);
    CHECK(known.first == 1);
  }
}

TEST_CASE("results are written for the caller's version", "[capi]") {
  Next next{{7, 7, 7}, 7};
  Now* const out = &next.now;
  SECTION("older: nothing past its end") {
    CHECK(write_struct("f", out, sizeof(Before), kLeast, Now{0, 10, 20}) == RF_STATUS_OK);
    CHECK((out->struct_size == sizeof(Before) && out->first == 10 && out->added == 7 && next.later == 7));
  }
  SECTION("newer: zero for what is not known here") {
    CHECK(write_struct("f", out, sizeof(Next), kLeast, Now{0, 10, 20}) == RF_STATUS_OK);
    CHECK((out->struct_size == sizeof(Next) && out->first == 10 && out->added == 20 && next.later == 0));
  }
  SECTION("of no version: nothing") {
    CHECK(write_struct("f", out, 0, kLeast, Now{0, 10, 20}) == RF_STATUS_INVALID_ARGUMENT);
    CHECK((out->struct_size == 7 && out->first == 7));
  }
}

}  // namespace
}  // namespace rangefinder::capi
