// SPDX-License-Identifier: MIT
#pragma once

#include "capi/status.hpp"

#include <rangefinder/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

// Structs that begin with their size. New members come at the end, past the old sizeof, so that the size tells the
// version; zero, or what the struct's init function sets, means what the older version did.
namespace rangefinder::capi {

/// Bytes up to the end of a member: the least size of a struct whose first version ended with it.
#define RANGEFINDER_SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(type::member))

inline rf_status too_small(std::string_view function, std::size_t size, std::size_t least) {
  return fail(RF_STATUS_INVALID_ARGUMENT,
              {function, ": struct_size is ", std::to_string(size), ", and no version of the struct is smaller than ",
               std::to_string(least), "; set it to sizeof of the struct"});
}

/// Without padding, a later member cannot come to lie where older callers have anything at all.
template <typename Struct>
inline constexpr bool kHasNoPadding = std::has_unique_object_representations_v<Struct>;

/// Replaces the front of `known`, which holds the defaults, by the caller's struct. Null: the defaults stand.
template <typename Struct>
rf_status read_struct(std::string_view function, const Struct* given, std::size_t least, Struct& known) {
  static_assert(kHasNoPadding<Struct> && std::is_trivially_copyable_v<Struct>);
  if (given == nullptr) return RF_STATUS_OK;
  const std::size_t size = given->struct_size;
  if (size < least) return too_small(function, size, least);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof(Struct)) {
    const auto* const unknown = bytes + sizeof(Struct);
    if (std::any_of(unknown, bytes + size, [](unsigned char byte) { return byte != 0; }))
      return fail(RF_STATUS_UNSUPPORTED,
                  {function, ": a struct of ", std::to_string(size), " bytes has something in those past ",
                   std::to_string(sizeof(Struct)), ", which rangefinder ", RANGEFINDER_VERSION,
                   " does not know; leave the newer members zero, or load a newer library"});
  }
  std::memcpy(&known, given, std::min(size, sizeof(Struct)));
  known.struct_size = sizeof(Struct);
  return RF_STATUS_OK;
}

/// Room for later members that would otherwise be padding.
template <std::size_t N>
rf_status check_reserved(std::string_view function, const bool (&reserved)[N]) noexcept {
  if (std::none_of(reserved, reserved + N, [](bool set) { return set; })) return RF_STATUS_OK;
  return fail(RF_STATUS_UNSUPPORTED, {function, ": `reserved` must be false in rangefinder " RANGEFINDER_VERSION});
}

/// Fills the caller's struct of `size` bytes: what it has of `value`, and zero for what this library does not know.
template <typename Struct>
rf_status write_struct(std::string_view function, Struct* out, std::size_t size, std::size_t least, Struct value) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  if (size < least) return too_small(function, size, least);
  value.struct_size = size;
  std::memcpy(out, &value, std::min(size, sizeof(Struct)));
  if (size > sizeof(Struct))
    std::memset(reinterpret_cast<unsigned char*>(out) + sizeof(Struct), 0, size - sizeof(Struct));
  return RF_STATUS_OK;
}

}  // namespace rangefinder::capi
