// SPDX-License-Identifier: MIT
#pragma once

#include "base/forced_unwind.hpp"

#include <rangefinder/c/rangefinder.h>
#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <new>
#include <string_view>

// How every function of the C interface fails. `function` is the name that its caller knows it by.
namespace rangefinder::capi {

/// Keeps the message for rf_last_error and returns the status. Exported, with the next two, for components.
RANGEFINDER_EXPORT rf_status fail(rf_status status, std::initializer_list<std::string_view> message) noexcept;
RANGEFINDER_EXPORT rf_status fail(std::string_view function, const Error& error) noexcept;
RANGEFINDER_EXPORT rf_status null_argument(std::string_view function, std::string_view argument) noexcept;
/// `number` is no value of the enumeration.
rf_status no_such_value(std::string_view function, std::string_view member, std::uint64_t number) noexcept;

/// Past the end of a list.
rf_status no_entry(std::string_view function, std::size_t index, std::size_t count);

rf_status status_of(ErrorCode code) noexcept;

inline rf_status finish(std::string_view function, const Status& status) noexcept {
  return status.ok() ? RF_STATUS_OK : fail(function, status.error());
}

/// Runs `work`, which returns an rf_status; what it throws becomes one. A thread that a callback ends unwinds on.
template <typename Work>
RANGEFINDER_THREAD_MAY_END rf_status guarded(std::string_view function, Work work) {
  try {
    return work();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(RF_STATUS_INTERNAL, {function, ": out of memory"});
  } catch (const std::exception& thrown) {
    return fail(RF_STATUS_INTERNAL, {function, ": ", thrown.what()});
  } catch (...) {
    return fail(RF_STATUS_INTERNAL, {function, ": something unknown was thrown"});
  }
}

}  // namespace rangefinder::capi
