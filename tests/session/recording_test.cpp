// SPDX-License-Identifier: MIT
#include "session/session_fixture.hpp"
#include "support/seed.hpp"

#include <rangefinder/capture.hpp>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

std::vector<std::string> without(std::vector<std::string> lines, std::string_view prefix) {
  std::erase_if(lines, [&](const std::string& line) { return line.starts_with(prefix); });
  return lines;
}

}  // namespace

TEST_CASE("a session gives back what one thread recorded, to the nanosecond", "[session]") {
  const ScratchFolder folder;
  ManualClock clock;
  const auto at = [&](std::uint64_t ns) { clock.set(ManualClock::kStart + ns); };
  Dependencies parts;
  parts.clock = &clock;
  Recording session(host_only(folder.file("a.rfcap")), parts);
  static const Category phase{"phase"};
  static const RangeName named{"named"};
  {
    at(100);
    const ProfileRange outer{"outer", phase};
    {
      at(150);
      const ProfileRange inner{std::string_view("inner"), Payload(7u)};
      at(160);
      mark("spot");
      mark("spot", "text");
      at(170);
    }
    {
      at(180);
      const ProfileRange third{named, phase};
      const ProfileRange empty{named};
      counter("loss", 1.5);
      counter("queue", -3);
    }
    at(185);
    const RangeHandle handle = start_range("upload", phase);
    {
      const ProfileRange during{std::string("runtime"), -1};
      at(190);
      end_range(handle);
      at(195);
    }
    session->step();
    at(300);
  }
  const ProfileRange number{"", 2.5};
  session->step();
  at(400);
  REQUIRE(session->stop().ok());

  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(lines_of(timeline, static_cast<std::int64_t>(ManualClock::kStart)) ==
        std::vector<std::string>{
            "outer [100, 300) category phase",
            "inner [150, 170) = 7u",
            "named [180, 180) category phase",
            "named [180, 180)",
            "upload [185, 190) category phase start/end",
            "runtime [185, 195) = -1",
            " [300, 400) = 2.500000 unfinished",
            "mark spot at 160",
            "mark spot at 160 = 'text'",
            "counter loss at 180 = 1.500000",
            "counter queue at 180 = -3",
            "step 0 [0, 195)",
            "step 1 [195, 300)",
        });
  CHECK(timeline.health.complete());
  CHECK(timeline.health.unfinished_ranges == 1);
  REQUIRE(timeline.processes.size() == 1);
  CHECK(timeline.processes[0].pid == ::getpid());
  CHECK(timeline.realtime_offset_ns == ManualClock::kRealtimeOffset);
  CHECK(timeline.windows.size() == 1);
}

TEST_CASE("ranges of two domains take turns, and each end closes its own", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  const std::uint32_t trainer = detail::intern_category("trainer\x1fio");
  const std::uint32_t other = detail::intern_category("other\x1f");
  const auto begin = [](std::uint32_t category) {
    detail::OpenRange range;
    range.token = detail::begin_text("same", 4, category, range.word);
    return range;
  };
  const auto first = begin(trainer), second = begin(other), third = begin(0);
  detail::end_out_of_order(first.token, first.word);
  detail::end(third.token, third.word);
  detail::end(second.token, second.word);
  detail::end_out_of_order(0, 0);
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  const RangeTable& ranges = timeline.ranges;
  REQUIRE(ranges.size() == 3);
  CHECK(timeline.text(ranges.domain[0]) == "trainer");
  CHECK(timeline.text(ranges.category[0]) == "io");
  CHECK(timeline.text(ranges.domain[1]) == "other");
  CHECK(timeline.text(ranges.category[1]).empty());
  CHECK(timeline.text(ranges.domain[2]).empty());
  CHECK(ranges.end_ns[0] <= ranges.end_ns[2]);
  CHECK(ranges.end_ns[2] <= ranges.end_ns[1]);
  CHECK(ranges.flags == std::vector<std::uint8_t>{0, 0, 0});
  CHECK(timeline.health.complete());
  CHECK(timeline.health.foreign_ends == 0);
}

