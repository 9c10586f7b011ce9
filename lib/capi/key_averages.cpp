// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct rf_key_averages {
  struct Texts {
    std::string name;
    std::string shapes;
  };
  rangefinder::Timeline timeline;
  rangefinder::KeyAverages averages;
  std::vector<Texts> texts;  // of each group, ended by a zero byte
};

namespace capi = rangefinder::capi;

rf_status rf_key_averages_load(const char* input, bool by_shape, rf_key_averages** averages) noexcept {
  if (averages == nullptr) return capi::null_argument(__func__, "averages");
  *averages = nullptr;
  if (input == nullptr) return capi::null_argument(__func__, "input");
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::LoadOptions load;
    load.operator_inputs = true;
    rangefinder::Result<rangefinder::Timeline> timeline = rangefinder::load_timeline(input, load);
    if (!timeline) return capi::fail(function, timeline.error());
    auto loaded = std::make_unique<rf_key_averages>();
    loaded->timeline = std::move(*timeline);
    loaded->averages = rangefinder::key_averages(loaded->timeline, by_shape);
    for (const rangefinder::OperatorGroup& group : loaded->averages.groups)
      loaded->texts.push_back(
          {std::string(loaded->timeline.text(group.name)), std::string(loaded->timeline.text(group.shapes))});
    *averages = loaded.release();
    return RF_STATUS_OK;
  });
}

size_t rf_key_averages_count(const rf_key_averages* averages) noexcept {
  return averages != nullptr ? averages->averages.groups.size() : 0;
}

rf_status rf_key_averages_at(const rf_key_averages* averages, size_t index, rf_operator_group* group) noexcept {
  if (averages == nullptr) return capi::null_argument(__func__, "averages");
  if (group == nullptr) return capi::null_argument(__func__, "group");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto& groups = averages->averages.groups;
    if (index >= groups.size()) return capi::no_entry(function, index, groups.size());
    const rangefinder::OperatorGroup& found = groups[index];
    rf_operator_group filled{};
    filled.name = averages->texts[index].name.c_str();
    filled.shapes = averages->texts[index].shapes.c_str();
    filled.calls = found.calls;
    filled.flops = found.flops;
    filled.cpu_total_ns = found.cpu_total_ns;
    filled.cpu_self_ns = found.cpu_self_ns;
    filled.device_total_ns = found.device_total_ns;
    filled.device_self_ns = found.device_self_ns;
    filled.host_total_bytes = found.memory_total.host;
    filled.host_self_bytes = found.memory_self.host;
    filled.device_total_bytes = found.memory_total.device;
    filled.device_self_bytes = found.memory_self.device;
    filled.calls_without_flops = found.calls_without_flops;
    return capi::write_struct(function, group, group->struct_size,
                              RANGEFINDER_SIZE_UP_TO(rf_operator_group, device_self_bytes), filled);
  });
}

rf_status rf_key_averages_totals(const rf_key_averages* averages, int64_t* cpu_ns, int64_t* device_ns) noexcept {
  if (averages == nullptr) return capi::null_argument(__func__, "averages");
  if (cpu_ns != nullptr) *cpu_ns = averages->averages.cpu_ns;
  if (device_ns != nullptr) *device_ns = averages->averages.device_ns;
  return RF_STATUS_OK;
}

rf_status rf_key_averages_table(const rf_key_averages* averages, uint32_t order, size_t row_limit,
                                rf_text** table) noexcept {
  if (table == nullptr) return capi::null_argument(__func__, "table");
  *table = nullptr;
  if (averages == nullptr) return capi::null_argument(__func__, "averages");
  if (order > RF_KEY_AVERAGES_FLOPS) return capi::no_such_value(__func__, "order", order);
  return capi::guarded(__func__, [&] {
    *table = capi::make_text(rangefinder::key_averages_table(
        averages->timeline, averages->averages, static_cast<rangefinder::KeyAveragesOrder>(order),
        row_limit != 0 ? row_limit : std::numeric_limits<std::size_t>::max()));
    return RF_STATUS_OK;
  });
}

void rf_key_averages_free(rf_key_averages* averages) noexcept { delete averages; }
