// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <set>

using namespace rangefinder;
using namespace rangefinder::report;
using rangefinder::testing::change_last;
using rangefinder::testing::change_row;
using rangefinder::testing::TimelineBuilder;

TEST_CASE("every view has a name of its own and a description, and is found by it", "[report]") {
  std::set<std::string_view> names;
  for (const View* view : views()) {
    CHECK(names.insert(view->name).second);
    CHECK_FALSE(view->description.empty());
    ViewOptions options;
    const auto found = find_view(view->name, options);
    REQUIRE(found);
    CHECK(*found == view);
  }
  for (const char* name : {"nvtx_gpu_proj_trace", "nvtx_gpu_proj_sum", "nvtx_kern_sum", "nvtx_pushpop_trace",
                           "nvtx_sum", "cuda_gpu_kern_sum", "cuda_gpu_trace", "cuda_api_sum", "cuda_kern_exec_sum",
                           "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"})
    CHECK(names.count(name) == 1);
}

TEST_CASE("every view answers a timeline that holds nothing", "[report]") {
  const Timeline nothing;
  const ProjectedTimeline projected(nothing, {});
  for (const View* view : views()) {
    CAPTURE(view->name);
    const auto table = make_table(*view, projected, {});
    REQUIRE(table);
    CHECK(table->row_count() == 0);
    CHECK_FALSE(table->columns().empty());
    CHECK(table->name_column() < table->columns().size());
    CHECK(is_text(table->columns()[table->name_column()].type));
  }
}

TEST_CASE("every view has rows also of what is without thread, call or detail", "[report]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100)
      .launch_call("cudaLaunchKernel_v7000", 10, 20)
      .kernel(30, 40)
      .memcpy(40, 50, 5)
      .memset(50, 60, 5);
  builder.launch(70).kernel(80, 90).without_launch(99).kernel(95, 96);
  change_last(builder.range("nowhere", 5, 6).timeline().ranges, [&](auto& changed) { changed.thread = kNone; });
  change_row(builder.timeline().activities, 0, [&](auto& changed) { changed.detail = kNone; });
  const Timeline timeline = builder.build();
  const ProjectedTimeline projected(timeline, {});
  for (const View* view : views()) {
    CAPTURE(view->name);
    const auto table = make_table(*view, projected, {});
    REQUIRE(table);
    for (std::size_t row = 0; row < table->row_count(); ++row)
      for (std::size_t column = 0; column < table->columns().size(); ++column) (void)table->text_at(row, column);
  }
}

TEST_CASE("variants stand behind a view's name", "[report]") {
  ViewOptions options;
  REQUIRE(find_view("cuda_gpu_kern_sum:nvtx-name:base", options));
  CHECK(options.is(kNvtxName));
  CHECK(options.is(kBase));
  REQUIRE(find_view("nvtx_kern_sum:mangled", options));  // in the place of the other name
  CHECK(options.is(kMangled));
  CHECK_FALSE(options.is(kBase));
  REQUIRE(find_view("steps:summary", options));
  CHECK(options.is(kSummary));
}

TEST_CASE("what is no view is answered with the nearest", "[report]") {
  ViewOptions options;
  const auto misspelt = find_view("nvtx_gpu_proj_trase", options);
  REQUIRE_FALSE(misspelt);
  CHECK(misspelt.error().code() == ErrorCode::kNotFound);
  CHECK(misspelt.error().message() == "no view \"nvtx_gpu_proj_trase\"; did you mean nvtx_gpu_proj_trace?");
  CHECK(find_view("zzzzzzzzzzzz", options).error().message().find("there are ") != std::string::npos);
  const auto suffix = find_view("nvtx_kern_sum:nvtx-name", options);
  REQUIRE_FALSE(suffix);
  CHECK(suffix.error().code() == ErrorCode::kInvalidArgument);
  CHECK(suffix.error().message() == "nvtx_kern_sum has no variant \":nvtx-name\"; it has base mangled");
  CHECK_FALSE(find_view("nvtx_sum:", options));
  CHECK_FALSE(find_view("", options));
}

TEST_CASE("what an input lacks for a view is said", "[report]") {
  ViewOptions options;
  const View& view = **find_view("nvtx_gpu_proj_sum", options);
  CHECK(missing_for(view, Timeline()) ==
        "nvtx_gpu_proj_sum needs data that this input does not have: ranges, device activity");
  CHECK(missing_for(view, TimelineBuilder().range("a", 0, 1).launch(0).kernel(0, 1).build()).empty());
}

TEST_CASE("a view's table obeys the options, and its errors carry its name", "[report]") {
  const Timeline timeline = TimelineBuilder().range("a", 0, 1).range("b", 0, 5).range("ab", 0, 3).build();
  const ProjectedTimeline projected(timeline, {});
  ViewOptions options;
  const View& view = **find_view("nvtx_sum", options);
  options.filter = "b";
  options.top = 1;
  const auto table = make_table(view, projected, options);
  REQUIRE(table);
  REQUIRE(table->row_count() == 1);
  CHECK(table->text_at(0, table->name_column()) == "b");
  options.sort = "nonsense";
  const auto failed = make_table(view, projected, options);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message().find("nvtx_sum: sort: no column") == 0);
}

TEST_CASE("compatible views leave texts as they are in CSV, others defuse formulas", "[report]") {
  for (const View* view : views()) CHECK(csv_options_for(*view).defuse_formulas == !view->compatible);
}
