// SPDX-License-Identifier: MIT
#include "capi/session_options.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "capi/session_members.hpp"
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rangefinder::capi {
namespace {

constexpr std::size_t kLeastSessionOptions = RANGEFINDER_SIZE_UP_TO(rf_session_options, on_capture_ready_user);

template <typename T>
std::int64_t member_number(T member) {
  if constexpr (requires { member.count(); })
    return member.count();
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return static_cast<std::int64_t>(std::min(member, static_cast<std::uint64_t>(kUnlimited)));
  else
    return static_cast<std::int64_t>(member);
}

/// Sets members of the C struct to those of SessionOptions. Texts are not options with a default: they stay null.
struct WriteMembers {
  template <typename C, typename Cpp>
  void number(std::string_view, C& to, const Cpp& from, const Limits&) {
    to = static_cast<C>(member_number(from));
  }
  void text(const char*&, const std::string&) {}
  void list(std::string_view, const char*&, const std::vector<std::string>&, char, std::string_view) {}
};

/// Sets SessionOptions to the members of the C struct, up to the first that is outside of its limits.
struct ReadMembers {
  std::string_view function;
  rf_status status = RF_STATUS_OK;

  template <typename C, typename Cpp>
  void number(std::string_view name, const C& from, Cpp& to, const Limits& limits) {
    const std::int64_t number = member_number(from);
    if (number < limits.least || number > limits.most) return refuse(name, std::to_string(number), limits.wanted);
    to = static_cast<Cpp>(from);
  }
  void text(const char* from, std::string& to) { to = text_or(from); }
  void list(std::string_view name, const char* from, std::vector<std::string>& to, char separator,
            std::string_view wanted) {
    to = base::split(text_or(from), separator);
    if (std::any_of(to.begin(), to.end(), [](const std::string& each) { return each.empty(); }))
      refuse(name, "'" + base::printable(from) + "'", wanted);
  }
  void refuse(std::string_view name, std::string_view value, std::string_view wanted) {
    if (status == RF_STATUS_OK)
      status = fail(RF_STATUS_INVALID_ARGUMENT, {function, ": ", name, ": ", value, " is not ", wanted});
  }
};

rf_status read_metadata(std::string_view function, const rf_session_options& given, SessionOptions& options) {
  for (std::size_t i = 0; i < given.metadata_count; ++i) {
    const rf_metadata& fact = given.metadata[i];
    if (fact.key == nullptr || fact.value == nullptr)
      return null_argument(function, "metadata[" + std::to_string(i) + "]." + (fact.key == nullptr ? "key" : "value"));
    options.metadata.emplace_back(fact.key, fact.value);
  }
  return RF_STATUS_OK;
}

void tell_of_capture(void (*function)(void*, const rf_capture_ready*), void* user, const CaptureReady& ready) {
  rf_capture_ready capture{};
  capture.struct_size = sizeof capture;
  capture.path = ready.path.c_str();
  capture.number = ready.number;
  capture.first_step = ready.first_step;
  capture.last_step = ready.last_step;
  capture.status = ready.status.ok() ? RF_STATUS_OK : status_of(ready.status.error().code());
  capture.message = ready.status.ok() ? "" : ready.status.error().message().c_str();
  function(user, &capture);
}

}  // namespace

rf_session_options default_session_options() noexcept { return c_session_options({}); }

rf_session_options c_session_options(const SessionOptions& from) noexcept {
  rf_session_options options{};
  WriteMembers write;
  each_session_member(options, from, write);
  return options;
}

rf_status read_session_options(std::string_view function, const rf_session_options* given, SessionOptions& options) {
  rf_session_options known = default_session_options();
  rf_status status = read_struct(function, given, kLeastSessionOptions, known);
  if (status == RF_STATUS_OK && known.metadata == nullptr && known.metadata_count != 0)
    status = null_argument(function, "metadata");
  if (status == RF_STATUS_OK) status = check_reserved(function, known.reserved);
  if (status == RF_STATUS_OK) status = read_metadata(function, known, options);
  if (status != RF_STATUS_OK) return status;
  ReadMembers read{function};
  each_session_member(std::as_const(known), options, read);
  if (read.status != RF_STATUS_OK) return read.status;
  if (known.on_capture_ready != nullptr)
    options.on_capture_ready = [function = known.on_capture_ready, user = known.on_capture_ready_user](
                                   const CaptureReady& ready) { tell_of_capture(function, user, ready); };
  return known.config != nullptr ? finish(function, options.apply(known.config)) : RF_STATUS_OK;
}

}  // namespace rangefinder::capi

rf_status rf_session_options_init(rf_session_options* options, size_t struct_size) noexcept {
  namespace capi = rangefinder::capi;
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, capi::kLeastSessionOptions,
                              capi::default_session_options());
  });
}

rf_status rf_session_options_text(const rf_session_options* options, rf_text** text) noexcept {
  namespace capi = rangefinder::capi;
  if (text == nullptr) return capi::null_argument(__func__, "text");
  *text = nullptr;
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::SessionOptions wanted;
    if (const rf_status status = capi::read_session_options(function, options, wanted); status != RF_STATUS_OK)
      return status;
    rangefinder::Result<std::string> config = wanted.config();
    if (!config) return capi::fail(function, config.error());
    *text = capi::make_text(std::move(*config));
    return RF_STATUS_OK;
  });
}