TEST_CASE("a capture tells what it is of", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.metadata = {{"model", "resnet50"}, {"note", "a \"quoted\"\nline"}};
  {
    Recording session(options);
    CHECK(session->running());
    CHECK(session->output() == folder.file("a.rfcap"));
    CHECK_FALSE(session->device().full);
    { const ProfileRange range{"work"}; }
    CHECK(session->stop().ok());
    CHECK_FALSE(session->running());
  }
  const Result<CaptureInfo> info = inspect_capture(folder.file("a.rfcap"), true);
  REQUIRE(info.ok());
  CHECK(info->ended_cleanly);
  CHECK(info->pid == static_cast<std::uint32_t>(::getpid()));
  CHECK(info->findings.empty());
  CHECK(info->threads == 1);
  CHECK(info->device_state == "host_only: switched off (cuda=off)");
  const std::map<std::string, std::string> facts(info->metadata.begin(), info->metadata.end());
  CHECK(facts.at("model") == "resnet50");
  CHECK(facts.at("note") == "a \"quoted\"\nline");
  CHECK(facts.at("program").starts_with("session_test"));
  CHECK_FALSE(std::filesystem::exists(folder.file("a.rfcap.live")));
}

TEST_CASE("names longer than the limit are cut and counted, odd bytes are kept", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  const std::string odd("\0\xFF\n\"\\", 5);
  const std::string longest(16 << 10, 'x');
  { const ProfileRange range{odd}; }
  { const ProfileRange range{longest}; }
  { const ProfileRange range{longest + "y"}; }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(count_of(timeline, odd) == 1);
  CHECK(count_of(timeline, longest) == 2);
  CHECK(timeline.health.truncated_names == 1);
}

TEST_CASE("a range whose buffer is written over keeps the name that it began with", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  char buffer[16] = "first";
  const auto record = [&] { const ProfileRange range{buffer}; };
  record();
  std::strcpy(buffer, "second");
  record();
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(count_of(timeline, "first") == 1);
  CHECK(count_of(timeline, "second") == 1);
}

TEST_CASE("a range that ends on another thread is closed there and flagged", "[session]") {
  const ScratchFolder folder;
  ManualClock clock;
  Dependencies parts;
  parts.clock = &clock;
  Recording session(host_only(folder.file("a.rfcap")), parts);
  auto storage = std::make_unique<std::byte[]>(sizeof(ProfileRange));
  auto* const range = ::new (static_cast<void*>(storage.get())) ProfileRange("coroutine");
  clock.advance(10);
  std::thread([&] {
    const ProfileRange own{"own"};
    clock.advance(10);
    range->~ProfileRange();
    clock.advance(10);
  }).join();
  { const ProfileRange after{"after"}; }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  const auto lines = without(lines_of(timeline, static_cast<std::int64_t>(ManualClock::kStart)), "step");
  CHECK(std::count(lines.begin(), lines.end(), "coroutine [0, 20) ended elsewhere") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "own [10, 30)") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "after [30, 30)") == 1);
  CHECK(timeline.health.foreign_ends == 1);
  CHECK(timeline.health.unmatched_ends == 0);
  CHECK(timeline.health.unfinished_ranges == 0);
}

TEST_CASE("a number stays with its range, whichever way that is named and wherever a block ends", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  static const RangeName named{"named"};
  static const Category category{"category"};
  constexpr std::uint64_t kEach = 3000;  // 48 bytes each and 64 KiB a block: an odd number to a block
  for (std::uint64_t i = 0; i < kEach; ++i) {
    const std::string text = "text " + std::to_string(i % 7);
    const ProfileRange of_literal{"literal", i};
    if (i % 3 == 0) mark("moves what follows by one record");
    const ProfileRange of_name{named, category, i};
    const ProfileRange of_text{text, i};
  }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(timeline.health.complete());
  REQUIRE(timeline.ranges.size() == 3 * kEach);
  REQUIRE(timeline.attachments.size() == 3 * kEach);
  std::map<std::string, std::uint64_t> next;
  for (std::uint32_t row = 0; row < timeline.attachments.size(); ++row) {
    const Attachment& value = timeline.attachments[row];
    REQUIRE(value.target == Attachment::Target::kRange);
    REQUIRE(value.row == row);
    const std::string_view name = timeline.text(timeline.ranges.name[row]);
    const std::string kind(name.substr(0, name.find(' ')));
    REQUIRE(value.bits == next[kind]++);
    if (kind == "text") REQUIRE(name == "text " + std::to_string(value.bits % 7));
    REQUIRE((timeline.text(timeline.ranges.category[row]) == "category") == (kind == "named"));
  }
  CHECK(next == std::map<std::string, std::uint64_t>{{"literal", kEach}, {"named", kEach}, {"text", kEach}});
}

