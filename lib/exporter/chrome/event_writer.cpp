// SPDX-License-Identifier: MIT
#include "exporter/chrome/event_writer.hpp"

#include "exporter/chrome/clean_json.hpp"

#include <charconv>

namespace rangefinder::chrome {

void EventWriter::hand_slice(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns) {
  ++events_;
  target_->open_slice(head, ids, begin_ns, end_ns > begin_ns ? end_ns : begin_ns);
}

void EventWriter::hand_point(std::string_view head, std::string_view ids, std::int64_t time_ns) {
  ++events_;
  target_->open_point(head, ids, time_ns);
}

void EventWriter::hand_event(std::string_view json) {
  ++events_;
  target_->event(json);
}

char* EventWriter::open_large(std::string_view head, std::string_view ids) noexcept {
  separate();
  out_.text(head);
  out_.text(ids);
  return out_.room(kNumbers);
}

char* EventWriter::open_argument(std::string_view key) noexcept {
  char* const at = put_argument_separator(out_.room(kFirst.size() + key.size() + kValue));
  std::memcpy(at, key.data(), key.size());
  return at + key.size();
}

void EventWriter::triple_argument(std::string_view key, const std::uint32_t (&values)[3]) {
  if (target_ != nullptr) return target_->triple_argument(bare(key), values);
  char* at = open_argument(key);
  *at++ = '[';
  at = put_decimal(at, values[0]);
  *at++ = ',';
  at = put_decimal(at, values[1]);
  *at++ = ',';
  at = put_decimal(at, values[2]);
  *at++ = ']';
  out_.advance(at);
}

void EventWriter::double_argument(std::string_view key, double value) {
  if (target_ != nullptr) return target_->double_argument(bare(key), value);
  char* const at = open_argument(key);
  constexpr std::ptrdiff_t kMaxDoubleBytes = 32;
  out_.advance(std::to_chars(at, at + kMaxDoubleBytes, value).ptr);
}

void EventWriter::text_argument(std::string_view key, std::string_view text) {
  if (target_ != nullptr) return target_->text_argument(bare(key), text);
  scratch_.clear();
  append_quoted(scratch_, text);
  raw_argument(key, scratch_);
}

void EventWriter::raw_arguments(std::string_view members) {
  if (target_ != nullptr) return target_->arguments(members);
  out_.text(",\"args\":{");
  out_.text(members);
  arguments_ = true;
}

}  // namespace rangefinder::chrome
