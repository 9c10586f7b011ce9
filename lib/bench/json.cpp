// SPDX-License-Identifier: MIT
#include "bench/json.hpp"

#include "base/file.hpp"

#include <cmath>
#include <limits>

namespace rangefinder::bench {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{256} << 20;
constexpr std::size_t kMaxMessageBytes = 300;  // the parser quotes the token that it stopped at

const Json kNull;

/// Checked before parsing: copying and writing recurse, and a value takes many times the memory of its bracket.
bool nests_too_deep(std::string_view text) {
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size() && depth <= kMaxDepth; ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
  return depth > kMaxDepth;
}

std::string dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

JsonView::JsonView() noexcept : value_(&kNull) {}

bool JsonView::boolean(bool otherwise) const noexcept {
  const auto* value = value_->get_ptr<const Json::boolean_t*>();
  return value != nullptr ? *value : otherwise;
}

std::int64_t JsonView::integer(std::int64_t otherwise) const noexcept {
  if (const auto* natural = value_->get_ptr<const Json::number_unsigned_t*>())
    return *natural <= std::uint64_t{std::numeric_limits<std::int64_t>::max()} ? static_cast<std::int64_t>(*natural)
                                                                               : otherwise;
  if (const auto* integer = value_->get_ptr<const Json::number_integer_t*>()) return *integer;
  const auto* real = value_->get_ptr<const Json::number_float_t*>();
  return real != nullptr && std::abs(*real) < 9e18 ? static_cast<std::int64_t>(*real) : otherwise;
}

double JsonView::number(double otherwise) const noexcept {
  return value_->is_number() ? value_->get<double>() : otherwise;
}

std::string JsonView::text(std::string_view otherwise) const {
  const auto* value = value_->get_ptr<const Json::string_t*>();
  return value != nullptr ? *value : std::string(otherwise);
}

std::vector<JsonView> JsonView::items() const {
  const auto* value = value_->get_ptr<const Json::array_t*>();
  return value != nullptr ? std::vector<JsonView>(value->begin(), value->end()) : std::vector<JsonView>();
}

const Json::object_t& JsonView::members() const noexcept {
  static const Json::object_t kNone;
  const auto* value = value_->get_ptr<const Json::object_t*>();
  return value != nullptr ? *value : kNone;
}

const Json* JsonView::find(std::string_view key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return &value;
  }
  return nullptr;
}

JsonView JsonView::operator[](std::string_view key) const {
  const Json* found = find(key);
  return found != nullptr ? JsonView(*found) : JsonView();
}

Result<Json> parse_json(std::string_view text) {
  if (nests_too_deep(text))
    return Error{ErrorCode::kUnreadable, "JSON nested deeper than " + std::to_string(kMaxDepth) + " levels"};
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 3: ..."
    const std::string_view what = error.what();
    return Error{ErrorCode::kUnreadable,
                 "not JSON: " + std::string(what.substr(what.find("] ") + 2).substr(0, kMaxMessageBytes))};
  }
}

Result<Json> load_json(const std::string& path) {
  const Result<base::Bytes> bytes = base::read_whole_file(path, kMaxFileBytes);
  if (!bytes) return bytes.error();
  Result<Json> value = parse_json(base::as_text(*bytes));
  if (!value) return value.error().with_context(path);
  return value;
}

std::string json_line(const Json& value) { return dump(value, -1); }

std::string json_text(const Json& value) { return dump(value, 2) + "\n"; }

}  // namespace rangefinder::bench
