// SPDX-License-Identifier: MIT
#include "exporter/arrow/tables.hpp"

#include "exporter/arrow/batch.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/arrow.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::arrow {
namespace {

using rangefinder::testing::TimelineBuilder;

/// A table as a consumer holds it: released when it goes.
class Imported {
 public:
  Imported(const std::shared_ptr<const Timeline>& timeline, std::string_view table) {
    ArrowArrayStream stream{};
    REQUIRE(export_arrow_table(timeline, table, &stream).ok());
    take(stream);
  }
  explicit Imported(ArrowArrayStream stream) { take(stream); }
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;
  ~Imported() {
    if (rows.release != nullptr) rows.release(&rows);
    if (schema.release != nullptr) schema.release(&schema);
  }

  std::int64_t position(std::string_view name) const {
    for (std::int64_t i = 0; i < schema.n_children; ++i)
      if (name == schema.children[i]->name) return i;
    FAIL("no column " << name);
    return -1;
  }
  const ArrowArray& column(std::string_view name) const { return *rows.children[position(name)]; }
  const ArrowSchema& type(std::string_view name) const { return *schema.children[position(name)]; }
  template <typename T>
  const T* values(std::string_view name) const {
    return static_cast<const T*>(column(name).buffers[1]);
  }
  bool is_valid(std::string_view name, std::size_t row) const {
    const auto* const bits = static_cast<const std::uint8_t*>(column(name).buffers[0]);
    return bits == nullptr || (bits[row / 8] >> (row % 8) & 1) != 0;
  }
  std::string text(std::string_view name, std::size_t row) const {
    const ArrowArray& texts = *column(name).dictionary;
    const auto* const ends = static_cast<const std::int32_t*>(texts.buffers[1]);
    const auto* const bytes = static_cast<const char*>(texts.buffers[2]);
    const bool is_small = std::string_view(type(name).format) == "c";
    const std::int32_t at = is_small ? values<std::int8_t>(name)[row] : values<std::int32_t>(name)[row];
    return {bytes + ends[at], bytes + ends[at + 1]};
  }

  ArrowSchema schema{};
  ArrowArray rows{};

 private:
  void take(ArrowArrayStream& stream) {
    REQUIRE(stream.get_schema(&stream, &schema) == 0);
    REQUIRE(stream.get_next(&stream, &rows) == 0);
    ArrowArray end{};
    REQUIRE(stream.get_next(&stream, &end) == 0);
    CHECK(end.release == nullptr);
    stream.release(&stream);
    CHECK(stream.release == nullptr);
  }
};

std::shared_ptr<const Timeline> two_kernels() {
  return std::make_shared<const Timeline>(
      TimelineBuilder().range("step", 0, 100).launch(10).kernel(20, 40).without_launch(99).kernel(50, 60).build());
}

TEST_CASE("numbers and names point into the timeline", "[exporter][arrow]") {
  const std::shared_ptr<const Timeline> timeline = two_kernels();
  const Imported table(timeline, "activities");
  CHECK(table.rows.length == 2);
  CHECK(table.values<std::int64_t>("begin_ns") == timeline->activities.begin_ns.begin());
  CHECK(table.values<std::int64_t>("end_ns") == timeline->activities.end_ns.begin());
  CHECK(static_cast<const void*>(table.values<std::int32_t>("name")) == timeline->activities.name.begin());
  CHECK(static_cast<const void*>(table.values<std::int8_t>("kind")) == timeline->activities.kind.begin());
  CHECK(static_cast<const void*>(table.values<std::uint32_t>("launch")) == timeline->activities.launch.begin());
  CHECK(std::string(table.type("begin_ns").format) == "l");
  CHECK(std::string(table.type("name").format) == "i");
  CHECK(std::string(table.type("name").dictionary->format) == "u");
  CHECK(table.text("name", 0) == timeline->text(timeline->activities.name[0]));
  CHECK(table.text("kind", 0) == "kernel");
}

TEST_CASE("what is missing is null", "[exporter][arrow]") {
  const std::shared_ptr<const Timeline> timeline = two_kernels();
  const Imported table(timeline, "activities");
  CHECK(table.column("launch").null_count == 1);
  CHECK(table.is_valid("launch", 0));
  CHECK_FALSE(table.is_valid("launch", 1));
  CHECK(table.column("queued_ns").null_count == 2);
  CHECK_FALSE(table.is_valid("queued_ns", 0));
  CHECK(table.column("begin_ns").buffers[0] == nullptr);
  CHECK((table.type("launch").flags & ARROW_FLAG_NULLABLE) != 0);
  CHECK((table.type("begin_ns").flags & ARROW_FLAG_NULLABLE) == 0);
}

TEST_CASE("columns that the timeline stores narrower are copied", "[exporter][arrow]") {
  const std::shared_ptr<const Timeline> timeline = std::make_shared<const Timeline>(
      TimelineBuilder().launch(1).memcpy(2, 3, 4096).launch(4).memcpy(5, 6, std::uint64_t{1} << 20).build());
  const Imported table(timeline, "activities");
  CHECK(std::string(table.type("bytes").format) == "L");
  CHECK(table.values<std::uint64_t>("bytes")[0] == 4096);
  CHECK(table.values<std::uint64_t>("bytes")[1] == std::uint64_t{1} << 20);
}

TEST_CASE("arrays keep the timeline until the last one is released", "[exporter][arrow]") {
  std::shared_ptr<const Timeline> timeline = two_kernels();
  const std::weak_ptr<const Timeline> watched = timeline;
  ArrowArray kept{};
  {
    Imported table(timeline, "activities");
    timeline.reset();
    CHECK_FALSE(watched.expired());
    // As the specification lets a consumer do: a child is moved out, and its parent released.
    ArrowArray& child = *table.rows.children[table.position("begin_ns")];
    kept = child;
    child.release = nullptr;
  }
  CHECK_FALSE(watched.expired());
  CHECK(static_cast<const std::int64_t*>(kept.buffers[1])[1] == 50);
  kept.release(&kept);
  CHECK(kept.release == nullptr);
  CHECK(watched.expired());
}

TEST_CASE("a stream that is never read keeps nothing once it is released", "[exporter][arrow]") {
  std::shared_ptr<const Timeline> timeline = two_kernels();
  const std::weak_ptr<const Timeline> watched = timeline;
  ArrowArrayStream stream{};
  REQUIRE(export_arrow_table(timeline, "activities", &stream).ok());
  timeline.reset();
  CHECK_FALSE(watched.expired());
  stream.release(&stream);
  CHECK(watched.expired());
}

TEST_CASE("every table of an empty timeline has its columns", "[exporter][arrow]") {
  const auto timeline = std::make_shared<const Timeline>();
  for (const ArrowTableInfo& info : arrow_tables()) {
    CAPTURE(std::string(info.name));
    const Imported table(timeline, info.name);
    CHECK(table.rows.length == 0);
    CHECK(table.schema.n_children > 0);
    CHECK(table.schema.n_children == table.rows.n_children);
    for (std::int64_t i = 0; i < table.rows.n_children; ++i)
      CHECK((table.schema.children[i]->dictionary != nullptr) == (table.rows.children[i]->dictionary != nullptr));
  }
}

TEST_CASE("an unknown table names the nearest one", "[exporter][arrow]") {
  ArrowArrayStream stream{};
  const Status status = export_arrow_table(two_kernels(), "activites", &stream);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kNotFound);
  CHECK(status.error().message().find("activities") != std::string::npos);
  CHECK(stream.release == nullptr);
}

