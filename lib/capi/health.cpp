// SPDX-License-Identifier: MIT
#include "capi/session.hpp"
#include "capi/structs.hpp"

#include <rangefinder/health.hpp>

#include <string>
#include <vector>

struct rf_health {
  bool complete;
  std::vector<rangefinder::CaptureHealth::Entry> entries;
};

namespace capi = rangefinder::capi;

rf_status rf_session_health(const rf_session* session, rf_health** health) noexcept {
  if (health == nullptr) return capi::null_argument(__func__, "health");
  *health = nullptr;
  if (session == nullptr) return capi::null_argument(__func__, "session");
  return capi::guarded(__func__, [&] {
    const rangefinder::CaptureHealth now = session->session.health();
    *health = new rf_health{now.complete(), now.entries()};
    return RF_STATUS_OK;
  });
}

bool rf_health_complete(const rf_health* health) noexcept { return health != nullptr && health->complete; }
size_t rf_health_count(const rf_health* health) noexcept { return health != nullptr ? health->entries.size() : 0; }

rf_status rf_health_at(const rf_health* health, size_t index, rf_health_entry* entry) noexcept {
  if (health == nullptr) return capi::null_argument(__func__, "health");
  if (entry == nullptr) return capi::null_argument(__func__, "entry");
  return capi::guarded(__func__, [&, function = __func__] {
    if (index >= health->entries.size())
      return capi::fail(RF_STATUS_NOT_FOUND, {function, ": no entry ", std::to_string(index), " of ",
                                              std::to_string(health->entries.size())});
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

void rf_health_free(rf_health* health) noexcept { delete health; }
