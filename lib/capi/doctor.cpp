// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/doctor.hpp>

#include <cstdint>
#include <vector>

struct rf_examination {
  std::vector<rangefinder::DoctorFinding> findings;
};

namespace capi = rangefinder::capi;

rf_status rf_examine_machine(const char* folder, rf_examination** examination) noexcept {
  if (examination == nullptr) return capi::null_argument(__func__, "examination");
  *examination = nullptr;
  return capi::guarded(__func__, [&] {
    *examination = new rf_examination{rangefinder::examine_machine(capi::text_or(folder, "."))};
    return RF_STATUS_OK;
  });
}

size_t rf_examination_count(const rf_examination* examination) noexcept {
  return examination != nullptr ? examination->findings.size() : 0;
}

rf_status rf_examination_at(const rf_examination* examination, size_t index, rf_finding* finding) noexcept {
  if (examination == nullptr) return capi::null_argument(__func__, "examination");
  if (finding == nullptr) return capi::null_argument(__func__, "finding");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto& all = examination->findings;
    if (index >= all.size()) return capi::no_entry(function, index, all.size());
    rf_finding filled{};
    filled.topic = all[index].topic.c_str();
    filled.detail = all[index].detail.c_str();
    filled.fix = all[index].fix.c_str();
    filled.state = static_cast<std::uint32_t>(all[index].state);
    return capi::write_struct(function, finding, finding->struct_size, RANGEFINDER_SIZE_UP_TO(rf_finding, state),
                              filled);
  });
}

void rf_examination_free(rf_examination* examination) noexcept { delete examination; }
