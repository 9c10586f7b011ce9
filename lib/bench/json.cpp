// SPDX-License-Identifier: MIT
#include "bench/json.hpp"

#include "base/file.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rangefinder::bench {
namespace {

constexpr int kDeepest = 64;
constexpr std::uint64_t kLargestFile = std::uint64_t{256} << 20;

const Json kNothing;

}  // namespace

bool Json::is_number() const noexcept {
  return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<double>(value_);
}

bool Json::boolean(bool otherwise) const noexcept {
  const bool* value = std::get_if<bool>(&value_);
  return value != nullptr ? *value : otherwise;
}

std::int64_t Json::integer(std::int64_t otherwise) const noexcept {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  const auto* value = std::get_if<double>(&value_);
  return value != nullptr && std::abs(*value) < 9e18 ? static_cast<std::int64_t>(*value) : otherwise;
}

double Json::number(double otherwise) const noexcept {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  const auto* value = std::get_if<std::int64_t>(&value_);
  return value != nullptr ? static_cast<double>(*value) : otherwise;
}

std::string Json::text(std::string_view otherwise) const {
  const auto* value = std::get_if<std::string>(&value_);
  return value != nullptr ? *value : std::string(otherwise);
}

const Json::Array& Json::items() const noexcept {
  static const Array kNone;
  const auto* value = std::get_if<Array>(&value_);
  return value != nullptr ? *value : kNone;
}

const Json::Object& Json::members() const noexcept {
  static const Object kNone;
  const auto* value = std::get_if<Object>(&value_);
  return value != nullptr ? *value : kNone;
}

const Json* Json::find(std::string_view key) const noexcept {
  for (const Member& member : members()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const Json& Json::operator[](std::string_view key) const noexcept {
  const Json* found = find(key);
  return found != nullptr ? *found : kNothing;
}

Json& Json::set(std::string_view key, Json value) {
  if (!is_object()) value_ = Object{};
  auto& members = std::get<Object>(value_);
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.first == key; });
  if (found != members.end())
    found->second = std::move(value);
  else
    members.emplace_back(key, std::move(value));
  return *this;
}

void Json::erase(std::string_view key) {
  if (!is_object()) return;
  auto& members = std::get<Object>(value_);
  std::erase_if(members, [&](const Member& member) { return member.first == key; });
}

