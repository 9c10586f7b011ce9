// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/digits.hpp"
#include "exporter/chrome/event_target.hpp"
#include "exporter/chrome/text_output.hpp"
#include "exporter/chrome/time_base.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::chrome {

/// Writes events, one a line, each begun with the comma that parts it from the one before.
///
/// An event is opened, gets its arguments, and is closed. `head` is everything up to the ids of its track
/// (HeadCache), `ids` those (Track::ids); keys of arguments are given as they stand in the text, with quotes and colon,
/// best as literals. Where there is a target, that gets the events instead, and nothing is written here.
class EventWriter {
 public:
  /// `target` null: JSON.
  EventWriter(TextOutput& out, const TimeBase& base, EventTarget* target = nullptr) noexcept
      : out_(out), base_(base), target_(target) {}
  bool has_target() const noexcept { return target_ != nullptr; }

  void open_slice(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns) {
    if (target_ != nullptr) return hand_slice(head, ids, begin_ns, end_ns);
    char* at = open(head, ids);
    const std::uint64_t begin = base_.since(begin_ns);
    at = put_micros(at, begin);
    std::memcpy(at, ",\"dur\":", 7);  // NOLINT(bugprone-not-null-terminated-result): text goes on
    at = put_micros(at + 7, base_.since(end_ns > begin_ns ? end_ns : begin_ns) - begin);
    out_.advance(at);
  }
  /// Instants, samples, ends of flows, descriptions.
  void open_point(std::string_view head, std::string_view ids, std::int64_t time_ns) {
    if (target_ != nullptr) return hand_point(head, ids, time_ns);
    char* const at = open(head, ids);
    out_.advance(put_micros(at, base_.since(time_ns)));
  }
  void close() {
    if (target_ != nullptr) return target_->close();
    char* const at = out_.room(2);
    at[0] = at[1] = '}';
    out_.advance(at + (arguments_ ? 2 : 1));
    arguments_ = false;
  }

  template <typename Key>
  void argument(const Key& key, std::uint64_t value) {
    if (target_ != nullptr) return target_->argument(bare(key), value);
    char* const at = open_argument(key);
    out_.advance(put_decimal(at, value));
  }
  template <typename Key>
  void signed_argument(const Key& key, std::int64_t value) {
    if (target_ != nullptr) return target_->signed_argument(bare(key), value);
    char* const at = open_argument(key);
    out_.advance(put_signed(at, value));
  }
  /// As `ts` has it.
  template <typename Key>
  void time_argument(const Key& key, std::int64_t time_ns) {
    if (target_ != nullptr) return target_->time_argument(bare(key), time_ns);
    char* const at = open_argument(key);
    out_.advance(put_micros(at, base_.since(time_ns)));
  }
  /// The same of a time that may lie before the trace's origin, which no event may.
  template <typename Key>
  void any_time_argument(const Key& key, std::int64_t time_ns) {
    if (target_ != nullptr) return target_->time_argument(bare(key), time_ns);
    char* at = open_argument(key);
    const std::uint64_t before = base_.before(time_ns);
    if (before != 0) *at++ = '-';
    out_.advance(put_micros(at, before != 0 ? before : base_.since(time_ns)));
  }
  void triple_argument(std::string_view key, const std::uint32_t (&values)[3]);
  template <typename Key>
  void millionths_argument(const Key& key, unsigned __int128 value) {
    if (target_ != nullptr) return target_->double_argument(bare(key), static_cast<double>(value) / 1e6);
    char* const at = open_argument(key);
    out_.advance(put_millionths(at, value));
  }
  /// Shortest text that gives the same number back. Finite only.
  void double_argument(std::string_view key, double value);
  /// `json` is a value as it has to stand there.
  void raw_argument(std::string_view key, std::string_view json) {
    if (target_ != nullptr) return target_->raw_argument(bare(key), json);
    char* const at = open_argument(key);
    out_.advance(at);
    out_.text(json);
  }
  void text_argument(std::string_view key, std::string_view text);
  /// All arguments at once; no others before or after.
  void raw_arguments(std::string_view members);
  /// How a kernel was launched; false: write it as arguments.
  bool kernel(const DeviceInfo& device, const KernelDetail& detail) {
    return target_ != nullptr && target_->kernel(device, detail);
  }

  /// What `write` makes this writer put, which is not put. Short texts only (TextOutput::kMaxRoom).
  template <typename Write>
  std::string written(Write write) {
    char* const from = out_.room(TextOutput::kMaxRoom);
    write();
    std::string text(from, out_.room(0));
    out_.advance(from);
    return text;
  }
  /// Behind other arguments: members, each with the comma before it.
  void more_arguments(std::string_view members) {
    if (target_ != nullptr) return target_->arguments(members.substr(members.starts_with(',') ? 1 : 0));
    out_.text(members);
  }

  /// A member of the event itself, with its comma; before any argument.
  void raw_member(std::string_view json) {
    if (target_ == nullptr) out_.text(json);
  }

  /// A whole event, braces and all.
  void raw_event(std::string_view json) {
    if (target_ != nullptr) return hand_event(json);
    separate();
    out_.text(json);
  }

  const TimeBase& base() const noexcept { return base_; }
  std::uint64_t events() const noexcept { return events_; }

 private:
  static constexpr std::size_t kNumbers = 2 * kMaxMicrosBytes + 16;
  static constexpr std::string_view kFirst = ",\"args\":{";
  static constexpr std::size_t kValue = 128;

  /// `"grid":` -> `grid`.
  static std::string_view bare(std::string_view key) noexcept {
    return key.size() < 3 ? key : key.substr(1, key.size() - 3);
  }
  void hand_slice(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns);
  void hand_point(std::string_view head, std::string_view ids, std::int64_t time_ns);
  void hand_event(std::string_view json);

  char* open(std::string_view head, std::string_view ids) noexcept {
    if (head.size() + ids.size() + kNumbers > TextOutput::kMaxRoom) return open_large(head, ids);
    char* at = out_.room(head.size() + ids.size() + kNumbers + 2);
    at = put_separator(at);
    std::memcpy(at, head.data(), head.size());
    at += head.size();
    std::memcpy(at, ids.data(), ids.size());
    return at + ids.size();
  }
  char* open_large(std::string_view head, std::string_view ids) noexcept;
  char* put_separator(char* at) noexcept {
    if (events_++ != 0) *at++ = ',';
    *at++ = '\n';
    return at;
  }
  void separate() noexcept { out_.advance(put_separator(out_.room(2))); }
  char* open_argument(std::string_view key) noexcept;
  template <std::size_t kSize>
  char* open_argument(const char (&key)[kSize]) noexcept {
    char* const at = put_argument_separator(out_.room(kFirst.size() + kSize + kValue));
    std::memcpy(at, key, kSize - 1);  // NOLINT(bugprone-not-null-terminated-result): text goes on
    return at + kSize - 1;
  }
  char* put_argument_separator(char* at) noexcept {
    if (arguments_) {
      *at = ',';
      return at + 1;
    }
    arguments_ = true;
    std::memcpy(at, kFirst.data(), kFirst.size());
    return at + kFirst.size();
  }

  TextOutput& out_;
  const TimeBase& base_;
  EventTarget* target_;
  std::uint64_t events_ = 0;
  bool arguments_ = false;
  std::string scratch_;
};

}  // namespace rangefinder::chrome