TEST_CASE("names that are no UTF-8 become some, and stay apart", "[exporter][arrow]") {
  TextColumn texts;
  texts.add("a\xFF\xC3z");
  texts.add("größe");
  texts.add("");
  texts.add("a\xEF\xBF\xBDz");
  const Column column = std::move(texts).take("t");
  const auto* const ends = static_cast<const std::int32_t*>(column.buffers[1].data);
  const auto* const bytes = static_cast<const char*>(column.buffers[2].data);
  const auto text = [&](std::size_t at) { return std::string(bytes + ends[at], bytes + ends[at + 1]); };
  CHECK(text(0) ==
        "a\xEF\xBF\xBD"
        "FF\xEF\xBF\xBD"
        "C3z");
  CHECK(text(1) == "größe");
  CHECK(text(2).empty());
  CHECK(text(3) ==
        "a\xEF\xBF\xBD"
        "EF\xEF\xBF\xBD"
        "BF\xEF\xBF\xBD"
        "BDz");
  CHECK(column.length == 4);
}

TEST_CASE("metadata is stored with the schema", "[exporter][arrow]") {
  Batch batch;
  ArrowArrayStream stream{};
  give_stream(std::move(batch), {{"key", "value"}}, &stream);
  const Imported table(stream);
  std::int32_t numbers[2];
  std::memcpy(numbers, table.schema.metadata, sizeof numbers);
  CHECK((numbers[0] == 1 && numbers[1] == 3));
  CHECK(std::string(table.schema.metadata + 8, 3) == "key");
  CHECK(std::string(table.schema.metadata + 15, 5) == "value");
}

TEST_CASE("a view has the numbers of its JSON", "[exporter][arrow]") {
  const std::shared_ptr<const Timeline> timeline = two_kernels();
  ArrowArrayStream stream{};
  ReportOptions options;
  options.view = "kernels";
  REQUIRE(export_arrow_view(*timeline, options, &stream).ok());
  const Imported table(stream);
  REQUIRE(table.rows.length == 1);
  bool has_total = false;
  for (std::int64_t i = 0; i < table.schema.n_children; ++i) {
    if (std::string_view(table.schema.children[i]->format) != "l") continue;
    has_total = has_total || static_cast<const std::int64_t*>(table.rows.children[i]->buffers[1])[0] == 30;
  }
  CHECK(has_total);
  options.view = "kernel";
  CHECK_FALSE(export_arrow_view(*timeline, options, &stream).ok());
}

}  // namespace
}  // namespace rangefinder::arrow
