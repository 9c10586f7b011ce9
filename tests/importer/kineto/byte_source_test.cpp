// SPDX-License-Identifier: MIT
#include "importer/kineto/byte_source.hpp"

#include "trace_text.hpp"

#include <unistd.h>

using namespace rangefinder;
using namespace rangefinder::importer::kineto;

namespace {

std::string read_all(ByteSource& source, std::size_t step) {
  std::string out;
  std::vector<char> buffer(step);
  while (const std::size_t count = source.read(buffer)) out.append(buffer.data(), count);
  return out;
}

/// The reading end of a pipe that holds `text`.
base::Fd pipe_with(std::string_view text) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const base::Fd writer(ends[1]);
  REQUIRE(::write(writer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return base::Fd(ends[0]);
}

}  // namespace

TEST_CASE("memory is read in order and counted", "[importer]") {
  for (const std::size_t step : {1u, 3u, 100u}) {
    MemorySource source(base::as_bytes("0123456789"));
    CHECK(read_all(source, step) == "0123456789");
    CHECK(source.file_position() == 10);
    CHECK(source.end().kind == SourceEnd::Kind::kEnd);
  }
}

TEST_CASE("a pipe is read like a file", "[importer]") {
  FileSource source(pipe_with("{\"traceEvents\": []}"), "pipe", 0);
  CHECK(read_all(source, 7) == "{\"traceEvents\": []}");
  CHECK(source.end().kind == SourceEnd::Kind::kEnd);
}

TEST_CASE("a file that cannot be read says why", "[importer]") {
  FileSource source(base::Fd(), "gone", 0);
  char buffer[4];
  CHECK(source.read(buffer) == 0);
  CHECK(source.end().kind == SourceEnd::Kind::kFailed);
  CHECK(source.end().reason.find("read gone: ") == 0);
}

TEST_CASE("a file that ends before its size says that it became shorter", "[importer]") {
  FileSource source(pipe_with("[1,2"), "a.json", 10);
  CHECK(read_all(source, 3) == "[1,2");
  CHECK(source.end().kind == SourceEnd::Kind::kFailed);
  CHECK(source.end().reason.find("a.json: became shorter while it was being read, from 10 to 4 bytes") == 0);
}

TEST_CASE("bytes that were looked at are read again", "[importer]") {
  for (const std::string_view text : {"", "a", "abc", "abcd", "abcdefgh"}) {
    for (const std::size_t step : {1u, 3u, 100u}) {
      MemorySource memory(base::as_bytes(text));
      PeekedSource source(memory);
      CHECK(source.first_bytes() == text.substr(0, 4));
      CHECK(read_all(source, step) == text);
    }
  }
}
