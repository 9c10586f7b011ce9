// SPDX-License-Identifier: MIT
#include "importer/kineto/kineto_importer.hpp"

#include "support/files.hpp"
#include "support/scratch_folder.hpp"
#include "trace_text.hpp"

using namespace rangefinder;
using rangefinder::testing::gzip;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::trace_of;
using rangefinder::testing::write_file;

namespace {

bool looks(std::string_view bytes) { return importer::kineto::looks_like_kineto(base::as_bytes(bytes)); }

/// A file that is gone when the test is.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) { write_file(path(), bytes); }
  std::string path() const { return folder_.file("trace.json"); }

 private:
  ScratchFolder folder_;
};

constexpr std::string_view kEvent = R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";

}  // namespace

TEST_CASE("JSON and gzip of JSON look like a trace, other files do not", "[importer]") {
  CHECK(looks("{\"schemaVersion\": 1"));
  CHECK(looks("\n\n  [{"));
  CHECK(looks("\xEF\xBB\xBF{"));
  CHECK(looks(gzip("\n{\"schemaVersion\": 1}")));
  CHECK(looks(gzip("{\"schemaVersion\": 1, \"deviceProperties\": []}").substr(0, 25)));
  CHECK(looks(std::string_view("\x1f\x8b\x08", 3)));
  CHECK_FALSE(looks(""));
  CHECK_FALSE(looks("   "));
  CHECK_FALSE(looks("SQLite format 3"));
  CHECK_FALSE(looks("RFCAP"));
  CHECK_FALSE(looks("\"text\""));
  CHECK_FALSE(looks(gzip("SQLite format 3")));
  CHECK_FALSE(looks(std::string_view("\x1f\x8b\x07garbage", 10)));
}

TEST_CASE("a file is read from its path", "[importer]") {
  const TemporaryFile file(gzip(trace_of(kEvent)));
  const auto timeline = importer::kineto::import_kineto(file.path());
  REQUIRE(timeline);
  CHECK(timeline->ranges.size() == 1);
  CHECK(timeline->sources == std::vector<std::string>{file.path()});
}

TEST_CASE("a file larger than the window's chunks is read by two threads", "[importer]") {
  std::string events(kEvent);
  for (int i = 1; i < 40'000; ++i)
    events += ",\n  {\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op " + std::to_string(i % 100) +
              "\",\"pid\":1,\"tid\":1,\"ts\":" + std::to_string(i) + ".5,\"dur\":0.125}";
  for (const std::string& bytes : {trace_of(events), gzip(trace_of(events))}) {
    const TemporaryFile file(bytes);
    const auto timeline = importer::kineto::import_kineto(file.path());
    REQUIRE(timeline);
    REQUIRE(timeline->ranges.size() == 40'000);
    for (std::size_t i = 1; i < 40'000; ++i) {
      REQUIRE(timeline->ranges.begin_ns[i] == static_cast<std::int64_t>(i) * 1000 + 500);
      REQUIRE(timeline->ranges.end_ns[i] == static_cast<std::int64_t>(i) * 1000 + 625);
      REQUIRE(timeline->ranges.source_row[i] == static_cast<std::int64_t>(i));
    }
  }
}

TEST_CASE("files that cannot be read say why", "[importer]") {
  const auto absent = importer::kineto::import_kineto("/nonexistent/trace.json");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code() == ErrorCode::kNotFound);
  const auto folder = importer::kineto::import_kineto("/tmp");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code() == ErrorCode::kUnreadable);
  const TemporaryFile empty("");
  const auto nothing = importer::kineto::import_kineto(empty.path());
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().message() == empty.path() + ": empty");
}