Json& Json::push(Json value) {
  if (!is_array()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

std::string Json::dump() const {
  std::string out;
  append(out, -1, 0);
  return out;
}

std::string Json::pretty() const {
  std::string out;
  append(out, 2, 0);
  return out += '\n';
}

void Json::append(std::string& out, int indent, int depth) const {
  const auto new_line = [&](int level) {
    if (indent >= 0)
      out.append(1, '\n').append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  };
  if (const auto* flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
    out += std::to_string(*integer);
  } else if (const auto* number = std::get_if<double>(&value_)) {
    out += std::isfinite(*number) ? fmt::format("{}", *number) : "null";
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    base::append_json_string(out, *text);
  } else if (const auto* items = std::get_if<Array>(&value_)) {
    // Rows of numbers stay on a line: samples would fill pages.
    const bool flat = std::none_of(items->begin(), items->end(), [](const Json& i) { return i.is_object(); });
    out += '[';
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (i != 0) out += indent >= 0 && flat ? ", " : ",";
      if (!flat) new_line(depth + 1);
      (*items)[i].append(out, indent, depth + 1);
    }
    if (!flat) new_line(depth);
    out += ']';
  } else if (const auto* members = std::get_if<Object>(&value_)) {
    out += '{';
    for (std::size_t i = 0; i < members->size(); ++i) {
      if (i != 0) out += ',';
      new_line(depth + 1);
      base::append_json_string(out, (*members)[i].first);
      out += indent >= 0 ? ": " : ":";
      (*members)[i].second.append(out, indent, depth + 1);
    }
    if (!members->empty()) new_line(depth);
    out += '}';
  } else {
    out += "null";
  }
}

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Json> document() {
    Json value;
    if (!read(value, 0)) return error();
    skip_space();
    if (at_ != text_.size()) {
      what_ = "something behind the value";
      return error();
    }
    return value;
  }

 private:
  Error error() const { return {ErrorCode::kUnreadable, fmt::format("not JSON: {} at byte {}", what_, at_)}; }
  bool fail(const char* what) {
    what_ = what;
    return false;
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view wanted, Json& out, Json value) {
    if (text_.substr(at_, wanted.size()) != wanted) return fail("an unknown word");
    at_ += wanted.size();
    out = std::move(value);
    return true;
  }

  bool read(Json& out, int depth) {
    skip_space();
    if (depth > kDeepest) return fail("too deep");
    if (at_ >= text_.size()) return fail("the end of the text");
    switch (text_[at_]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"': {
        std::string value;
        if (!string(value)) return false;
        out = Json(std::move(value));
        return true;
      }
      case 't':
        return word("true", out, Json(true));
      case 'f':
        return word("false", out, Json(false));
      case 'n':
        return word("null", out, Json());
      default:
        return number(out);
    }
  }

  bool object(Json& out, int depth) {
    ++at_;
    Json::Object members;
    if (!take('}')) {
      do {
        std::string key;
        Json value;
        skip_space();
        if (at_ >= text_.size() || text_[at_] != '"') return fail("no name of a member");
        if (!string(key)) return false;
        if (!take(':')) return fail("no colon");
        if (!read(value, depth + 1)) return false;
        members.emplace_back(std::move(key), std::move(value));
      } while (take(','));
      if (!take('}')) return fail("an object that does not end");
    }
    out = Json::object(std::move(members));
    return true;
  }

  bool array(Json& out, int depth) {
    ++at_;
    Json::Array items;
    if (!take(']')) {
      do {
        Json value;
        if (!read(value, depth + 1)) return false;
        items.push_back(std::move(value));
      } while (take(','));
      if (!take(']')) return fail("an array that does not end");
    }
    out = Json::array(std::move(items));
    return true;
  }

  bool number(Json& out) {
    const std::size_t end = std::min(text_.find_first_not_of("+-.eE0123456789", at_), text_.size());
    const char *first = text_.data() + at_, *last = text_.data() + end;
    std::int64_t integer = 0;
    double real = 0;
    if (const auto [stop, code] = std::from_chars(first, last, integer); code == std::errc() && stop == last) {
      out = Json(integer);
    } else if (const auto [stopped, wrong] = std::from_chars(first, last, real);
               wrong == std::errc() && stopped == last && first != last) {
      out = Json(real);
    } else {
      return fail("no value");
    }
    at_ = end;
    return true;
  }

  bool hex4(std::uint32_t& out) {
    if (text_.size() - at_ < 4) return fail("half an escape");
    const char* first = text_.data() + at_;
    const auto [stop, code] = std::from_chars(first, first + 4, out, 16);
    if (code != std::errc() || stop != first + 4) return fail("an escape that is none");
    at_ += 4;
    return true;
  }

  bool escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) return fail("half an escape");
    const char letter = text_[at_++];
    if (const std::size_t which = kLetters.find(letter); which != std::string_view::npos) {
      out += kMeanings[which];
      return true;
    }
    std::uint32_t code = 0, low = 0;
    if (letter != 'u') return fail("an escape that is none");
    if (!hex4(code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      if (!hex4(low)) return false;
      code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
    } else if (code >= 0xD800 && code < 0xE000) {
      code = 0xFFFD;
    }
    append_utf8(out, code);
    return true;
  }

  static void append_utf8(std::string& out, std::uint32_t code) {
    const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
      byte(0xC0 | code >> 6);
    } else {
      if (code < 0x10000) {
        byte(0xE0 | code >> 12);
      } else {
        byte(0xF0 | code >> 18);
        byte(0x80 | (code >> 12 & 0x3F));
      }
      byte(0x80 | (code >> 6 & 0x3F));
    }
    byte(0x80 | (code & 0x3F));
  }

  bool string(std::string& out) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (c != '\\')
        out += c;
      else if (!escape(out))
        return false;
    }
    if (at_ >= text_.size()) return fail("a text that does not end");
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  const char* what_ = "";
};

}  // namespace

Result<Json> Json::parse(std::string_view text) { return Parser(text).document(); }

Result<Json> Json::load(const std::string& path) {
  const Result<base::Bytes> bytes = base::read_whole_file(path, kLargestFile);
  if (!bytes) return bytes.error();
  Result<Json> value = parse(base::as_text(*bytes));
  if (!value) return value.error().with_context(path);
  return value;
}

}  // namespace rangefinder::bench
