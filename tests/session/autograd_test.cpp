// SPDX-License-Identifier: MIT
//
// Numbers of autograd nodes at ranges, and the nodes, of an autograd that is made up here: a counter a thread.
#include "session/session_fixture.hpp"

#include <rangefinder/detail/autograd.hpp>

#include <chrono>
#include <optional>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

thread_local std::uint64_t next_sequence = 0;
thread_local std::uint64_t thread_number = 0;

/// Takes the next number, as a node that is made does, and some time: without, a processor may read both clocks of the
/// range around it at once, and no moment lies between them.
std::int64_t make_node() {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::nanoseconds(10)) {
  }
  return static_cast<std::int64_t>(next_sequence++);
}

void run_node(std::int64_t sequence, std::uint64_t forward_thread) {
  if (detail::node_begin("MulBackward0", sequence, forward_thread)) detail::node_end();
}

/// While it lives, the recorder knows of the numbers.
class Hooks {
 public:
  Hooks() {
    static constexpr detail::AutogradHooks kHooks{[] { return next_sequence; }, [] { return thread_number; }};
    next_sequence = 0;
    thread_number = 1;
    detail::set_autograd_hooks(&kHooks);
  }
  ~Hooks() { detail::set_autograd_hooks(nullptr); }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;
};

/// Name of the innermost range where and when the node was made; nothing where that is not known.
std::optional<std::string> made_in(const Timeline& timeline, std::size_t node) {
  if (timeline.autograd_nodes.forward_thread[node] == kNone) return std::nullopt;
  const RangeTable& ranges = timeline.ranges;
  std::string name;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {  // in order of begin
    if (ranges.thread[range] == timeline.autograd_nodes.forward_thread[node] &&
        ranges.begin_ns[range] <= timeline.autograd_nodes.forward_ns[node] &&
        timeline.autograd_nodes.forward_ns[node] < ranges.end_ns[range])
      name = timeline.text(ranges.name[range]);
  }
  return name;
}

std::vector<std::string> nodes_of(const Timeline& timeline) {
  std::vector<std::string> lines;
  const AutogradNodeTable& nodes = timeline.autograd_nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    lines.push_back(std::to_string(nodes.sequence[i]) + " [" +
                    std::to_string(nodes.begin_ns[i] - std::int64_t{ManualClock::kStart}) + ", " +
                    std::to_string(nodes.end_ns[i] - std::int64_t{ManualClock::kStart}) + ") made in " +
                    made_in(timeline, i).value_or("?"));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a node is known to be made in the range that was open when it took its number", "[session]") {
  const ScratchFolder folder;
  const Hooks hooks;
  ManualClock clock;
  const auto at = [&](std::uint64_t ns) { clock.set(ManualClock::kStart + ns); };
  Dependencies parts;
  parts.clock = &clock;
  (void)make_node();  // 0: before the recording
  Recording session(host_only(folder.file("a.rfcap")), parts);
  at(100);
  {
    const ProfileRange outer{"outer"};
    (void)make_node();  // 1
    at(200);
    {
      const ProfileRange inner{"inner"};
      (void)make_node();  // 2
      (void)make_node();  // 3
      at(300);
    }
    at(400);
    (void)make_node();  // 4
    const RangeHandle handle = start_range("upload");
    (void)make_node();  // 5
    at(450);
    end_range(handle);
    at(500);
  }
  (void)make_node();  // 6
  at(600);
  {
    const ProfileRange empty{"empty"};
    at(650);
  }
  std::thread engine([&] {
    thread_number = 2;
    for (std::int64_t sequence = 7; sequence >= -1; --sequence) {
      at(1000 - static_cast<std::uint64_t>(sequence) * 10);
      const bool recorded = detail::node_begin("node", sequence, 1);
      CHECK(recorded);
      at(1005 - static_cast<std::uint64_t>(sequence) * 10);
      detail::node_end();
    }
  });
  engine.join();
  (void)make_node();  // 7: ran before it was made, which no file may stumble over
  REQUIRE(session->stop().ok());
  CHECK(nodes_of(load(folder.file("a.rfcap"))) ==
        Lines{"7 [930, 935) made in ", "6 [940, 945) made in ", "5 [950, 955) made in upload",
              "4 [960, 965) made in outer", "3 [970, 975) made in inner", "2 [980, 985) made in inner",
              "1 [990, 995) made in outer", "0 [1000, 1005) made in ?", "-1 [1010, 1015) made in ?"});
}

