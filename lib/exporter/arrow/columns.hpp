// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/arrow/batch.hpp"

#include <rangefinder/timeline.hpp>
#include <rangefinder/types.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rangefinder::arrow {

template <typename T>
constexpr const char* format_of() noexcept {
  if constexpr (std::is_same_v<T, std::int8_t>) return "c";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "C";
  if constexpr (std::is_same_v<T, std::int32_t>) return "i";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "I";
  if constexpr (std::is_same_v<T, std::int64_t>) return "l";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "L";
  if constexpr (std::is_same_v<T, double>) return "g";
}

/// Words as the dictionary of a column of enumerators; the first is enumerator 0.
inline std::shared_ptr<const Column> dictionary_of(std::span<const std::string_view> words) {
  TextColumn texts;
  for (const std::string_view word : words) texts.add(word);
  return std::make_shared<const Column>(std::move(texts).take(""));
}

/// Puts the columns of one table of a timeline together. Memory of the timeline is pointed to where it is what Arrow
/// wants, and copied elsewhere.
class TableColumns {
 public:
  TableColumns(std::shared_ptr<const Timeline> timeline, std::size_t rows, std::shared_ptr<const Column> texts)
      : timeline_(std::move(timeline)), rows_(rows), texts_(std::move(texts)) {
    batch_.rows = static_cast<std::int64_t>(rows);
  }

  /// Numbers, of which none is missing.
  template <typename Source>
  TableColumns& numbers(const char* name, const Source& source) {
    using Value = typename Source::value_type;
    return add<Value>(
        name, source, [](const Value&) { return false; }, false);
  }
  /// Numbers, of which those that are `missing` are null.
  template <typename Source>
  TableColumns& numbers(const char* name, const Source& source, typename Source::value_type missing) {
    using Value = typename Source::value_type;
    return add<Value>(
        name, source, [missing](const Value& value) { return value == missing; }, true);
  }
  /// Names of the timeline.
  template <typename Source>
  TableColumns& names(const char* name, const Source& source) {
    // Signed, as pandas wants indices: there are never 2^31 names.
    add<std::int32_t>(
        name, source, [](StringId) { return false; }, false);
    batch_.columns.back().dictionary = texts_;
    return *this;
  }
  /// Rows of another table, null where there is none.
  template <typename Source>
  TableColumns& rows(const char* name, const Source& source) {
    using Value = typename Source::value_type;
    return add<std::uint32_t>(
        name, source, [](const Value& row) { return row == Value(kNone); }, true);
  }
  /// Enumerators of one byte, as these words.
  template <typename Source>
  TableColumns& words(const char* name, const Source& source, std::span<const std::string_view> words) {
    using Value = typename Source::value_type;
    static_assert(sizeof(Value) == 1);
    const std::size_t known = words.size();
    add<std::int8_t>(
        name, source, [known](Value value) { return static_cast<std::size_t>(value) >= known; }, true);
    batch_.columns.back().dictionary = dictionary_of(words);
    return *this;
  }
  template <typename Source>
  TableColumns& words(const char* name, const Source& source, std::initializer_list<std::string_view> words) {
    return this->words(name, source, std::span(words.begin(), words.size()));
  }
  /// True and false.
  template <typename Source>
  TableColumns& flags(const char* name, const Source& source) {
    return flags_where(name, [&](std::size_t row) { return static_cast<bool>(source[row]); });
  }
  template <typename IsSet>
  TableColumns& flags_where(const char* name, IsSet is_set) {
    Bits bits(rows_);
    for (std::size_t row = 0; row < rows_; ++row)
      if (is_set(row)) bits.set(row);
    push(name, "b", false).buffers = {Buffer{}, bits.buffer()};
    return *this;
  }
  /// Computed numbers, all copied: `value_of(row)`.
  template <typename Value, typename ValueOf>
  TableColumns& computed(const char* name, ValueOf value_of) {
    const auto values = zeros<Value>(rows_);
    for (std::size_t row = 0; row < rows_; ++row) values[row] = static_cast<Value>(value_of(row));
    push(name, format_of<Value>(), false).buffers = {Buffer{}, Buffer{values.get(), values}};
    return *this;
  }
  /// The same of texts of their own.
  template <typename TextOf>
  TableColumns& texts(const char* name, TextOf text_of) {
    TextColumn column;
    for (std::size_t row = 0; row < rows_; ++row) column.add(text_of(row));
    batch_.columns.push_back(std::move(column).take(name));
    return *this;
  }

  Batch take() && { return std::move(batch_); }

 private:
  Column& push(const char* name, const char* format, bool nullable) {
    return batch_.columns.emplace_back(
        Column{.name = name, .format = format, .length = batch_.rows, .nullable = nullable});
  }

  /// Where the rows stand one after the other, or null.
  template <typename Source>
  const typename Source::value_type* stored(const Source& source) const noexcept {
    if constexpr (requires { source.contiguous(rows_); })
      return source.contiguous(rows_);
    else
      return source.begin();
  }

  template <typename Stored, typename Source, typename IsNull>
  TableColumns& add(const char* name, const Source& source, IsNull is_null, bool nullable) {
    static_assert(sizeof(Stored) == sizeof(typename Source::value_type));
    Column& column = push(name, format_of<Stored>(), nullable);
    const auto* const in_place = rows_ != 0 ? stored(source) : nullptr;
    const auto copied = in_place != nullptr ? std::shared_ptr<Stored[]>() : zeros<Stored>(rows_);
    Bits valid(nullable ? rows_ : 0);
    for (std::size_t row = 0; row < rows_ && (nullable || copied != nullptr); ++row) {
      const auto value = in_place != nullptr ? in_place[row] : source[row];
      if (nullable && is_null(value)) {
        ++column.null_count;
        continue;
      }
      if (nullable) valid.set(row);
      if (copied != nullptr) copied[row] = static_cast<Stored>(value);
    }
    column.buffers = {column.null_count != 0 ? valid.buffer() : Buffer{},
                      in_place != nullptr ? Buffer{in_place, timeline_} : Buffer{copied.get(), copied}};
    return *this;
  }

  std::shared_ptr<const Timeline> timeline_;
  std::size_t rows_;
  std::shared_ptr<const Column> texts_;
  Batch batch_;
};

}  // namespace rangefinder::arrow