TEST_CASE("a unique range goes where it is moved and ends there, once", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  UniqueRange request{"request"};
  std::thread([range = std::move(request)] {}).join();
  request = UniqueRange{"another"};
  request.end();
  mark("after");
  request.end();
  { const UniqueRange empty; }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  REQUIRE(timeline.ranges.size() == 2);
  CHECK(timeline.text(timeline.ranges.name[0]) == "request");
  CHECK(timeline.ranges.style[0] == RangeStyle::kStartEnd);
  CHECK(timeline.ranges.end_thread[0] != timeline.ranges.thread[0]);
  CHECK(timeline.ranges.end_thread[1] == timeline.ranges.thread[1]);
  CHECK(timeline.ranges.end_ns[1] <= timeline.marks.time_ns[0]);
  CHECK(timeline.health.complete());
  CHECK(timeline.health.unmatched_ends == 0);
}

TEST_CASE("start/end ranges of many threads end on any", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  constexpr int kThreads = 4, kEach = 500;
  std::vector<RangeHandle> handles(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) handles[static_cast<std::size_t>(t * kEach + i)] = start_range("handed over");
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = static_cast<std::size_t>(t); i < handles.size(); i += kThreads) end_range(handles[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  REQUIRE(timeline.ranges.size() == handles.size());
  CHECK(timeline.health.unmatched_ends == 0);
  CHECK(timeline.health.unfinished_ranges == 0);
  CHECK(timeline.ranges.style == std::vector<RangeStyle>(handles.size(), RangeStyle::kStartEnd));
}

TEST_CASE("one session a process, one after the other", "[session]") {
  const ScratchFolder folder;
  {
    Recording first(host_only(folder.file("first.rfcap")));
    const auto second = SessionCore::start(host_only(folder.file("second.rfcap")), {});
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code() == ErrorCode::kBusy);
    CHECK(second.error().message().find("first.rfcap") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder.file("second.rfcap")));
    { const ProfileRange range{"first"}; }
  }
  // What outlives its session belongs to none.
  auto storage = std::make_unique<std::byte[]>(sizeof(ProfileRange));
  ProfileRange* straggler = nullptr;
  {
    Recording second(host_only(folder.file("second.rfcap")));
    straggler = ::new (static_cast<void*>(storage.get())) ProfileRange("straggler");
  }
  {
    Recording third(host_only(folder.file("third.rfcap")));
    straggler->~ProfileRange();
    { const ProfileRange range{"third"}; }
  }
  CHECK(count_of(load(folder.file("first.rfcap")), "first") == 1);
  const Timeline second = load(folder.file("second.rfcap"));
  CHECK(second.health.unfinished_ranges == 1);
  const Timeline third = load(folder.file("third.rfcap"));
  CHECK(third.ranges.size() == 1);
  CHECK(third.health.unmatched_ends == 0);
}

TEST_CASE("a session that was moved from does nothing and says so", "[session]") {
  const ScratchFolder folder;
  Session session(host_only(folder.file("a.rfcap")));
  REQUIRE(session.status().ok());
  Session moved(std::move(session));
  CHECK_FALSE(session.running());  // NOLINT(bugprone-use-after-move): what it promises
  CHECK_FALSE(session.status().ok());
  CHECK_FALSE(session.flush().ok());
  CHECK_FALSE(session.dump().ok());
  CHECK(session.stop().ok());
  CHECK(session.output().empty());
  CHECK(session.step_number() == 0);
  CHECK(session.summary().rows.empty());
  CHECK_FALSE(session.device().full);
  session.step();
  CHECK(moved.running());
  CHECK(moved.step_number() == 0);
  { const ProfileRange range{"kept"}; }
  // Assigning stops what was there.
  moved = Session(host_only(folder.file("never.rfcap")));
  CHECK_FALSE(moved.status().ok());  // refused: the first ran while it was made
  CHECK(count_of(load(folder.file("a.rfcap")), "kept") == 1);
}

