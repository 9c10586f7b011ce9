// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/c/rangefinder.h>
#include <rangefinder/range.hpp>
#include <rangefinder/timeline.hpp>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rangefinder {
namespace {

/// A recording of ranges alone, made and read through C.
class Recording {
 public:
  explicit Recording(const std::string& more = {}) {
    rf_session_options options;
    rf_session_options_init(&options, sizeof options);
    path_ = folder_.file("ranges.rfcap");
    options.output = path_.c_str();
    const std::string config = "cuda=off,nvtx=off,memory=8MiB,stop_timeout=60s," + more;
    options.config = config.c_str();
    if (rf_session_start(&options, &session) != RF_STATUS_OK) throw std::runtime_error(rf_last_error());
  }
  ~Recording() { rf_session_free(session); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  Timeline stop() {
    if (rf_session_stop(session) != RF_STATUS_OK) throw std::runtime_error(rf_last_error());
    Result<Timeline> timeline = load_timeline(path_);
    if (!timeline) throw std::runtime_error(timeline.error().message());
    return std::move(*timeline);
  }

  rf_session* session = nullptr;

 private:
  testing::ScratchFolder folder_;
  std::string path_;
};

/// Names and categories in order of their beginning, with a dot for each range around them.
std::vector<std::string> tree_of(const Timeline& timeline) {
  std::vector<std::string> lines;
  std::vector<std::int64_t> ends;
  for (RangeIndex i{0}; i < timeline.ranges.size(); ++i) {
    while (!ends.empty() && ends.back() <= timeline.ranges.begin_ns[i]) ends.pop_back();
    std::string line(ends.size(), '.');
    line += timeline.text(timeline.ranges.name[i]);
    const std::string category(timeline.text(timeline.ranges.category[i]));
    lines.push_back(category.empty() ? line : line + " of " + category);
    ends.push_back(timeline.ranges.end_ns[i]);
  }
  return lines;
}

TEST_CASE("ranges of C and of C++ nest", "[capi]") {
  Recording recording;
  const rf_name inner = rf_name_intern("inner");
  rf_range_push_text("outer");
  {
    const ProfileRange range{"between"};
    rf_range_push(inner);
    rf_range_push_with("innermost", rf_category_intern("io"), rf_none());
    rf_range_pop();
    rf_range_pop();
  }
  rf_range_pop();
  const Timeline timeline = recording.stop();
  CHECK(tree_of(timeline) == std::vector<std::string>{"outer", ".between", "..inner", "...innermost of io"});
  CHECK(timeline.health.complete());
  CHECK(timeline.health.unmatched_ends == 0);
}

TEST_CASE("values of each kind arrive", "[capi]") {
  Recording recording;
  for (const rf_value value : {rf_unsigned(7), rf_signed(-7), rf_double(0.5), rf_string("text")}) {
    REQUIRE(rf_range_push_with("range", 0, value) == RF_STATUS_OK);
    rf_range_pop();
  }
  const Timeline timeline = recording.stop();
  REQUIRE(timeline.attachments.size() == 4);
  const auto& values = timeline.attachments;
  CHECK((values[0].type == Attachment::Type::kUnsigned && values[0].bits == 7));
  CHECK((values[1].type == Attachment::Type::kSigned && static_cast<std::int64_t>(values[1].bits) == -7));
  double number = 0;
  std::memcpy(&number, &values[2].bits, sizeof number);
  CHECK((values[2].type == Attachment::Type::kDouble && number == 0.5));
  CHECK(timeline.text(static_cast<StringId>(values[3].bits)) == "text");
}

TEST_CASE("a range that outlives its recording is not in the next one", "[capi]") {
  {
    Recording first;
    rf_range_push_text("outer");
  }
  Recording second;
  rf_range_push_text("inner");
  rf_range_pop();
  rf_range_pop();
  const Timeline timeline = second.stop();
  CHECK(tree_of(timeline) == std::vector<std::string>{"inner"});
  CHECK(timeline.health.unmatched_ends == 0);
}

TEST_CASE("ranges that were pushed before a recording are popped in it", "[capi]") {
  rf_range_push_text("before");
  Recording recording;
  rf_range_push_text("in it");
  rf_range_pop();
  rf_range_pop();
  CHECK(tree_of(recording.stop()) == std::vector<std::string>{"in it"});
}

TEST_CASE("a range that opens and closes in a pause leaves the one around it open", "[capi]") {
  Recording recording("active=1,wait=1,skip_first=1");  // its first step is a pause
  rf_session_step(recording.session, 0);                // and so is this one
  rf_session_step(recording.session, 0);
  rf_range_push_text("outer");
  rf_session_step(recording.session, 0);
  rf_range_push_text("in the pause");
  rf_range_pop();
  rf_session_step(recording.session, 0);
  rf_range_push_text("inner");
  rf_range_pop();
  rf_range_pop();
  CHECK(tree_of(recording.stop()) == std::vector<std::string>{"outer", ".inner"});
}

TEST_CASE("what could not be opened is popped like others", "[capi]") {
  Recording recording;
  rf_range_push_text("outer");
  CHECK(rf_range_push_text(nullptr) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_range_push_with("x", 65536, rf_none()) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_range_push_with("x", 0, rf_string(nullptr)) == RF_STATUS_INVALID_ARGUMENT);
  for (int i = 0; i < 3; ++i) rf_range_pop();
  rf_range_push_text("inner");
  rf_range_pop();
  rf_range_pop();
  rf_range_pop();  // one too many
  rf_range_push_text("after");
  rf_range_pop();
  CHECK(tree_of(recording.stop()) == std::vector<std::string>{"outer", ".inner", "after"});
}

TEST_CASE("ranges past the deepest are refused and popped like others", "[capi]") {
  constexpr int kDeepest = 65536, kMore = 3;
  Recording recording;
  const rf_name name = rf_name_intern("deep");
  int kept = 0, refused = 0;
  for (int i = 0; i < kDeepest + kMore; ++i) ++(rf_range_push(name) == RF_STATUS_OK ? kept : refused);
  CHECK(kept == kDeepest);
  CHECK(refused == kMore);
  CHECK(std::string(rf_last_error()).find("65,536 ranges open") != std::string::npos);
  for (int i = 0; i < kDeepest + kMore; ++i) rf_range_pop();
  rf_range_push_text("after");
  rf_range_pop();
  const Timeline timeline = recording.stop();
  REQUIRE(timeline.ranges.size() == kDeepest + 1);
  CHECK(timeline.ranges.end_ns.front() <= timeline.ranges.begin_ns.back());
  CHECK(timeline.health.unfinished_ranges == 0);
  CHECK(timeline.health.complete());
}

TEST_CASE("threads push and pop at once, and leave some open", "[capi]") {
  constexpr int kThreads = 4, kRanges = 1000;
  Recording recording;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&failed] {
      for (int i = 0; i < kRanges; ++i) {
        failed += rf_range_push_text("range") != RF_STATUS_OK;
        if (i + 1 < kRanges) rf_range_pop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  const Timeline timeline = recording.stop();
  CHECK(timeline.ranges.size() == kThreads * kRanges);
  CHECK(timeline.health.unfinished_ranges == kThreads);
}

TEST_CASE("a range that ends on another thread is closed by its handle", "[capi]") {
  Recording recording;
  const rf_range_handle request = rf_range_start("request", 0);
  REQUIRE(request != 0);
  std::thread([request] { rf_range_end(request); }).join();
  const Timeline timeline = recording.stop();
  CHECK(tree_of(timeline) == std::vector<std::string>{"request"});
  CHECK(timeline.ranges.style[0] == RangeStyle::kStartEnd);
  CHECK(timeline.health.unfinished_ranges == 0);
}

TEST_CASE("two coroutines take turns, and each range is one of its own", "[capi]") {
  Recording recording;
  rf_range_push_text("loop");
  rf_range_push_with("first", rf_category_intern("io"), rf_unsigned(7));
  rf_suspended_range first = rf_range_suspend();
  CHECK(rf_range_depth() == 1);
  rf_range_push_text("second");
  rf_range_push_text("inner");
  const rf_suspended_range inner = rf_range_suspend();
  const rf_suspended_range second = rf_range_suspend();
  rf_range_resume(first);
  first = rf_range_suspend();
  rf_range_resume(second);
  rf_range_resume(inner);
  CHECK(rf_range_depth() == 3);
  rf_range_pop();
  rf_range_pop();
  rf_range_resume(first);
  rf_range_pop();
  rf_range_pop();
  CHECK(rf_range_depth() == 0);
  const Timeline timeline = recording.stop();
  CHECK(tree_of(timeline) == std::vector<std::string>{"loop", ".first of io", ".second", "..inner", ".first of io",
                                                      ".second", "..inner", ".first of io"});
  const RangeTable& ranges = timeline.ranges;
  std::vector<bool> runs;
  for (RangeIndex i{0}; i < ranges.size(); ++i) runs.push_back(ranges.is_run(i));
  CHECK(runs == std::vector<bool>{true, false, false, false, false, true, true, true});
  CHECK(ranges.run_ns(RangeIndex{7}) == ranges.end_ns[7] - ranges.begin_ns[1]);
  CHECK(ranges.run_ns(RangeIndex{5}) == ranges.end_ns[5] - ranges.begin_ns[2]);
  CHECK(ranges.run_ns(RangeIndex{6}) == ranges.end_ns[6] - ranges.begin_ns[3]);
  REQUIRE(timeline.attachments.size() == 1);
  CHECK((timeline.attachments[0].row == 1 && timeline.attachments[0].bits == 7));
  CHECK(timeline.health.complete());
  CHECK(timeline.health.unfinished_ranges == 0);
}

TEST_CASE("a suspended range is a pop and a push, whatever is recorded", "[capi]") {
  const rf_suspended_range nothing = rf_range_suspend();
  CHECK((nothing.token == 0 && rf_range_depth() == 0));
  rf_range_resume(nothing);
  CHECK(rf_range_depth() == 0);
  rf_suspended_range before{};
  {
    Recording first;
    rf_range_push_text("first");
    before = rf_range_suspend();
    const Timeline timeline = first.stop();
    CHECK(timeline.health.unfinished_ranges == 1);
    CHECK((timeline.ranges.size() == 1 && timeline.ranges.is_run(RangeIndex{0})));
  }
  Recording second;
  rf_range_resume(before);
  CHECK(rf_range_depth() == 1);
  rf_range_push_text("second");
  rf_range_pop();
  const rf_suspended_range again = rf_range_suspend();
  rf_range_resume(again);
  rf_range_pop();
  CHECK(rf_range_depth() == 0);
  CHECK(tree_of(second.stop()) == std::vector<std::string>{"second"});
}

TEST_CASE("a pop by name closes the range of that name, and none inside of it", "[capi]") {
  Recording recording;
  const rf_name outer = rf_name_intern("outer"), inner = rf_name_intern("inner"), other = rf_name_intern("other");
  CHECK(rf_range_pop_named(outer));  // none is open
  rf_range_push(outer);
  rf_range_push(inner);
  CHECK_FALSE(rf_range_pop_named(other));
  CHECK(rf_range_depth() == 2);
  CHECK_FALSE(rf_range_pop_named(outer));
  CHECK(rf_range_depth() == 1);
  rf_range_push(other);
  CHECK(rf_range_pop_named(other));
  CHECK(rf_range_pop_named(inner));
  CHECK(rf_range_depth() == 0);
  const Timeline timeline = recording.stop();
  const RangeTable& ranges = timeline.ranges;
  REQUIRE(ranges.size() == 3);
  CHECK(timeline.text(ranges.name[2]) == "other");
  CHECK((ranges.end_ns[0] < ranges.begin_ns[2] && ranges.end_ns[1] > ranges.end_ns[2]));
  CHECK(timeline.health.unmatched_ends == 0);
}

TEST_CASE("a name that was never given is recorded as none", "[capi]") {
  Recording recording;
  for (const rf_name name : {rf_name{0}, rf_name{4'000'000}, ~rf_name{0}}) {
    rf_range_push(name);
    rf_range_pop();
  }
  CHECK(tree_of(recording.stop()) == std::vector<std::string>{"(unnamed)", "", ""});
}

TEST_CASE("a capture that is done is told of", "[capi]") {
  testing::ScratchFolder folder;
  const std::string output = folder.file("told.rfcap");
  std::string told;
  rf_session_options options;
  REQUIRE(rf_session_options_init(&options, sizeof options) == RF_STATUS_OK);
  options.output = output.c_str();
  options.config = "cuda=off,nvtx=off,memory=8MiB,stop_timeout=60s";
  options.on_capture_ready_user = &told;
  options.on_capture_ready = [](void* user, const rf_capture_ready* ready) {
    *static_cast<std::string*>(user) += std::string(ready->path) + " " + std::to_string(ready->number) + " " +
                                        rf_status_name(ready->status) + ready->message;
  };
  rf_session* session = nullptr;
  REQUIRE(rf_session_start(&options, &session) == RF_STATUS_OK);
  rf_session_free(session);
  CHECK(told == output + " 1 ok");
}

}  // namespace
}  // namespace rangefinder
