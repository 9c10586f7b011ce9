// SPDX-License-Identifier: MIT
#include "capi/health.hpp"
#include "capi/status.hpp"
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/capture.hpp>

#include <cstdint>
#include <memory>
#include <utility>

struct rf_capture {
  rangefinder::CaptureInfo info;
};

namespace capi = rangefinder::capi;

rf_status rf_capture_inspect(const char* path, bool deep, rf_capture** capture) noexcept {
  if (capture == nullptr) return capi::null_argument(__func__, "capture");
  *capture = nullptr;
  if (path == nullptr) return capi::null_argument(__func__, "path");
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::Result<rangefinder::CaptureInfo> info = rangefinder::inspect_capture(path, deep);
    if (!info) return capi::fail(function, info.error());
    *capture = new rf_capture{std::move(*info)};
    return RF_STATUS_OK;
  });
}

rf_status rf_capture_get_facts(const rf_capture* capture, rf_capture_facts* facts) noexcept {
  if (capture == nullptr) return capi::null_argument(__func__, "capture");
  if (facts == nullptr) return capi::null_argument(__func__, "facts");
  return capi::guarded(__func__, [&, function = __func__] {
    const rangefinder::CaptureInfo& info = capture->info;
    rf_capture_facts filled{};
    filled.path = info.path.c_str();
    filled.clock = info.clock.c_str();
    filled.device_state = info.device_state.c_str();
    filled.file_bytes = info.file_bytes;
    filled.start_realtime_ns = info.start_realtime_ns;
    filled.duration_ns = info.duration_ns;
    filled.clock_error_ns = info.clock_error_ns;
    filled.format_major = info.format_major;
    filled.format_minor = info.format_minor;
    filled.pid = info.pid;
    filled.threads = info.threads;
    filled.devices = info.devices;
    filled.names = info.names;
    filled.ended_cleanly = info.ended_cleanly;
    filled.flight_recorder = info.flight_recorder;
    filled.simulated = info.simulated;
    return capi::write_struct(function, facts, facts->struct_size, RANGEFINDER_SIZE_UP_TO(rf_capture_facts, simulated),
                              filled);
  });
}

size_t rf_capture_content_count(const rf_capture* capture) noexcept {
  return capture != nullptr ? capture->info.content.size() : 0;
}

rf_status rf_capture_content_at(const rf_capture* capture, size_t index, rf_capture_content* content) noexcept {
  if (capture == nullptr) return capi::null_argument(__func__, "capture");
  if (content == nullptr) return capi::null_argument(__func__, "content");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto& all = capture->info.content;
    if (index >= all.size()) return capi::no_entry(function, index, all.size());
    rf_capture_content filled{};
    filled.kind = all[index].kind.c_str();
    filled.chunks = all[index].chunks;
    filled.rows = all[index].rows;
    filled.bytes = all[index].bytes;
    return capi::write_struct(function, content, content->struct_size,
                              RANGEFINDER_SIZE_UP_TO(rf_capture_content, bytes), filled);
  });
}

size_t rf_capture_metadata_count(const rf_capture* capture) noexcept {
  return capture != nullptr ? capture->info.metadata.size() : 0;
}

rf_status rf_capture_metadata_at(const rf_capture* capture, size_t index, rf_metadata* metadata) noexcept {
  if (capture == nullptr) return capi::null_argument(__func__, "capture");
  if (metadata == nullptr) return capi::null_argument(__func__, "metadata");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto& all = capture->info.metadata;
    if (index >= all.size()) return capi::no_entry(function, index, all.size());
    *metadata = {all[index].first.c_str(), all[index].second.c_str()};
    return RF_STATUS_OK;
  });
}

size_t rf_capture_finding_count(const rf_capture* capture) noexcept {
  return capture != nullptr ? capture->info.findings.size() : 0;
}

rf_status rf_capture_finding_at(const rf_capture* capture, size_t index, rf_capture_finding* finding) noexcept {
  if (capture == nullptr) return capi::null_argument(__func__, "capture");
  if (finding == nullptr) return capi::null_argument(__func__, "finding");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto& all = capture->info.findings;
    if (index >= all.size()) return capi::no_entry(function, index, all.size());
    rf_capture_finding filled{};
    filled.text = all[index].text.c_str();
    filled.offset = all[index].offset;
    filled.bytes = all[index].bytes;
    return capi::write_struct(function, finding, finding->struct_size,
                              RANGEFINDER_SIZE_UP_TO(rf_capture_finding, bytes), filled);
  });
}

rf_status rf_capture_health(const rf_capture* capture, rf_health** health) noexcept {
  if (health == nullptr) return capi::null_argument(__func__, "health");
  *health = nullptr;
  if (capture == nullptr) return capi::null_argument(__func__, "capture");
  return capi::guarded(__func__, [&] {
    *health = capi::make_health(capture->info.health);
    return RF_STATUS_OK;
  });
}

void rf_capture_free(rf_capture* capture) noexcept { delete capture; }

rf_status rf_capture_repair(const char* damaged, const char* repaired, bool replace, uint64_t* records) noexcept {
  if (records != nullptr) *records = 0;
  if (damaged == nullptr) return capi::null_argument(__func__, "damaged");
  if (repaired == nullptr) return capi::null_argument(__func__, "repaired");
  return capi::guarded(__func__, [&, function = __func__] {
    const rangefinder::Result<std::uint64_t> done = rangefinder::repair_capture(damaged, repaired, replace);
    if (!done) return capi::fail(function, done.error());
    if (records != nullptr) *records = *done;
    return RF_STATUS_OK;
  });
}
