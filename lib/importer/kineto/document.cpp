// SPDX-License-Identifier: MIT
#include "importer/kineto/document.hpp"

#include "base/json_unescape.hpp"
#include "base/text.hpp"

namespace rangefinder::importer::kineto {
namespace {

constexpr unsigned kTraceDepth = 1;
constexpr unsigned kElementDepth = 2;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string found_instead(char c) { return "found '" + base::printable(std::string_view(&c, 1)) + "'"; }

}  // namespace

Document::Outcome Document::read() {
  refill();
  Cursor& cursor = window_.cursor;
  if (std::string_view(cursor.at, static_cast<std::size_t>(cursor.end - cursor.at)).starts_with(kByteOrderMark))
    cursor.at += kByteOrderMark.size();
  if (!skip_space()) {
    stop_at_end(cursor.at, "JSON");
    return outcome_;
  }
  bool whole = false;
  if (*cursor.at == '{') {
    whole = read_members();
  } else if (*cursor.at == '[') {
    bare_array_ = true;
    whole = read_events();
  } else {
    fail(Verdict::kRefused, cursor.at, "not JSON: expected { or [, " + found_instead(*cursor.at));
  }
  if (whole) read_rest();
  return outcome_;
}

bool Document::refill() {
  if (!window_.refill()) return false;
  has_new_text_ = true;
  report_progress();
  return true;
}

void Document::report_progress() {
  if (options_.progress != nullptr) options_.progress(options_.progress_user, window_.file_position(), file_bytes_);
}

bool Document::skip_space() {
  Cursor& cursor = window_.cursor;
  for (;;) {
    if (cursor.at != cursor.end) cursor.at = kineto::skip_space(cursor.at);
    if (cursor.at != cursor.end) return true;
    if (!refill()) return false;
  }
}

bool Document::read_members() {
  Cursor& cursor = window_.cursor;
  ++cursor.at;
  for (bool more = true; more;) {
    if (!skip_space()) return stop_at_end(cursor.at, "a member of the trace");
    if (*cursor.at == '}') {
      ++cursor.at;
      return true;
    }
    if (!read_member(more)) return false;
  }
  return true;
}

/// One member and the comma or brace behind it.
bool Document::read_member(bool& more) {
  Cursor& cursor = window_.cursor;
  std::string key;
  const char* value = nullptr;
  const char* value_end = nullptr;
  bool events = false;
  const Scan scan = with_more_text([&] {
    const char* at = cursor.at;
    RawText name;
    if (*at != '"') return unexpected(cursor, at, "a member's name in quotes");
    if (const Scan step = read_key(cursor, at, name); step != Scan::kOk) return step;
    if (at >= cursor.end) return Scan::kMore;
    key.clear();
    base::append_json_unescaped(key, name.bytes);
    value = at;
    events = key == "traceEvents";
    if (events) return *at == '[' ? Scan::kOk : unexpected(cursor, at, "an array of events");
    const Scan step = skip_value(cursor, at, kTraceDepth);
    value_end = at;
    return step;
  });
  if (scan != Scan::kOk) return stop(scan, "a member of the trace");
  cursor.at = value;
  if (events) {
    if (!read_events()) return false;
  } else {
    metadata_.add(key, cursor, value_end);
    cursor.at = value_end;
  }
  if (!skip_space()) return stop_at_end(cursor.at, "a comma or the closing brace of the trace");
  more = *cursor.at == ',';
  if (!more && *cursor.at != '}')
    return stop(unexpected(cursor, cursor.at, "a comma or the closing brace of the trace"), "");
  ++cursor.at;
  return true;
}

bool Document::read_events() {
  Cursor& cursor = window_.cursor;
  ++cursor.at;
  ++event_arrays_;
  // Commas at the end and in a row are taken as they come; a missing one means that something is missing.
  for (bool separated = true;;) {
    if (!skip_space()) {
      // In the bare form the closing bracket may be missing, so that a tool can be killed while it writes.
      left_open_ = bare_array_ && source_row_ != 0 && window_.source_end().kind == SourceEnd::Kind::kEnd;
      return left_open_ || stop_at_end(cursor.at, "an event");
    }
    if (*cursor.at == ']') {
      ++cursor.at;
      return true;
    }
    if (*cursor.at == ',' && source_row_ != 0) {
      ++cursor.at;
      separated = true;
      continue;
    }
    if (!separated) return stop(unexpected(cursor, cursor.at, "a comma or the end of traceEvents"), "");
    if (!read_element()) return false;
    separated = false;
  }
}

bool Document::read_element() {
  Cursor& cursor = window_.cursor;
  if (*cursor.at == '{') [[likely]] {
    const Scan scan = with_more_text([&] { return reader_.read(cursor, event_); });
    if (scan != Scan::kOk) return stop(scan, "an event");
    builder_.add(event_, source_row_);
  } else {
    const char* at = nullptr;
    const Scan scan = with_more_text([&] {
      at = cursor.at;
      return skip_value(cursor, at, kElementDepth);
    });
    if (scan != Scan::kOk) return stop(scan, "an event");
    cursor.at = at;
    builder_.add_stray();
  }
  ++source_row_;
  return within_bound();
}

bool Document::within_bound() {
  if (!has_new_text_) return true;  // events of one window cannot add more than it holds
  has_new_text_ = false;
  const Status status = bound_.check(builder_.timeline(), {.text_bytes = builder_.kept_bytes()});
  if (status) return true;
  outcome_.code = status.error().code();
  return fail(Verdict::kRefused, window_.cursor.at, status.error().message());
}

/// Behind the trace: nothing but white space may follow, and the compressed data must end well.
bool Document::read_rest() {
  Cursor& cursor = window_.cursor;
  if (skip_space()) return fail(Verdict::kDamaged, cursor.at, "the trace has ended, but more follows");
  const SourceEnd& end = window_.source_end();
  if (end.trailing_bytes != 0) {
    outcome_.verdict = Verdict::kDamaged;
    outcome_.reason = "the compressed data have ended, but more follows";
    outcome_.lost_bytes = end.trailing_bytes;
    return false;
  }
  return end.kind == SourceEnd::Kind::kEnd || stop_at_end(cursor.at, "the end");
}

bool Document::stop(Scan scan, const char* what) {
  const Cursor& cursor = window_.cursor;
  switch (scan) {
    case Scan::kOk:
      return true;
    case Scan::kMore:
      return stop_at_end(cursor.at, what);
    case Scan::kTooDeep:
      return fail(Verdict::kRefused, cursor.at, "nested deeper than " + std::to_string(kMaxDepth));
    case Scan::kBad:
      break;
  }
  return fail(Verdict::kDamaged, cursor.at,
              std::string("expected ") + cursor.expected + ", " + found_instead(*cursor.at));
}

/// The input ended where `what` should have been or gone on.
bool Document::stop_at_end(const char* at, const char* what) {
  if (window_.too_long()) {
    return fail(Verdict::kRefused, at,
                "one value is longer than " + std::to_string(TextWindow::kMaxValue >> 20) + " MiB");
  }
  const SourceEnd& end = window_.source_end();
  switch (end.kind) {
    case SourceEnd::Kind::kFailed:
      return fail(Verdict::kFailed, at, end.reason);
    case SourceEnd::Kind::kRefused:
      return fail(Verdict::kRefused, at, end.reason);
    case SourceEnd::Kind::kCutOff:
    case SourceEnd::Kind::kDamaged:
      return fail(Verdict::kDamaged, at, end.reason);
    case SourceEnd::Kind::kEnd:
      break;
  }
  return fail(Verdict::kDamaged, at, std::string("cut off where ") + what + " should be");
}

bool Document::fail(Verdict verdict, const char* at, std::string reason) {
  outcome_.verdict = verdict;
  outcome_.reason = std::move(reason);
  outcome_.offset = window_.offset_of(at);
  outcome_.line = window_.line_of(at);
  if (verdict != Verdict::kDamaged) return false;
  outcome_.lost_bytes = window_.drain(at);
  return false;
}

}  // namespace rangefinder::importer::kineto
