// SPDX-License-Identifier: MIT
// What is told of a program's NVTX, beside ranges and marks.
#include "capture/capture_reader.hpp"
#include "session/session_fixture.hpp"

#include <rangefinder/detail/nvtx.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <set>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;
using detail::Extra;
using detail::ExtraKind;

namespace {

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

/// Those with spaces in them: none that the system knows here.
std::vector<std::string> thread_names(const std::string& path) {
  std::vector<std::string> names;
  const Timeline timeline = load(path);
  for (const ThreadInfo& thread : timeline.threads) {
    if (thread.name.find(' ') != std::string::npos) names.push_back(thread.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a start/end range has a value, of any kind", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  const std::string text = "rank=3";
  const Extra values[] = {{ExtraKind::kSigned, static_cast<std::uint64_t>(-5), {}}, {ExtraKind::kText, 0, text}};
  const std::uint64_t outer = detail::async_begin_extra("outer", 0, &values[0]);
  const std::uint64_t inner = detail::async_begin_extra("inner", 0, &values[1]);
  const std::uint64_t plain = detail::async_begin_extra("plain", 0, nullptr);
  mark("between");
  std::thread([&] { detail::async_end_slow(inner); }).join();
  detail::async_end_slow(outer);
  detail::async_end_slow(plain);
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  REQUIRE(timeline.ranges.size() == 3);
  CHECK(value_of(timeline, Attachment::Target::kRange, 0) == "-5");
  CHECK(value_of(timeline, Attachment::Target::kRange, 1) == "'rank=3'");
  CHECK(value_of(timeline, Attachment::Target::kRange, 2).empty());
  CHECK(timeline.health.complete());
}

TEST_CASE("a name that the program gives a thread takes the place of the system's", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  std::thread([&] {
    detail::name_thread(own_tid(), "named before it records");
    const ProfileRange range{"one"};
  }).join();
  std::thread([&] {
    { const ProfileRange range{"two"}; }
    (void)session->flush();  // its row is in the capture
    detail::name_thread(own_tid(), "named for a time");
    detail::name_thread(own_tid(), "named behind its records");
    detail::name_thread(0, "no thread");
  }).join();
  REQUIRE(session->stop().ok());
  CHECK(thread_names(folder.file("a.rfcap")) ==
        std::vector<std::string>{"named before it records", "named behind its records"});
  // A thread that has its number, in a later recording.
  detail::name_thread(own_tid(), "of all recordings");
  Recording next(host_only(folder.file("b.rfcap")));
  { const ProfileRange range{"three"}; }
  REQUIRE(next->stop().ok());
  CHECK(thread_names(folder.file("b.rfcap")) == std::vector<std::string>{"of all recordings"});
}

TEST_CASE("a colour is of a category, and each colour of it has a number of its own", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  const std::uint32_t io = detail::intern_category("library\x1fio");
  const std::uint32_t green = detail::coloured_category(io, 0x76b900);
  CHECK(detail::coloured_category(io, 0xff76b900) == green);  // opaque or not
  const std::uint32_t black = detail::coloured_category(0, 0);
  CHECK(std::set<std::uint32_t>{0, io, green, black}.size() == 4);
  for (const std::uint32_t category : {io, green, black}) detail::mark_slow("mark", category, nullptr);
  REQUIRE(session->stop().ok());
  const Result<capture::CaptureReader> reader = capture::CaptureReader::open(folder.file("a.rfcap"));
  REQUIRE(reader.ok());
  CHECK(reader->category(green) == "io");
  CHECK(reader->domain(green) == "library");
  CHECK(reader->colour(green) == "#76b900");
  CHECK(reader->colour(io).empty());
  CHECK(reader->category(black).empty());
  CHECK(reader->colour(black) == "#000000");
}

TEST_CASE("colours that are too many are left out, and nothing else is", "[session]") {
  std::set<std::uint32_t> numbers;
  const std::uint32_t many = detail::intern_category("many");
  for (std::uint32_t colour = 0; colour < 20000; ++colour) numbers.insert(detail::coloured_category(many, colour));
  CHECK(numbers.count(0) == 0);
  CHECK(numbers.count(many) == 1);
  CHECK(numbers.size() > 1000);
  CHECK(numbers.size() <= 4097);
  CHECK(detail::coloured_category(many, 0) == detail::coloured_category(many, 0));
}
