// SPDX-License-Identifier: MIT
#include "session/session_fixture.hpp"

#include <rangefinder/capture.hpp>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

std::vector<std::string> names_in(const std::string& path) {
  const Timeline timeline = load(path);
  CHECK(inspect_capture(path, false)->ended_cleanly);
  std::vector<std::string> names;
  for (std::size_t row = 0; row < timeline.ranges.size(); ++row)
    names.emplace_back(timeline.text(timeline.ranges.name[row]));
  return names;
}

bool is_on() { return detail::active.load() != 0; }

}  // namespace

TEST_CASE("nothing is recorded before the delay is over", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  SECTION("which the program does not live to see") {
    options.delay = 24h;
    Recording session(options);
    { const ProfileRange early{"early"}; }
    session->step();
    CHECK_FALSE(is_on());
    CHECK(session->stop().ok());
    CHECK(names_in(options.output).empty());
  }
  SECTION("and then what the schedule says") {
    options.delay = 1ms;
    options.schedule = {1, 0, 0, 1, 1};  // off, on, off for good
    Recording session(options);
    session->step();
    REQUIRE(eventually([] { return is_on(); }));
    { const ProfileRange late{"late"}; }
    session->step();
    CHECK_FALSE(is_on());
    CHECK(session->stop().ok());
    CHECK(names_in(options.output) == std::vector<std::string>{"late"});
  }
}

TEST_CASE("after its duration a recording is closed, and the program runs on", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.delay = GENERATE(0ms, 1ms);
  options.duration = 1ms;
  Recording session(options);
  REQUIRE(eventually([&] { return current_session() == nullptr; }));
  CHECK_FALSE(session->running());
  { const ProfileRange late{"late"}; }
  session->step();
  CHECK(session->stop().ok());
  CHECK(names_in(options.output).empty());
  // Another one can start.
  CHECK(Recording(host_only(folder.file("b.rfcap")))->running());
}

TEST_CASE("a recording ends where step until_step begins", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.until_step = 2;
  Recording session(options);
  for (const char* name : {"step 0", "step 1", "step 2", "step 3"}) {
    { const ProfileRange range{std::string_view(name)}; }
    session->step();
    CHECK(is_on() == (std::string_view(name) == "step 0"));
  }
  REQUIRE(eventually([&] { return current_session() == nullptr; }));
  CHECK(names_in(options.output) == std::vector<std::string>{"step 0", "step 1"});
  CHECK(load(options.output).steps.size() == 2);
}

TEST_CASE("captures that follow each other have no limits", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a-%c.rfcap"));
  options.until_step = 2;
  const Session session(options);
  CHECK(session.status().error().message() ==
        "session: delay, duration, until_step: not where captures follow each other");
}

TEST_CASE("a delay is not negative", "[session]") {
  SessionOptions options = host_only("never.rfcap");
  options.delay = -1ms;
  CHECK(Session(options).status().error().code() == ErrorCode::kInvalidArgument);
}
