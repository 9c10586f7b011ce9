// SPDX-License-Identifier: MIT
#include "capi/export_call.hpp"

#include <rangefinder/arrow.hpp>
#include <rangefinder/c/arrow.h>
#include <rangefinder/parquet.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct rf_timeline {
  std::shared_ptr<const rangefinder::Timeline> timeline;
};

namespace capi = rangefinder::capi;

namespace {

std::atomic<rf_capsule_pointer> capsule_pointer{nullptr};

void* pointer_in(void* capsule, const char* name) noexcept {
  const rf_capsule_pointer get_pointer = capsule_pointer.load(std::memory_order_acquire);
  return get_pointer != nullptr ? get_pointer(capsule, name) : nullptr;
}

void keep(rf_capsule_pointer get_pointer) noexcept {
  rf_capsule_pointer none = nullptr;
  capsule_pointer.compare_exchange_strong(none, get_pointer, std::memory_order_acq_rel);
}

struct Parquet {
  using Options = rf_parquet_options;
  using Report = rf_parquet_report;
  using CppOptions = rangefinder::ParquetExportOptions;
  using CppReport = rangefinder::ParquetExportReport;
  static constexpr std::size_t kLeastOptions = offsetof(rf_parquet_options, writer) + sizeof(void*);
  static constexpr std::size_t kLeastReport = RANGEFINDER_SIZE_UP_TO(rf_parquet_report, rows);

  static Options defaults() noexcept {
    const CppOptions from;
    Options options{};
    options.max_memory_bytes = from.max_memory_bytes;
    options.attribution = static_cast<std::uint32_t>(from.attribution);
    options.replace = from.replace;
    options.detail = from.detail;
    return options;
  }
  static rf_status read(std::string_view function, const Options& known, CppOptions& options) {
    if (known.writer != nullptr && known.writer->struct_size < sizeof(rf_parquet_writer))
      return capi::too_small(function, known.writer->struct_size, sizeof(rf_parquet_writer));
    if (known.job != nullptr) options.job = known.job;
    if (known.run != nullptr) options.run = known.run;
    options.detail = known.detail;
    options.writer = known.writer;
    return RF_STATUS_OK;
  }
  static Report report_of(const CppReport& from) noexcept { return {0, from.recordings, from.activities, from.rows}; }
};

template <typename Struct>
void release_and_free(Struct* filled) noexcept {
  if (filled == nullptr) return;
  if (filled->release != nullptr) filled->release(filled);
  std::free(filled);
}

}  // namespace

rf_status rf_timeline_load(const char* const* inputs, size_t count, uint64_t max_memory_bytes,
                           rf_timeline** timeline) noexcept {
  if (timeline == nullptr) return capi::null_argument(__func__, "timeline");
  *timeline = nullptr;
  if (inputs == nullptr) return capi::null_argument(__func__, "inputs");
  return capi::guarded(__func__, [&, function = __func__] {
    std::vector<std::string> paths;
    for (size_t i = 0; i < count; ++i) {
      if (inputs[i] == nullptr) return capi::null_argument(function, "inputs");
      paths.emplace_back(inputs[i]);
    }
    rangefinder::LoadOptions load;
    load.operator_inputs = true;
    load.max_memory_bytes = max_memory_bytes;
    rangefinder::Result<rangefinder::Timeline> loaded = rangefinder::load_job(paths, load);
    if (!loaded) return capi::fail(function, loaded.error());
    *timeline = new rf_timeline{std::make_shared<const rangefinder::Timeline>(std::move(*loaded))};
    return RF_STATUS_OK;
  });
}

void rf_timeline_free(rf_timeline* timeline) noexcept { delete timeline; }

size_t rf_table_count(void) noexcept {
  size_t count = 0;
  (void)capi::guarded(__func__, [&] {
    count = rangefinder::arrow_tables().size();
    return RF_STATUS_OK;
  });
  return count;
}

rf_status rf_table_at(size_t index, rf_table_info* table) noexcept {
  if (table == nullptr) return capi::null_argument(__func__, "table");
  return capi::guarded(__func__, [&, function = __func__] {
    const std::vector<rangefinder::ArrowTableInfo> tables = rangefinder::arrow_tables();
    if (index >= tables.size()) return capi::no_entry(function, index, tables.size());
    rf_table_info filled{};
    filled.name = tables[index].name.data();
    filled.description = tables[index].description.data();
    return capi::write_struct(function, table, table->struct_size, RANGEFINDER_SIZE_UP_TO(rf_table_info, description),
                              filled);
  });
}

rf_status rf_timeline_table(const rf_timeline* timeline, const char* name, struct ArrowArrayStream* table) noexcept {
  if (timeline == nullptr) return capi::null_argument(__func__, "timeline");
  if (name == nullptr) return capi::null_argument(__func__, "name");
  if (table == nullptr) return capi::null_argument(__func__, "table");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::finish(function, rangefinder::export_arrow_table(timeline->timeline, name, table));
  });
}

rf_status rf_timeline_view(const rf_timeline* timeline, const char* name, struct ArrowArrayStream* table) noexcept {
  if (timeline == nullptr) return capi::null_argument(__func__, "timeline");
  if (name == nullptr) return capi::null_argument(__func__, "name");
  if (table == nullptr) return capi::null_argument(__func__, "table");
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::ReportOptions options;
    options.view = name;
    return capi::finish(function, rangefinder::export_arrow_view(*timeline->timeline, options, table));
  });
}

rf_status rf_parquet_options_init(rf_parquet_options* options, size_t struct_size) noexcept {
  return capi::init_options<Parquet>(__func__, options, struct_size);
}

rf_status rf_export_parquet(const char* input, const char* folder, const rf_parquet_options* options,
                            rf_parquet_report* report) noexcept {
  return capi::run_export<Parquet>(__func__, input, folder, options, report, rangefinder::export_parquet, "folder");
}

struct ArrowArrayStream* rf_arrow_stream_new(void) noexcept {
  return static_cast<ArrowArrayStream*>(std::calloc(1, sizeof(ArrowArrayStream)));
}
struct ArrowSchema* rf_arrow_schema_new(void) noexcept {
  return static_cast<ArrowSchema*>(std::calloc(1, sizeof(ArrowSchema)));
}
void rf_arrow_stream_free(struct ArrowArrayStream* stream) noexcept { release_and_free(stream); }
void rf_arrow_schema_free(struct ArrowSchema* schema) noexcept { release_and_free(schema); }

rf_capsule_destructor rf_arrow_stream_destructor(rf_capsule_pointer get_pointer) noexcept {
  keep(get_pointer);
  return [](void* capsule) {
    release_and_free(static_cast<ArrowArrayStream*>(pointer_in(capsule, "arrow_array_stream")));
  };
}
rf_capsule_destructor rf_arrow_schema_destructor(rf_capsule_pointer get_pointer) noexcept {
  keep(get_pointer);
  return [](void* capsule) { release_and_free(static_cast<ArrowSchema*>(pointer_in(capsule, "arrow_schema"))); };
}
