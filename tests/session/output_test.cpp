// SPDX-License-Identifier: MIT
//
// Which file a recording goes to, and which files it may replace.
#include "session/session_fixture.hpp"

#include <rangefinder/capture.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

void put(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::string get(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string numbered(const ScratchFolder& folder, const std::string& more = {}) {
  return folder.file("a." + std::to_string(::getpid()) + more + ".rfcap");
}

void write_time(const std::string& path, std::chrono::hours from_now) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() + from_now);
}

/// Holds the lock of a file, as another process that records to it would.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT, 0600)) {
    REQUIRE(::flock(fd_, LOCK_EX | LOCK_NB) == 0);
  }
  ~OtherProcess() { ::close(fd_); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

 private:
  int fd_;
};

SessionOptions options_of(CaptureMode mode, const std::string& output) {
  SessionOptions options = host_only(output);
  options.mode = mode;
  return options;
}

constexpr CaptureMode kModes[] = {CaptureMode::kMapped, CaptureMode::kRing, CaptureMode::kBuffered};

void record_one(const std::string& output, const char* name) {
  Recording session(host_only(output));
  const ProfileRange range{std::string_view(name)};
}

}  // namespace

TEST_CASE("a file that is no capture is left alone, and the session says which", "[session]") {
  constexpr std::string_view kText = "print('hello')\n";
  for (const CaptureMode mode : kModes) {
    const ScratchFolder folder;
    const std::string output = folder.file("victim.py");
    const std::string live = output + ".live";
    std::string victim = output;
    SECTION("the output") {}
    SECTION("the live file") { victim = live; }
    if (victim == live && mode == CaptureMode::kBuffered) continue;  // which has none
    put(victim, kText);
    const Session session(options_of(mode, output));
    CHECK_FALSE(session.running());
    REQUIRE_FALSE(session.status().ok());
    CHECK(session.status().error().code() == ErrorCode::kExists);
    CHECK(session.status().error().message().find(victim + ": ") != std::string::npos);
    { const ProfileRange range{"nowhere"}; }
    CHECK(get(victim) == kText);
    CHECK(folder.names().size() == 1);
  }
}

TEST_CASE("an empty file and an earlier capture make room", "[session]") {
  for (const CaptureMode mode : kModes) {
    const ScratchFolder folder;
    const std::string output = folder.file("a.rfcap");
    SECTION("empty") { put(output, ""); }
    SECTION("a capture") { record_one(output, "earlier"); }
    std::ifstream reader(output, std::ios::binary);
    const std::string before = get(output);
    {
      const auto session = SessionCore::start(options_of(mode, output), {});
      REQUIRE(session.ok());
      { const ProfileRange range{"new"}; }
      CHECK((*session)->stop().ok());
    }
    CHECK(folder.names() == std::vector<std::string>{"a.rfcap"});
    CHECK(count_of(load(output), "new") == 1);
    CHECK(count_of(load(output), "earlier") == 0);
    // A reader that had it open keeps it whole.
    CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == before);
  }
}

TEST_CASE("a session that has stopped leaves its name to the next one", "[session]") {
  for (const CaptureMode mode : kModes) {
    const ScratchFolder folder;
    Session first(options_of(mode, folder.file("a.rfcap")));
    REQUIRE(first.stop().ok());
    Session second(options_of(mode, folder.file("a.rfcap")));
    CHECK(second.output() == folder.file("a.rfcap"));
    { const ProfileRange range{"second"}; }
    REQUIRE(second.stop().ok());
    CHECK(folder.names() == std::vector<std::string>{"a.rfcap"});
    CHECK(count_of(load(folder.file("a.rfcap")), "second") == 1);
  }
}

TEST_CASE("an output that another process records to is left to it, and the session tells its own", "[session]") {
  for (const CaptureMode mode : kModes) {
    const ScratchFolder folder;
    const std::string output = folder.file("a.rfcap");
    std::string held = output;
    SECTION("the capture") {}
    SECTION("the live file") { held = output + ".live"; }
    if (held != output && mode == CaptureMode::kBuffered) continue;
    put(held, "RFLIVE\r\n");
    const std::string before = get(held);
    const OtherProcess other(held);
    Session session(options_of(mode, output));
    REQUIRE(session.status().ok());
    CHECK(session.output() == numbered(folder));
    { const ProfileRange range{"ours"}; }
    REQUIRE(session.stop().ok());
    CHECK(get(held) == before);
    CHECK(folder.names().size() == 2);
    CHECK(count_of(load(numbered(folder)), "ours") == 1);
    const auto info = inspect_capture(numbered(folder), true);
    REQUIRE(info.ok());
    CHECK(std::count_if(info->metadata.begin(), info->metadata.end(),
                        [](const auto& fact) { return fact.first == "renamed"; }) == 1);
  }
}