TEST_CASE("a session that cannot start says why and leaves nothing behind", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("no/such/folder.rfcap"));
  const Session session(options);
  CHECK_FALSE(session.running());
  CHECK(session.status().error().code() == ErrorCode::kNotFound);
  CHECK(session.status().error().message().find("no/such/folder.rfcap") != std::string::npos);
  { const ProfileRange range{"nowhere"}; }
  CHECK(detail::active.load() == 0);

  options.output = folder.file("a.rfcap");
  options.memory_bytes = kLeastMemory - 1;
  CHECK(SessionCore::start(options, {}).error().code() == ErrorCode::kInvalidArgument);
  options.memory_bytes = kLeastMemory;
  options.flush_period = 0ms;
  CHECK(SessionCore::start(options, {}).error().code() == ErrorCode::kInvalidArgument);
  options.flush_period = 1ms;
  options.stop_timeout = -1ms;
  CHECK(SessionCore::start(options, {}).error().code() == ErrorCode::kInvalidArgument);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("an earlier file is replaced only where the options say so", "[session]") {
  const ScratchFolder folder;
  { Recording session(host_only(folder.file("a.rfcap"))); }
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.replace = false;
  CHECK(SessionCore::start(options, {}).error().code() == ErrorCode::kExists);
  options.replace = true;
  {
    Recording session(options);
    const ProfileRange range{"second"};
  }
  CHECK(load(folder.file("a.rfcap")).ranges.size() == 1);

  SECTION("never what is no plain file") {
    std::filesystem::create_directory(folder.file("folder"));
    CHECK_FALSE(SessionCore::start(host_only(folder.file("folder")), {}).ok());
    std::filesystem::create_symlink(folder.file("a.rfcap"), folder.file("link"));
    CHECK(SessionCore::start(host_only(folder.file("link")), {}).error().code() == ErrorCode::kExists);
    CHECK(load(folder.file("a.rfcap")).ranges.size() == 1);
  }
}

