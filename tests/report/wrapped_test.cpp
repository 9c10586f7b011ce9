// SPDX-License-Identifier: MIT
#include "report/wrapped.hpp"

#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <random>

using namespace rangefinder;
using namespace rangefinder::report;
using namespace rangefinder::testing;

TEST_CASE("text is broken between words, and goes on behind an indentation", "[report]") {
  CHECK(wrapped("lost  12 ranges dropped: no free block", 20, 6) ==
        "lost  12 ranges\n      dropped: no\n      free block");
  CHECK(wrapped("short", 20, 6) == "short");
  CHECK(wrapped("exactly twenty chars", 20, 6) == "exactly twenty chars");
  CHECK(wrapped("", 20, 6).empty());
  CHECK(wrapped("no limit for this text", 0, 6) == "no limit for this text");
}

TEST_CASE("a word that is longer than a line is broken", "[report]") {
  CHECK(wrapped("see /a/very/long/path/to/a/file.rfcap now", 14, 2) ==
        "see\n  /a/very/long\n  /path/to/a/f\n  ile.rfcap\n  now");
  CHECK(wrapped("漢字漢字漢字漢字", 7, 0) == "漢字漢\n字漢字\n漢字");
}

TEST_CASE("a width without room for the indentation still makes progress", "[report]") {
  CHECK(wrapped("ab cd", 2, 6) == "ab\ncd");
  CHECK(wrapped("漢字", 1, 0) == "漢\n字");
}

TEST_CASE("lines have at most the width and hold all words in order", "[report][property]") {
  std::mt19937_64 random(property_seed("wrapped"));
  for (int round = 0; round < 500; ++round) {
    std::string text, expected;
    for (std::size_t word = any_size(random, 6); word > 0; --word) {
      text += (text.empty() ? "" : " ") + std::string(1 + random() % 12, static_cast<char>('a' + random() % 26));
    }
    const std::size_t width = 8 + random() % 40, indent = random() % 7;
    std::string rest = wrapped(text, width, indent) + "\n", joined;
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
      CHECK(base::display_width(rest.substr(0, end)) <= width);
      joined += rest.substr(0, end);
    }
    const auto letters = [](std::string all) {
      std::erase(all, ' ');
      return all;
    };
    CHECK(letters(joined) == letters(text));
  }
}
