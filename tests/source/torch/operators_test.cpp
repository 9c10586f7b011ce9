// SPDX-License-Identifier: MIT
//
// What OperatorRecording records, as its options ask; that it is right is kineto_test.cpp's.
#include "support/scratch_folder.hpp"
#include "support/timeline_columns.hpp"
#include "torch_program.hpp"

#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/torch/operators.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
using rangefinder::torch::OperatorOptions;
using rangefinder::torch::OperatorRecording;

namespace {

Timeline load(const std::string& path) {
  LoadOptions options;
  options.operator_inputs = true;
  Result<Timeline> timeline = load_timeline(path, options);
  REQUIRE(timeline.ok());
  return std::move(*timeline);
}

SessionOptions host_only(const std::string& path) {
  SessionOptions options;
  options.output = path;
  options.cuda = false;
  return options;
}

Timeline record_operators(const OperatorOptions& options, const std::function<void()>& program) {
  const ScratchFolder folder;
  Session session(host_only(folder.file("a.rfcap")));
  REQUIRE(session.status().ok());
  {
    const OperatorRecording operators(options);
    program();
  }
  REQUIRE(session.stop().ok());
  return load(folder.file("a.rfcap"));
}

std::vector<std::string> names_of(const Timeline& timeline, RangeKind kind) {
  std::vector<std::string> names;
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    if (timeline.ranges.kind[range] == kind) names.emplace_back(timeline.text(timeline.ranges.name[range]));
  }
  return names;
}

std::size_t count_of(const Timeline& timeline, std::string_view name) {
  const std::vector<std::string> names = names_of(timeline, RangeKind::kOperator);
  return static_cast<std::size_t>(std::count(names.begin(), names.end(), name));
}

/// Rows that tell inputs.
std::vector<std::size_t> with_texts(const Timeline& timeline) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < timeline.operators.size(); ++row) {
    if (timeline.operators.shapes[row] != StringId::kEmpty) rows.push_back(row);
  }
  return rows;
}

OperatorOptions with_shapes() {
  OperatorOptions options;
  options.shapes = true;
  return options;
}

}  // namespace

TEST_CASE("inputs are recorded where they are asked for, by anyone", "[torch]") {
  const at::Tensor x = at::ones({2, 3});
  CHECK(with_texts(record_operators({}, [&] { (void)x.add(x); })).empty());
  const Timeline timeline = record_operators({}, [&] {
    (void)x.add(x);
    {
      const OperatorRecording shapes(with_shapes());
      (void)x.add(x, 2);
    }
    (void)x.add(x);
  });
  CHECK(count_of(timeline, "aten::add") == 3);  // once each
  REQUIRE(with_texts(timeline).size() == 1);
  const std::size_t row = with_texts(timeline).front();
  CHECK(timeline.text(timeline.operators.shapes[row]) == "[[2,3],[2,3],[]]");
  CHECK(timeline.text(timeline.operators.types[row]) == R"(["float","float","Scalar"])");
  CHECK(timeline.text(timeline.operators.values[row]) == R"(["","","2"])");
}

TEST_CASE("what is in no session is not looked at, and each session has the texts it needs", "[torch]") {
  const ScratchFolder folder;
  const at::Tensor x = at::ones({5, 7});
  const OperatorRecording operators(with_shapes());
  (void)x.add(x);
  for (const char* file : {"a.rfcap", "b.rfcap"}) {
    Session session(host_only(folder.file(file)));
    (void)x.add(x);
    REQUIRE(session.stop().ok());
    const Timeline timeline = load(folder.file(file));
    REQUIRE(count_of(timeline, "aten::add") == 1);
    REQUIRE(with_texts(timeline).size() == 1);
    CHECK(timeline.text(timeline.operators.shapes[0]) == "[[5,7],[5,7],[]]");
  }
}

