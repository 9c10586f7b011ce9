// SPDX-License-Identifier: MIT
#include "capi/session.hpp"

#include "capi/health.hpp"
#include "capi/session_options.hpp"
#include "capi/status.hpp"
#include "capi/text.hpp"

#include <rangefinder/session.hpp>

#include <memory>
#include <string>
#include <utility>

namespace capi = rangefinder::capi;

namespace {

rf_status tell(std::string_view function, const rangefinder::DeviceState& state, bool* full, rf_text** reason) {
  if (reason != nullptr) *reason = nullptr;
  return capi::guarded(function, [&] {
    if (reason != nullptr) *reason = capi::make_text(state.reason);
    if (full != nullptr) *full = state.full;
    return RF_STATUS_OK;
  });
}

}  // namespace

rf_status rf_session_start(const rf_session_options* options, rf_session** session) noexcept {
  if (session == nullptr) return capi::null_argument(__func__, "session");
  *session = nullptr;
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::SessionOptions wanted;
    if (const rf_status status = capi::read_session_options(function, options, wanted); status != RF_STATUS_OK)
      return status;
    auto started = std::make_unique<rf_session>(std::move(wanted));
    if (!started->session.status().ok()) return capi::fail(function, started->session.status().error());
    *session = started.release();
    return RF_STATUS_OK;
  });
}

rf_status rf_session_step(rf_session* session, uint64_t items) noexcept {
  if (session == nullptr) return capi::null_argument(__func__, "session");
  session->session.step(items);
  return RF_STATUS_OK;
}

uint64_t rf_session_step_number(const rf_session* session) noexcept {
  return session != nullptr ? session->session.step_number() : 0;
}

bool rf_session_running(const rf_session* session) noexcept { return session != nullptr && session->session.running(); }

const char* rf_session_output(const rf_session* session) noexcept {
  return session != nullptr ? session->session.output().c_str() : "";
}

rf_status rf_session_flush(rf_session* session) noexcept {
  if (session == nullptr) return capi::null_argument(__func__, "session");
  return capi::finish(__func__, session->session.flush());
}

rf_status rf_session_dump(rf_session* session, const char* path, rf_text** written) noexcept {
  if (written != nullptr) *written = nullptr;
  if (session == nullptr) return capi::null_argument(__func__, "session");
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::Result<std::string> dumped = session->session.dump(capi::text_or(path));
    if (!dumped) return capi::fail(function, dumped.error());
    if (written != nullptr) *written = capi::make_text(std::move(*dumped));
    return RF_STATUS_OK;
  });
}

rf_status rf_session_stop(rf_session* session) noexcept {
  if (session == nullptr) return capi::null_argument(__func__, "session");
  return capi::finish(__func__, session->session.stop());
}

rf_status rf_session_release_cupti(rf_session* session) noexcept {
  if (session == nullptr) return capi::null_argument(__func__, "session");
  return capi::finish(__func__, session->session.release_cupti());
}

void rf_session_free(rf_session* session) noexcept { delete session; }

rf_status rf_session_device(const rf_session* session, bool* full, rf_text** reason) noexcept {
  if (session == nullptr) return capi::null_argument(__func__, "session");
  return tell(__func__, session->session.device(), full, reason);
}

rf_status rf_session_health(const rf_session* session, rf_health** health) noexcept {
  if (health == nullptr) return capi::null_argument(__func__, "health");
  *health = nullptr;
  if (session == nullptr) return capi::null_argument(__func__, "session");
  return capi::guarded(__func__, [&] {
    *health = capi::make_health(session->session.health());
    return RF_STATUS_OK;
  });
}

rf_status rf_prepare(bool* full, rf_text** reason) noexcept {
  return tell(__func__, rangefinder::prepare(), full, reason);
}
