// SPDX-License-Identifier: MIT
#include "source/counters/range_choice.hpp"

#include "buffer/name_table.hpp"
#include "support/catch.hpp"

#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/detail/nvtx.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::source::counters;

namespace {

std::uint32_t named(std::string_view text) { return buffer::names().intern(text, false).id; }
std::uint32_t category(std::string_view text) { return detail::intern_category(text); }

}  // namespace

TEST_CASE("patterns have stars and question marks", "[counters]") {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Case cases[] = {{"", "", true},
                        {"", "a", false},
                        {"*", "", true},
                        {"*", "anything", true},
                        {"layer", "layer", true},
                        {"layer", "layers", false},
                        {"layer*", "layer.12.attention", true},
                        {"layer.?.mlp", "layer.3.mlp", true},
                        {"layer.?.mlp", "layer.33.mlp", false},
                        {"*.attention", "layer.1.attention", true},
                        {"*.attention", "layer.1.attention.q", false},
                        {"*a*b*", "xxaxxbxx", true},
                        {"*a*b*", "xxbxxaxx", false},
                        {"a**b", "ab", true},
                        {"*ab", "aab", true},
                        {"*aab*", "aaab", true},
                        {"?", "", false}};
  for (const Case& c : cases) {
    INFO(c.pattern << " and " << c.text);
    CHECK(matches(c.pattern, c.text) == c.matches);
  }
}

TEST_CASE("a pattern of many stars takes no time without end", "[counters]") {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  CHECK_FALSE(matches(pattern + "b", std::string(5000, 'a')));
}

TEST_CASE("ranges are chosen by name, category and depth", "[counters]") {
  const std::uint32_t forward = named("choice.forward");
  const std::uint32_t layer = named("choice.layer.7");
  const std::uint32_t phase = category("choice.phase");
  const std::uint32_t in_domain = category("domain" + std::string(1, detail::kBehindDomain) + "choice.phase");
  const std::uint32_t coloured = category("choice.phase" + std::string(1, detail::kBehindCategory) + "#ff8000");

  RangeChoice all({}, "", -1);
  CHECK(all.contains(forward, 0, 0));
  CHECK(all.contains(0, phase, 9));

  RangeChoice by_name({"choice.layer.*", "nothing", "choice.x"}, "", -1);
  for (int again = 0; again < 2; ++again) {
    CHECK(by_name.contains(layer, 0, 3));
    CHECK_FALSE(by_name.contains(forward, 0, 3));
    CHECK_FALSE(by_name.contains(0, 0, 3));  // unnamed: the name table was full
  }

  RangeChoice by_category({}, "choice.phase", -1);
  CHECK(by_category.contains(forward, phase, 0));
  CHECK(by_category.contains(forward, in_domain, 0));
  CHECK(by_category.contains(forward, coloured, 0));
  CHECK_FALSE(by_category.contains(forward, 0, 0));
  CHECK_FALSE(by_category.contains(forward, category("choice.other"), 0));

  RangeChoice by_depth({"choice.*"}, "", 1);
  CHECK(by_depth.contains(layer, 0, 1));
  CHECK_FALSE(by_depth.contains(layer, 0, 0));
  CHECK_FALSE(by_depth.contains(layer, 0, 2));
}
