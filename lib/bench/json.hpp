// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rangefinder::bench {

/// A JSON value: messages between harness and worker, results, expectations. Members keep their order, integers are
/// exact. Looking for what is not there gives null, so that reading a foreign document needs no ladder of tests.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}                                       // NOLINT(google-explicit-constructor)
  Json(bool value) : value_(value) {}                           // NOLINT(google-explicit-constructor)
  Json(std::int64_t value) : value_(value) {}                   // NOLINT(google-explicit-constructor)
  Json(int value) : value_(std::int64_t{value}) {}              // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                         // NOLINT(google-explicit-constructor)
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT(google-explicit-constructor)
  Json(Array value) : value_(std::move(value)) {}               // NOLINT(google-explicit-constructor)
  static Json object(Object members = {}) { return Json(std::move(members)); }
  static Json array(Array items = {}) { return Json(std::move(items)); }

  /// Input may be hostile: nesting is bounded, and the error says at which byte.
  static Result<Json> parse(std::string_view text);
  /// The whole file, of at most 256 MiB.
  static Result<Json> load(const std::string& path);

  bool is_null() const noexcept { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_number() const noexcept;
  bool is_text() const noexcept { return std::holds_alternative<std::string>(value_); }
  bool is_object() const noexcept { return std::holds_alternative<Object>(value_); }
  bool is_array() const noexcept { return std::holds_alternative<Array>(value_); }

  bool boolean(bool otherwise = false) const noexcept;
  std::int64_t integer(std::int64_t otherwise = 0) const noexcept;
  double number(double otherwise = 0) const noexcept;
  std::string text(std::string_view otherwise = {}) const;
  const Array& items() const noexcept;
  const Object& members() const noexcept;

  bool has(std::string_view key) const noexcept { return find(key) != nullptr; }
  const Json& operator[](std::string_view key) const noexcept;
  /// Adds the member or replaces its value; on a value that is no object, makes it one.
  Json& set(std::string_view key, Json value);
  void erase(std::string_view key);
  Json& push(Json value);

  /// One line, or indented for people. What is no number (NaN, infinity) becomes null.
  std::string dump() const;
  std::string pretty() const;

 private:
  explicit Json(Object members) : value_(std::move(members)) {}
  const Json* find(std::string_view key) const noexcept;
  void append(std::string& out, int indent, int depth) const;

  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value_{nullptr};
};

}  // namespace rangefinder::bench
