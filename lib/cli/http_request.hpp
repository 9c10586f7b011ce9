// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace rangefinder::cli {

/// The head of a request, as far as the page server looks at it. Views into the text that was parsed.
struct HttpRequest {
  std::string_view method;
  std::string_view target;  ///< as it was sent: "/", "/a?b"
  std::optional<std::string_view> host;
  std::optional<std::string_view> origin;
};

/// Where a head ends, behind its empty line; nothing while that has not come.
std::optional<std::size_t> end_of_head(std::string_view received) noexcept;

/// Nothing for what is no head of HTTP/1.0 or 1.1, has a header twice that we look at, or folds one over lines: such
/// requests come from attempts to make two readers see two requests.
std::optional<HttpRequest> parse_request(std::string_view head) noexcept;

}  // namespace rangefinder::cli
