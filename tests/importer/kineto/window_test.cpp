// SPDX-License-Identifier: MIT
#include "importer/kineto/window.hpp"

#include "trace_text.hpp"

#include <random>

using namespace rangefinder;
using namespace rangefinder::importer::kineto;

namespace {

/// Gives a few bytes at a time, and fails in the end if told to.
class stingy_source final : public ByteSource {
 public:
  stingy_source(std::string_view text, std::size_t step, SourceEnd end = {}) : text_(text), step_(step) { end_ = end; }
  std::size_t read(std::span<char> out) override {
    const std::size_t count = std::min({out.size(), text_.size() - at_, step_});
    text_.copy(out.data(), count, at_);
    at_ += count;
    return count;
  }
  std::uint64_t file_position() const noexcept override { return at_; }

 private:
  std::string_view text_;
  std::size_t step_;
  std::size_t at_ = 0;
};

/// Always the same: what varies are the sizes of pieces and of the window.
std::string random_lines(std::size_t size) {
  std::mt19937 random(11);
  std::string out(size, ' ');
  for (char& c : out) c = random() % 50 == 0 ? '\n' : static_cast<char>('a' + random() % 26);
  return out;
}

bool padded(const TextWindow& window) {
  for (std::size_t i = 0; i < kPadding; ++i) {
    if (window.cursor.end[i] != '\0') return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the text passes through the window whole, in pieces of any size", "[importer]") {
  const std::string text = random_lines(3'000'000);
  for (const std::size_t keep : {0u, 1u, 1000u, 65'536u, 65'537u, 200'000u}) {
    stingy_source source(text, 100'000);
    TextWindow window(source, 0);
    std::string out;
    while (window.refill()) {
      REQUIRE(padded(window));
      const auto size = static_cast<std::size_t>(window.cursor.end - window.cursor.at);
      const std::size_t use = size > keep ? size - keep : 0;
      REQUIRE(window.offset_of(window.cursor.at) == out.size());
      REQUIRE(window.line_of(window.cursor.at) ==
              1 + static_cast<std::uint64_t>(std::count(out.begin(), out.end(), '\n')));
      out.append(window.cursor.at, use);
      window.cursor.at += use;
    }
    out.append(window.cursor.at, window.cursor.end);
    INFO(keep);
    CHECK(out == text);
    CHECK(window.text_bytes() == text.size());
    CHECK(window.at_end());
  }
}

TEST_CASE("a value that grows is put together without quadratic work", "[importer]") {
  const std::string text = random_lines(5'000'000);
  stingy_source source(text, text.size());
  TextWindow window(source, 0);
  std::size_t scanned = 0;
  while (window.refill()) scanned += static_cast<std::size_t>(window.cursor.end - window.cursor.at);
  CHECK(std::string_view(window.cursor.at, window.cursor.end) == text);
  CHECK(scanned < 4 * text.size());
}

TEST_CASE("a value longer than the limit is refused", "[importer][fault]") {
  const std::string text(TextWindow::kMaxValue * 2 + 1, 'x');
  stingy_source source(text, text.size());
  TextWindow window(source, 0);
  while (window.refill()) {
  }
  CHECK(window.too_long());
  CHECK_FALSE(window.at_end());
}

TEST_CASE("text past the limit is refused", "[importer][fault]") {
  const std::string text(2'000'000, ' ');
  stingy_source source(text, 4096);
  TextWindow window(source, 1'000'000);
  while (window.refill()) window.cursor.at = window.cursor.end;
  CHECK(window.source_end().kind == SourceEnd::Kind::kRefused);
  CHECK(window.source_end().reason == "larger than the limit of 1000000 bytes");
}

TEST_CASE("the end says what the source says", "[importer]") {
  for (const std::size_t size : {0u, 10u, 1'000'000u}) {
    const std::string text(size, 'x');
    stingy_source source(text, 4096, {SourceEnd::Kind::kCutOff, "torn", 0});
    TextWindow window(source, 0);
    while (window.refill()) window.cursor.at = window.cursor.end;
    CHECK(window.source_end().kind == SourceEnd::Kind::kCutOff);
    CHECK(window.source_end().reason == "torn");
  }
}

TEST_CASE("a window may be left in the middle of the text", "[importer]") {
  const std::string text(20'000'000, 'x');
  stingy_source source(text, text.size());
  TextWindow window(source, 0);
  REQUIRE(window.refill());
  REQUIRE(window.refill());
}

TEST_CASE("draining counts what is left", "[importer]") {
  for (const std::size_t size : {100u, 1'000'000u}) {
    const std::string text(size, 'x');
    stingy_source source(text, 5000);
    TextWindow window(source, 0);
    REQUIRE(window.refill());
    CHECK(window.drain(window.cursor.at + 40) == size - 40);
  }
}
