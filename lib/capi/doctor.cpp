// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/doctor.hpp>

#include <cstdint>
#include <vector>

struct rf_doctor {
  std::vector<rangefinder::DoctorFinding> findings;
};

namespace capi = rangefinder::capi;

rf_status rf_doctor_run(const char* folder, rf_doctor** doctor) noexcept {
  if (doctor == nullptr) return capi::null_argument(__func__, "doctor");
  *doctor = nullptr;
  return capi::guarded(__func__, [&] {
    *doctor = new rf_doctor{rangefinder::run_doctor(capi::text_or(folder, "."))};
    return RF_STATUS_OK;
  });
}

size_t rf_doctor_count(const rf_doctor* doctor) noexcept { return doctor != nullptr ? doctor->findings.size() : 0; }

rf_status rf_doctor_at(const rf_doctor* doctor, size_t index, rf_doctor_finding* finding) noexcept {
  if (doctor == nullptr) return capi::null_argument(__func__, "doctor");
  if (finding == nullptr) return capi::null_argument(__func__, "finding");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto& all = doctor->findings;
    if (index >= all.size()) return capi::no_entry(function, index, all.size());
    rf_doctor_finding filled{};
    filled.topic = all[index].topic.c_str();
    filled.detail = all[index].detail.c_str();
    filled.fix = all[index].fix.c_str();
    filled.state = static_cast<std::uint32_t>(all[index].state);
    return capi::write_struct(function, finding, finding->struct_size, RANGEFINDER_SIZE_UP_TO(rf_doctor_finding, state),
                              filled);
  });
}

void rf_doctor_free(rf_doctor* doctor) noexcept { delete doctor; }