TEST_CASE("a number that is taken too is passed over", "[session]") {
  const ScratchFolder folder;
  put(numbered(folder), "notes");
  const OtherProcess other(folder.file("a.rfcap"));
  const OtherProcess another(numbered(folder, ".2"));
  Session session(host_only(folder.file("a.rfcap")));
  REQUIRE(session.status().ok());
  CHECK(session.output() == numbered(folder, ".3"));
  REQUIRE(session.stop().ok());
  CHECK(get(numbered(folder)) == "notes");
}

TEST_CASE("what another process recorded since this one began is not replaced", "[session]") {
  const ScratchFolder folder;
  const std::string output = folder.file("a.rfcap");
  record_one(output, "earlier");
  write_time(output, -1h);
  // Not the child's own, but of before it began.
  CHECK(in_child([&] {
          Session session(host_only(output));
          { const ProfileRange range{"of the child"}; }
          return session.stop().ok() && session.output() == output ? 0 : 1;
        }) == 0);
  write_time(output, 1h);
  Session session(host_only(output));
  REQUIRE(session.status().ok());
  CHECK(session.output() == numbered(folder));
  REQUIRE(session.stop().ok());
  CHECK(count_of(load(output), "of the child") == 1);
}

TEST_CASE("a dump replaces no file but an earlier capture", "[session]") {
  const ScratchFolder folder;
  put(folder.file("a.1.rfcap"), "notes");
  record_one(folder.file("a.2.rfcap"), "earlier");
  const OtherProcess other(folder.file("a.3.rfcap"));
  put(folder.file("named.py"), "print()");
  SessionOptions options = options_of(CaptureMode::kRing, folder.file("a.rfcap"));
  Recording session(options);
  { const ProfileRange range{"work"}; }
  CHECK(*session->dump({}) == folder.file("a.2.rfcap"));
  CHECK(*session->dump({}) == folder.file("a.4.rfcap"));
  const Result<std::string> refused = session->dump(folder.file("named.py"));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kExists);
  CHECK(refused.error().message().find("named.py") != std::string::npos);
  CHECK(session->dump(folder.file("a.3.rfcap")).error().code() == ErrorCode::kBusy);
  REQUIRE(session->stop().ok());
  CHECK(get(folder.file("a.1.rfcap")) == "notes");
  CHECK(get(folder.file("named.py")) == "print()");
  CHECK(count_of(load(folder.file("a.2.rfcap")), "work") == 1);
}

TEST_CASE("dumps of a session that replaces nothing get the next free number", "[session]") {
  const ScratchFolder folder;
  record_one(folder.file("a.1.rfcap"), "earlier");
  SessionOptions options = options_of(CaptureMode::kRing, folder.file("a.rfcap"));
  options.replace = false;
  Recording session(options);
  CHECK(*session->dump({}) == folder.file("a.2.rfcap"));
  CHECK(session->dump(folder.file("a.1.rfcap")).error().code() == ErrorCode::kExists);
  REQUIRE(session->stop().ok());
  CHECK(count_of(load(folder.file("a.1.rfcap")), "earlier") == 1);
}

TEST_CASE("whatever a recording makes is for its user alone", "[session]") {
  const ::mode_t before = ::umask(0);
  const ScratchFolder folder;
  for (const CaptureMode mode : kModes) {
    Recording session(options_of(mode, folder.file(std::to_string(static_cast<int>(mode)) + ".rfcap")));
    if (mode == CaptureMode::kRing) REQUIRE(session->dump({}).ok());
    for (const std::string& name : folder.names()) {
      struct stat info {};
      REQUIRE(::stat(folder.file(name).c_str(), &info) == 0);
      CHECK((info.st_mode & 0777) == 0600);
    }
    CHECK(session->stop().ok());
  }
  CHECK(folder.names() == std::vector<std::string>{"0.rfcap", "1.1.rfcap", "1.rfcap", "2.rfcap"});
  ::umask(before);
}