TEST_CASE("inputs that fit in no text are counted, not cut", "[torch]") {
  const at::Tensor x = at::ones({1, 1, 1, 1, 1, 1, 1, 1});
  // The text of each takes 24 bytes and its type 9, of 16,384 that are possible.
  const std::vector<c10::IValue> few(400, x), many(600, x), very_many(10'000, x);
  const Timeline timeline = record_operators(with_shapes(), [&] {
    { RECORD_FUNCTION("few", few); }
    { RECORD_FUNCTION("many", many); }
    { RECORD_FUNCTION("very many", very_many); }
  });
  CHECK(names_of(timeline, RangeKind::kOperator) == std::vector<std::string>{"few", "many", "very many"});
  REQUIRE(numbers_of(timeline.operators.range) == std::vector<std::uint32_t>{0});
  CHECK(timeline.text(timeline.operators.shapes[0]).starts_with("[[1,1,1,1,1,1,1,1],[1,"));
  CHECK(timeline.health.operators_without_inputs == 2);
  CHECK_FALSE(timeline.health.complete());
}

TEST_CASE("a share of the outermost operators is recorded, each with all inside", "[torch]") {
  const at::Tensor x = weight({4, 4}), b = weight({4});
  constexpr std::size_t kCalls = 2'000;
  const auto program = [&] {
    for (std::size_t i = 0; i < kCalls; ++i) (void)at::linear(x, x, b);
  };
  OperatorOptions options;
  options.sampling = 0.25;
  const Timeline timeline = record_operators(options, program);
  const std::size_t recorded = count_of(timeline, "aten::linear");
  CHECK(recorded > kCalls / 8);  // twelve times the deviation off
  CHECK(recorded < kCalls / 2);
  CHECK(count_of(timeline, "aten::addmm") == recorded);
  CHECK(count_of(timeline, "aten::t") == recorded);
  const std::size_t inside = names_of(timeline, RangeKind::kOperator).size() / recorded;
  CHECK(timeline.health.sampled_out_operators == (kCalls - recorded) * inside);
  CHECK(timeline.health.complete());  // as asked
  options.sampling = 0;
  const Timeline none = record_operators(options, program);
  CHECK(none.ranges.size() == 0);
  CHECK(none.health.sampled_out_operators == kCalls * inside);
}

TEST_CASE("user scopes are ranges, unless they are not wanted", "[torch]") {
  const auto program = [] {
    RECORD_USER_SCOPE("mine");
    (void)at::ones({2});
  };
  OperatorOptions options;
  const Timeline timeline = record_operators(options, program);
  CHECK(names_of(timeline, RangeKind::kAnnotation) == std::vector<std::string>{"mine"});
  CHECK(count_of(timeline, "aten::ones") == 1);
  options.user_scopes = false;
  const Timeline without = record_operators(options, program);
  CHECK(names_of(without, RangeKind::kAnnotation).empty());
  CHECK(count_of(without, "aten::ones") == 1);
}

TEST_CASE("an operator that ends on another thread leaves the others right", "[torch]") {
  const Timeline timeline = record_operators({}, [] {
    auto elsewhere = std::make_unique<at::RecordFunction>(at::RecordScope::FUNCTION);
    const at::Tensor x = at::ones({2});
    {
      const ProfileRange around{"around"};
      RECORD_FUNCTION("outer", {});
      elsewhere->before("elsewhere");
      (void)x.add(x);
    }
    std::thread([&] {
      RECORD_FUNCTION("there", {});
      elsewhere.reset();
      (void)x.add(x);
    }).join();
    (void)x.add(x);
  });
  CHECK(count_of(timeline, "aten::add") == 3);
  CHECK(timeline.health.unfinished_ranges == 1);
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    const bool unfinished = (timeline.ranges.flags[range] & kUnfinished) != 0;
    CHECK(unfinished == (timeline.text(timeline.ranges.name[range]) == "elsewhere"));
  }
}

TEST_CASE("slices that Gloo keeps open for its messages are no ranges", "[torch]") {
  const Timeline timeline = record_operators({}, [] {
    std::vector<std::unique_ptr<at::RecordFunction>> posted;
    for (const char* name : {"gloo:send", "gloo:recv", "gloo:all_reduce"}) {
      posted.push_back(std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE));
      posted.back()->_setAsync();
      posted.back()->before(name);
    }
    posted.back()->end();  // of a collective, whose slice is the time that it ran
    RECORD_USER_SCOPE("gloo:send of my own");
  });
  CHECK(names_of(timeline, RangeKind::kAnnotation) ==
        std::vector<std::string>{"gloo:all_reduce", "gloo:send of my own"});
  CHECK(timeline.health.unfinished_ranges == 0);
}

TEST_CASE("operators that never end do not pile up", "[torch]") {
  std::vector<std::unique_ptr<at::RecordFunction>> never;
  const at::Tensor x = at::ones({2});
  const Timeline timeline = record_operators({}, [&] {
    for (int i = 0; i < 10'000; ++i) {
      never.push_back(std::make_unique<at::RecordFunction>(at::RecordScope::FUNCTION));
      never.back()->before("never");
    }
    (void)x.add(x);
  });
  never.clear();
  CHECK(count_of(timeline, "never") == 10'000);
  CHECK(count_of(timeline, "aten::add") == 1);
  CHECK(timeline.health.unfinished_ranges == 10'000);
}

TEST_CASE("a program asks for its own key averages while it runs", "[torch]") {
  const ScratchFolder folder;
  Session session(host_only(folder.file("a.rfcap")));
  const OperatorRecording operators{{.shapes = true}};
  const at::Tensor a = at::ones({2, 3}), b = at::ones({3, 4});
  for (std::uint64_t calls = 1; calls <= 3; ++calls) {
    (void)at::mm(a, b);
    REQUIRE(session.flush().ok());
    const Timeline timeline = load(session.output());
    const KeyAverages averages = key_averages(timeline, true);
    const auto mm = std::find_if(averages.groups.begin(), averages.groups.end(),
                                 [&](const OperatorGroup& group) { return timeline.text(group.name) == "aten::mm"; });
    REQUIRE(mm != averages.groups.end());
    CHECK(mm->calls == calls);
    CHECK(mm->flops == calls * 2 * 2 * 3 * 4);
    CHECK(mm->cpu_total_ns > 0);
    CHECK(timeline.text(mm->shapes) == "[[2,3],[3,4]]");
    CHECK(key_averages_table(timeline, averages).find("aten::mm") != std::string::npos);
  }
  REQUIRE(session.stop().ok());
}
