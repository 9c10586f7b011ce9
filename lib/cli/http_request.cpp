// SPDX-License-Identifier: MIT
#include "cli/http_request.hpp"

#include <algorithm>

namespace rangefinder::cli {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_name(std::string_view header, std::string_view lower_case) noexcept {
  return std::equal(header.begin(), header.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The next line, without its end, which is taken off `rest`.
std::string_view take_line(std::string_view& rest) noexcept {
  const std::size_t end = rest.find(kLineEnd);
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kLineEnd.size());
  return line;
}

/// False where the header came before.
bool keep_first(std::optional<std::string_view>& header, std::string_view value) noexcept {
  if (header.has_value()) return false;
  header = trimmed(value);
  return true;
}

bool read_request_line(std::string_view line, HttpRequest& request) noexcept {
  const std::size_t first = line.find(' ');
  if (first == 0 || first == std::string_view::npos) return false;
  const std::size_t second = line.find(' ', first + 1);
  if (second == std::string_view::npos) return false;
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  return request.target.starts_with('/') && (version == "HTTP/1.1" || version == "HTTP/1.0");
}

bool read_header(std::string_view line, HttpRequest& request) noexcept {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon), value = line.substr(colon + 1);
  if (name.find_first_of(" \t") != std::string_view::npos) return false;  // a folded line begins so
  if (is_name(name, "host")) return keep_first(request.host, value);
  if (is_name(name, "origin")) return keep_first(request.origin, value);
  return true;
}

}  // namespace

std::optional<std::size_t> end_of_head(std::string_view received) noexcept {
  const std::size_t at = received.find("\r\n\r\n");
  return at == std::string_view::npos ? std::nullopt : std::optional<std::size_t>(at + 4);
}

std::optional<HttpRequest> parse_request(std::string_view head) noexcept {
  HttpRequest request;
  if (head.find('\0') != std::string_view::npos) return std::nullopt;
  if (!read_request_line(take_line(head), request)) return std::nullopt;
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (line.empty()) break;
    if (!read_header(line, request)) return std::nullopt;
  }
  return request;
}

}  // namespace rangefinder::cli
