// SPDX-License-Identifier: MIT
#include "exporter/html/encode.hpp"

#include "exporter/html/blocks.hpp"
#include "exporter/html/page_reader.hpp"
#include "support/catch.hpp"

#include <limits>
#include <string>

namespace rangefinder::html {
namespace {

using testing::PageReader;

std::string varint(std::uint64_t value) {
  std::string out;
  append_varint(out, value);
  return out;
}
std::string zigzag(std::int64_t value) {
  std::string out;
  append_zigzag(out, value);
  return out;
}

TEST_CASE("numbers of the page take as many bytes as they need", "[exporter]") {
  CHECK(varint(0) == std::string(1, '\0'));
  CHECK(varint(127) == "\x7F");
  CHECK(varint(128) == "\x80\x01");
  CHECK(varint(kMostUnsigned).size() == 8);
  CHECK(varint(std::numeric_limits<std::uint64_t>::max()) == varint(kMostUnsigned));
  CHECK(zigzag(0) == std::string(1, '\0'));
  CHECK(zigzag(-1) == "\x01");
  CHECK(zigzag(1) == "\x02");
  CHECK(zigzag(std::numeric_limits<std::int64_t>::min()) == zigzag(-kMostSigned));
  CHECK(zigzag(-kMostSigned).size() <= 8);
}

TEST_CASE("base64 is that of RFC 4648", "[exporter]") {
  CHECK(base64("").empty());
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(base64("\xFB\xFF\xFE") == "+//+");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(PageReader::from_base64(base64(all)) == all);
}

TEST_CASE("JSON of the page cannot end the element that it stands in", "[exporter]") {
  CHECK(json_of("a\"b") == "\"a\\\"b\"");
  CHECK(json_of("</script><!--&") == "\"\\u003c/script\\u003e\\u003c!--\\u0026\"");
  CHECK(testing::JsonValue::parse(json_of("</script>\n\x01\xFF")).text() == "</script>\n\x01\xEF\xBF\xBD");
}

TEST_CASE("names of the page are UTF-8 and not too long", "[exporter]") {
  CHECK(utf8_of("plain", 10) == "plain");
  CHECK(utf8_of("plain", 5) == "plain");
  CHECK(utf8_of("plain", 4) == "plai\xE2\x80\xA6");
  CHECK(utf8_of("\xC3\xA9\xC3\xA9", 3) == "\xC3\xA9\xE2\x80\xA6");  // never half a character
  CHECK(utf8_of("a\xFFz", 10) == "a\xEF\xBF\xBDz");
  CHECK(utf8_of(std::string("a\0b", 3), 10) == std::string("a\0b", 3));
}

TEST_CASE("times of the page are numbers whatever a file claims", "[exporter]") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  CHECK(since(10, 30) == 20);
  CHECK(since(30, 10) == 0);
  CHECK(since(kLeast, kGreatest) == kMostSigned - 1);
  CHECK(since(kGreatest, kLeast) == 0);
}

TEST_CASE("a block is packed where that makes it smaller", "[exporter]") {
  Blocks blocks;
  CHECK(blocks.add(std::string(1000, 'a')) == 0);
  CHECK(blocks.add("ab") == 1);
  CHECK(blocks.json() == R"([{"coding":"gzip","bytes":1000},{"coding":"plain","bytes":2}])");
  CHECK(blocks.text(1) == "YWI=");
  CHECK(blocks.text(0).size() < 100);
}

}  // namespace
}  // namespace rangefinder::html
