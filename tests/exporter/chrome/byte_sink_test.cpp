// SPDX-License-Identifier: MIT
#include "exporter/chrome/byte_sink.hpp"

#include "exporter/chrome/text_output.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"
#include "support/json_value.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/exporters.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <string>

using namespace rangefinder;
using namespace rangefinder::chrome;
using rangefinder::testing::Environment;
using rangefinder::testing::JsonValue;
using rangefinder::testing::read_file;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::TimelineBuilder;
using rangefinder::testing::write_file;

namespace {

/// Takes so many bytes and then has a full disk.
class FullDisk final : public ByteSink {
 public:
  explicit FullDisk(std::size_t room) : room_(room) {}
  Status write(std::string_view bytes) override {
    ++writes;
    if (bytes.size() > room_) return Error(ErrorCode::kIo, "disk full");
    room_ -= bytes.size();
    return {};
  }
  Status finish() override { return {}; }
  int writes = 0;

 private:
  std::size_t room_;
};

Timeline small() {
  return TimelineBuilder().range("step", 0, 100).launch_call("cudaLaunchKernel", 10, 20).kernel(30, 60).build();
}

std::string unpacked(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text(1 << 20, '\0');
  const int size = gzread(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  REQUIRE(size >= 0);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

TEST_CASE("an output appears when it is whole and leaves nothing else behind", "[exporter]") {
  const ScratchFolder folder;
  {
    Result<std::unique_ptr<ByteSink>> sink = open_output(folder.file("x.json"), false);
    REQUIRE(sink);
    REQUIRE((*sink)->write("half").ok());
    CHECK_FALSE(std::filesystem::exists(folder.file("x.json")));
  }
  CHECK(folder.entries() == 0);
  REQUIRE(export_chrome_trace(small(), folder.file("x.json")).ok());
  CHECK(folder.entries() == 1);
}

TEST_CASE("a file that is there is replaced on request only", "[exporter]") {
  const ScratchFolder folder;
  write_file(folder.file("x.json"), "mine");
  const Status refused = export_chrome_trace(small(), folder.file("x.json"));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kExists);
  CHECK(read_file(folder.file("x.json")) == "mine");
  ChromeExportOptions replace;
  replace.replace = true;
  REQUIRE(export_chrome_trace(small(), folder.file("x.json"), replace).ok());
  CHECK_NOTHROW(JsonValue::load(folder.file("x.json")));
  CHECK(folder.entries() == 1);
}

TEST_CASE("an output that cannot be made says where and why", "[exporter]") {
  const ScratchFolder folder;
  const Status missing = export_chrome_trace(small(), folder.file("no/such/x.json"));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message().find("no/such/x.json: No such file") != std::string::npos);
  ChromeExportOptions replace;
  replace.replace = true;
  CHECK_FALSE(export_chrome_trace(small(), folder.path(), replace).ok());
  CHECK(folder.entries() == 0);
}

TEST_CASE("names that end in .gz are compressed, unless told otherwise", "[exporter]") {
  const ScratchFolder folder;
  ChromeExportReport plain, packed;
  REQUIRE(export_chrome_trace(small(), folder.file("x.json"), {}, &plain).ok());
  REQUIRE(export_chrome_trace(small(), folder.file("x.json.gz"), {}, &packed).ok());
  const std::string text = read_file(folder.file("x.json"));
  CHECK(unpacked(folder.file("x.json.gz")) == text);
  CHECK(plain.json_bytes == text.size());
  CHECK(plain.output_bytes == text.size());
  CHECK(packed.json_bytes == text.size());
  CHECK(packed.output_bytes == read_file(folder.file("x.json.gz")).size());
  CHECK(packed.output_bytes < packed.json_bytes);
  ChromeExportOptions options;
  options.compression = ExportCompression::kPlain;
  REQUIRE(export_chrome_trace(small(), folder.file("y.gz"), options).ok());
  CHECK(read_file(folder.file("y.gz")) == text);
}

TEST_CASE("the same input gives the same bytes, compressed too", "[exporter]") {
  const ScratchFolder folder;
  for (const std::string ending : {".json", ".json.gz"}) {
    REQUIRE(export_chrome_trace(small(), folder.file("a" + ending)).ok());
    {
      const Environment zone("TZ", "Asia/Tokyo");
      REQUIRE(export_chrome_trace(small(), folder.file("b" + ending)).ok());
    }
    CHECK(read_file(folder.file("a" + ending)) == read_file(folder.file("b" + ending)));
  }
}

TEST_CASE("an indented export says the same", "[exporter]") {
  const ScratchFolder folder;
  ChromeExportOptions pretty;
  pretty.pretty = true;
  REQUIRE(export_chrome_trace(small(), folder.file("a.json")).ok());
  REQUIRE(export_chrome_trace(small(), folder.file("b.json"), pretty).ok());
  const std::string flat = read_file(folder.file("a.json"));
  const std::string indented = read_file(folder.file("b.json"));
  const auto bare = [](const std::string& text) {
    std::string out;
    bool in_string = false;
    for (const char c : text) {
      if (c == '"') in_string = !in_string;
      if (in_string || (c != ' ' && c != '\n')) out += c;
    }
    return out;
  };
  CHECK(bare(flat) == bare(indented));
  CHECK(indented.find("\n  \"traceEvents\": [\n    {\n") != std::string::npos);
  CHECK(indented.ends_with("}\n"));
}

TEST_CASE("what cannot be replaced by renaming is written to as it is", "[exporter]") {
  const ScratchFolder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  REQUIRE(export_chrome_trace(small(), pipe).ok());
  std::string text(1 << 16, '\0');
  const ssize_t size = ::read(reader, text.data(), text.size());
  ::close(reader);
  REQUIRE(size > 0);
  CHECK_NOTHROW(JsonValue::parse(text.substr(0, static_cast<std::size_t>(size))));
  struct stat info {};
  REQUIRE(::stat(pipe.c_str(), &info) == 0);
  CHECK(S_ISFIFO(info.st_mode));
  REQUIRE(export_chrome_trace(small(), "/dev/null").ok());
  REQUIRE(::stat("/dev/null", &info) == 0);
  CHECK(S_ISCHR(info.st_mode));
}

TEST_CASE("a full device is an error of the export", "[exporter]") {
  if (::access("/dev/full", W_OK) != 0) RANGEFINDER_SKIP("no /dev/full");
  const Status status = export_chrome_trace(small(), "/dev/full");
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kIo);
  CHECK(status.error().message().find("No space left") != std::string::npos);
}

TEST_CASE("after a sink has failed nothing more is given to it, and the failure is kept", "[exporter]") {
  FullDisk disk(1000);
  TextOutput out(disk);
  for (int i = 0; i < 100'000; ++i) out.text("0123456789abcdef");
  out.text(std::string(20'000, 'x'));
  out.flush();
  CHECK_FALSE(out.status().ok());
  CHECK(out.status().error().message() == "disk full");
  CHECK(disk.writes == 1);
}

TEST_CASE("gzip passes on that its sink failed", "[exporter]") {
  auto gzip = gzip_into(std::make_unique<FullDisk>(10));
  Status status = gzip->write(std::string(100'000, 'x'));
  if (status.ok()) status = gzip->finish();
  CHECK_FALSE(status.ok());
}