TEST_CASE("a child of fork records nothing, its parent all", "[session][fault]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  { const ProfileRange range{"before"}; }
  const ProfileRange around{"around"};
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // In the child: no REQUIRE, no destructors; the exit status tells.
    { const ProfileRange range{"child"}; }
    mark("child");
    const bool quiet =
        !session->running() && detail::active.load() == 0 && session->flush().ok() && session->stop().ok();
    // A session of its own, once it wants one.
    bool own = !kThreadsInChild;
    if (kThreadsInChild) {
      auto started = SessionCore::start(host_only(folder.file("child.rfcap")), {});
      if (started.ok()) {
        { const ProfileRange range{"own"}; }
        own = (*started)->stop().ok();
      }
    }
    ::_exit(quiet && own ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  { const ProfileRange range{"after"}; }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(count_of(timeline, "before") == 1);
  CHECK(count_of(timeline, "after") == 1);
  CHECK(count_of(timeline, "child") == 0);
  CHECK(timeline.marks.size() == 0);
  if (!kThreadsInChild) return;
  const Timeline own = load(folder.file("child.rfcap"));
  CHECK(count_of(own, "own") == 1);
  CHECK(own.ranges.size() == 1);
  CHECK(own.processes[0].pid == child);
}

// ---- several threads -------------------------------------------------------------------------------------------

namespace {

/// What a thread does, made up from a seed: once to do it, once to know what must be in the capture.
class Script {
 public:
  struct Range {
    std::string name;
    std::string category;
    std::string value;
    std::uint32_t depth;
  };
  explicit Script(std::uint64_t seed) : random_(seed) {}

  void play(std::size_t ranges) {
    while (done_.size() < ranges) nest(0);
  }
  const std::vector<Range>& done() const { return done_; }

 private:
  void nest(std::uint32_t depth) {
    using rangefinder::testing::below;
    static const Category categories[2] = {Category{"alpha"}, Category{"beta"}};
    static const RangeName interned{"interned"};
    const auto children = [&] {
      if (depth < 40) {
        for (std::uint64_t n = below(random_, 10) < 4 ? below(random_, 4) : 0; n > 0; --n) nest(depth + 1);
      }
      if (below(random_, 50) == 0) mark("mark");
      if (below(random_, 50) == 0) counter("counter", 1);
    };
    const std::uint64_t number = below(random_, 1u << 20);
    switch (below(random_, 6)) {
      case 0: {
        done_.push_back({"literal", "", "", depth});
        const ProfileRange range{"literal"};
        return children();
      }
      case 1: {
        done_.push_back({"interned", "alpha", "", depth});
        const ProfileRange range{interned, categories[0]};
        return children();
      }
      case 2: {
        const std::string name = "runtime." + std::to_string(number % 37);
        done_.push_back({name, "", "", depth});
        const ProfileRange range{name};
        return children();
      }
      case 3: {
        done_.push_back({"with number", "", std::to_string(number) + "u", depth});
        const ProfileRange range{"with number", number};
        return children();
      }
      case 4: {
        const std::string text = "text." + std::to_string(number % 11);
        done_.push_back({"with text", "beta", "'" + text + "'", depth});
        const ProfileRange range{"with text", categories[1], std::string_view(text)};
        return children();
      }
      default: {
        done_.push_back({"other literal", "beta", "", depth});
        const ProfileRange range{"other literal", categories[1]};
        return children();
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<Range> done_;
};

/// Compares one thread's rows, in order of begin, with what it did.
void compare(const Timeline& timeline, const std::string& thread_name, const Script& script) {
  const auto thread =
      static_cast<ThreadIndex>(std::find_if(timeline.threads.begin(), timeline.threads.end(),
                                            [&](const ThreadInfo& t) { return t.name == thread_name; }) -
                               timeline.threads.begin());
  REQUIRE(thread < timeline.threads.size());
  std::map<std::uint32_t, const Attachment*> values;
  for (const Attachment& attachment : timeline.attachments) {
    if (attachment.target == Attachment::Target::kRange) values[attachment.row] = &attachment;
  }
  const RangeTable& ranges = timeline.ranges;
  std::vector<RangeIndex> open;
  std::size_t at = 0;
  std::uint64_t wrong = 0;
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    if (ranges.thread[row] != thread) continue;
    REQUIRE(at < script.done().size());
    const Script::Range& want = script.done()[at++];
    while (open.size() > want.depth) open.pop_back();
    const bool nested =
        open.size() == want.depth && (open.empty() || (ranges.begin_ns[open.back()] <= ranges.begin_ns[row] &&
                                                       ranges.end_ns[row] <= ranges.end_ns[open.back()]));
    open.push_back(row);
    std::string value;
    if (const auto found = values.find(row); found != values.end()) {
      value = found->second->type == Attachment::Type::kText
                  ? "'" + std::string(timeline.text(static_cast<StringId>(found->second->bits))) + "'"
                  : std::to_string(found->second->bits) + "u";
    }
    const bool same = timeline.text(ranges.name[row]) == want.name &&
                      timeline.text(ranges.category[row]) == want.category && value == want.value &&
                      ranges.flags[row] == 0 && ranges.begin_ns[row] <= ranges.end_ns[row];
    if (!(same && nested) && wrong++ == 0) {
      FAIL_CHECK("range " << at - 1 << ": " << timeline.text(ranges.name[row]) << " " << value << ", wanted "
                          << want.name << " " << want.value << (nested ? "" : ", not nested as it was"));
    }
  }
  CHECK(wrong == 0);
  CHECK(at == script.done().size());
}

}  // namespace

TEST_CASE("what several threads record comes back in order, nested as it was", "[session][property]") {
  const std::uint64_t seed = rangefinder::testing::property_seed("several threads");
  for (const CaptureMode mode : {CaptureMode::kMapped, CaptureMode::kBuffered, CaptureMode::kRing}) {
    const ScratchFolder folder;
    SessionOptions options = host_only(folder.file("a.rfcap"));
    options.mode = mode;
    options.overflow = OverflowPolicy::kWait;
    options.flush_period = 1ms;
    Recording session(options);
    constexpr std::size_t kThreads = 4;
    std::vector<Script> scripts;
    for (std::size_t t = 0; t < kThreads; ++t) scripts.emplace_back(seed + t);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        ::pthread_setname_np(::pthread_self(), ("worker-" + std::to_string(t)).c_str());
        scripts[t].play(60'000);
      });
    }
    for (int i = 0; i < 50; ++i) (void)session->flush();  // pieces of blocks, too
    for (std::thread& thread : threads) thread.join();
    REQUIRE(session->stop().ok());
    const Timeline timeline = load(folder.file("a.rfcap"));
    CHECK(timeline.health.complete());
    CHECK(timeline.health.unmatched_ends == 0);
    CHECK(timeline.health.unfinished_ranges == 0);
    for (std::size_t t = 0; t < kThreads; ++t) compare(timeline, "worker-" + std::to_string(t), scripts[t]);
  }
}

TEST_CASE("threads that come and go leave nothing out", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.overflow = OverflowPolicy::kWait;  // each takes a block of its own
  Recording session(options);
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds; ++i) {
    std::thread first([] { const ProfileRange range{"short lived"}; });
    std::thread second([] {
      for (int n = 0; n < 10; ++n) const ProfileRange range{"short lived"};
    });
    first.join();
    second.join();
  }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(count_of(timeline, "short lived") == kRounds * 11);
  CHECK(timeline.threads.size() == kRounds * 2 + 1);  // and the one that began the first step
}
