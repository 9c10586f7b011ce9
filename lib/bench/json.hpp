// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#define JSON_USE_IMPLICIT_CONVERSIONS 0
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// JSON of the harness: messages between harness and worker, results, expectations.
namespace rangefinder::bench {

/// Keys keep their order; integers are exact. To read a document that something else wrote, use JsonView.
using Json = nlohmann::ordered_json;

/// Reads a value that may be missing or of another type: a missing key gives null, and each getter returns its default
/// for null and for another type. The document must outlive the view.
///
///   const double median = JsonView(results)["baseline"]["wall_ns"]["p50"].number();
class JsonView {
 public:
  JsonView() noexcept;                                      ///< null
  JsonView(const Json& value) noexcept : value_(&value) {}  // NOLINT(google-explicit-constructor)
  JsonView(Json&&) = delete;

  bool is_null() const noexcept { return value_->is_null(); }
  bool is_number() const noexcept { return value_->is_number(); }
  bool is_object() const noexcept { return value_->is_object(); }

  bool boolean(bool otherwise = false) const noexcept;
  std::int64_t integer(std::int64_t otherwise = 0) const noexcept;
  double number(double otherwise = 0) const noexcept;
  std::string text(std::string_view otherwise = {}) const;
  std::vector<JsonView> items() const;
  const Json::object_t& members() const noexcept;
  const Json& json() const noexcept { return *value_; }

  bool has(std::string_view key) const { return find(key) != nullptr; }
  JsonView operator[](std::string_view key) const;

 private:
  const Json* find(std::string_view key) const;

  const Json* value_;
};

/// kUnreadable, with line and column, for what is no JSON or nests deeper than 64 levels.
Result<Json> parse_json(std::string_view text);
/// The whole file, of at most 256 MiB. Errors name the file.
Result<Json> load_json(const std::string& path);

/// One line, without a line end. Bytes that are not UTF-8 become U+FFFD; NaN and infinity become null.
std::string json_line(const Json& value);
/// The same, indented, with a line end.
std::string json_text(const Json& value);

}  // namespace rangefinder::bench