TEST_CASE("nodes nest, and those that nothing ended last to the end", "[session]") {
  const ScratchFolder folder;
  const Hooks hooks;
  ManualClock clock;
  Dependencies parts;
  parts.clock = &clock;
  Recording session(host_only(folder.file("a.rfcap")), parts);
  const auto at = [&](std::uint64_t ns) { clock.set(ManualClock::kStart + ns); };
  at(100);
  const ProfileRange range{"range"};
  (void)make_node();
  at(200);
  CHECK(detail::node_begin("outer", 0, 1));
  at(210);
  CHECK(detail::node_begin("inner", -1, 1));
  at(220);
  detail::node_end();
  at(300);
  mark("last");
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  REQUIRE(timeline.autograd_nodes.size() == 2);
  CHECK(nodes_of(timeline)[1] == "-1 [210, 220) made in ?");
  CHECK(timeline.autograd_nodes.begin_ns[0] == std::int64_t{ManualClock::kStart} + 200);
  CHECK(timeline.autograd_nodes.end_ns[0] >= std::int64_t{ManualClock::kStart} + 300);
  CHECK(made_in(timeline, 0) == "range");
}

TEST_CASE("threads of the engine are told by their names, and nodes keep their own ends", "[session]") {
  const ScratchFolder folder;
  const Hooks hooks;
  ManualClock clock;
  Dependencies parts;
  parts.clock = &clock;
  Recording session(host_only(folder.file("a.rfcap")), parts);
  const auto at = [&](std::uint64_t ns) { clock.set(ManualClock::kStart + ns); };
  const auto run = [&] {
    for (const std::uint64_t begin : {100u, 200u}) {
      at(begin);
      CHECK(detail::node_begin("node", 5, 1));
      at(begin + 10);
      CHECK(detail::node_begin("inside", 6, 1));
      at(begin + 20);
      detail::node_end();
      at(begin + 30);
      detail::node_end();
    }
  };
  run();
  std::thread engine([&] {
    ::pthread_setname_np(::pthread_self(), "pt_autograd_0");
    run();
  });
  engine.join();
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  std::vector<std::int64_t> ends;
  for (const std::int64_t end : timeline.autograd_nodes.end_ns) ends.push_back(end - std::int64_t{ManualClock::kStart});
  CHECK(ends == std::vector<std::int64_t>{130, 120, 230, 220, 130, 120, 230, 220});
  REQUIRE(timeline.threads.size() == 2);
  for (const ThreadInfo& thread : timeline.threads) CHECK(thread.is_engine == (thread.name == "pt_autograd_0"));
  CHECK(timeline.threads[ThreadIndex(0)].is_engine != timeline.threads[ThreadIndex(1)].is_engine);
}

TEST_CASE("numbers that were taken outside of active steps are not known", "[session]") {
  const ScratchFolder folder;
  const Hooks hooks;
  ManualClock clock;
  Dependencies parts;
  parts.clock = &clock;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.schedule = {0, 1, 0, 2, 1};
  Recording session(options, parts);
  const auto at = [&](std::uint64_t ns) { clock.set(ManualClock::kStart + ns); };
  const auto step = [&](std::uint64_t ns) {
    at(ns);
    {
      const ProfileRange range{"step"};
      (void)make_node();
      at(ns + 45);
      if (ns == 300)
        for (const std::int64_t sequence : {0, 1, 2}) run_node(sequence, 1);
      at(ns + 50);
    }
    session->step();
  };
  CHECK_FALSE(detail::node_begin("node", 0, 1));
  step(100);  // off
  step(200);
  step(300);
  REQUIRE(session->stop().ok());
  CHECK(nodes_of(load(folder.file("a.rfcap"))) ==
        Lines{"0 [345, 345) made in ?", "1 [345, 345) made in step", "2 [345, 345) made in step"});
}

TEST_CASE("no number is lost where a block of memory ends", "[session]") {
  const ScratchFolder folder;
  const Hooks hooks;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.overflow = OverflowPolicy::kWait;
  Recording session(options);
  constexpr int kRanges = 20'000;  // several blocks
  {
    const ProfileRange all{"all"};
    for (int i = 0; i < kRanges; ++i) {
      const ProfileRange outer{i % 2 == 0 ? "even" : "odd"};
      (void)make_node();
      const ProfileRange inner{i % 3 == 0 ? "third" : "other"};
      (void)make_node();
    }
    for (std::int64_t sequence = 0; sequence < 2 * kRanges; ++sequence) run_node(sequence, 1);
  }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  REQUIRE(timeline.health.complete());
  REQUIRE(timeline.autograd_nodes.size() == 2 * kRanges);
  // Ranges and nodes are both in order here.
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < timeline.autograd_nodes.size(); ++i) {
    const RangeIndex expected = static_cast<RangeIndex>(i + 1);
    const std::int64_t made = timeline.autograd_nodes.forward_ns[i];
    const bool right = timeline.autograd_nodes.forward_thread[i] == timeline.ranges.thread[expected] &&
                       timeline.ranges.begin_ns[expected] <= made && made < timeline.ranges.end_ns[expected] &&
                       (i % 2 == 1 || made < timeline.ranges.begin_ns[expected + 1] + 2);
    wrong += right ? 0 : 1;
  }
  CHECK(wrong == 0);
}
