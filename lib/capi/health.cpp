// SPDX-License-Identifier: MIT
#include "capi/health.hpp"

#include "base/text.hpp"
#include "capi/structs.hpp"

namespace capi = rangefinder::capi;

bool rf_health_complete(const rf_health* health) noexcept { return health != nullptr && health->complete; }
size_t rf_health_count(const rf_health* health) noexcept { return health != nullptr ? health->entries.size() : 0; }

rf_status rf_health_at(const rf_health* health, size_t index, rf_health_entry* entry) noexcept {
  if (health == nullptr) return capi::null_argument(__func__, "health");
  if (entry == nullptr) return capi::null_argument(__func__, "entry");
  return capi::guarded(__func__, [&, function = __func__] {
    if (index >= health->entries.size()) return capi::no_entry(function, index, health->entries.size());
    const rangefinder::CaptureHealth::Entry& found = health->entries[index];
    rf_health_entry filled{};
    filled.name = found.name.data();  // both of literals
    filled.text = found.text.data();
    filled.count = found.count;
    filled.number = found.number;
    filled.loss = found.severity == rangefinder::CaptureHealth::Severity::kLoss;
    return capi::write_struct(function, entry, entry->struct_size, RANGEFINDER_SIZE_UP_TO(rf_health_entry, loss),
                              filled);
  });
}

rf_status rf_health_get(const rf_health* health, const char* name, uint64_t* count) noexcept {
  if (count == nullptr) return capi::null_argument(__func__, "count");
  *count = 0;
  if (health == nullptr) return capi::null_argument(__func__, "health");
  if (name == nullptr) return capi::null_argument(__func__, "name");
  return capi::guarded(__func__, [&, function = __func__] {
    for (const rangefinder::CaptureHealth::Entry& entry : health->entries) {
      if (entry.name != name) continue;
      *count = entry.count;
      return RF_STATUS_OK;
    }
    return capi::fail(RF_STATUS_NOT_FOUND, {function, ": no entry is called '", rangefinder::base::printable(name),
                                            "'; rf_health_at lists those that there are"});
  });
}

void rf_health_free(rf_health* health) noexcept { delete health; }
