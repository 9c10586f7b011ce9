// SPDX-License-Identifier: MIT
#include "importer/kineto/kineto_importer.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "importer/kineto/document.hpp"
#include "importer/kineto/gzip_source.hpp"
#include "timeline/memory_bound.hpp"

#include <algorithm>
#include <string_view>

namespace rangefinder::importer::kineto {
namespace {

bool opens_json(std::string_view text) noexcept {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return !text.empty() && (text.front() == '{' || text.front() == '[');
}

/// Empty where the place is the file and not its text.
std::string place(const Document::Outcome& outcome) {
  if (outcome.line == 0) return {};
  return " at byte " + std::to_string(outcome.offset) + " of the text (line " + std::to_string(outcome.line) + ")";
}

Error error_of(const std::string& name, const Document::Outcome& outcome) {
  if (outcome.verdict == Document::Verdict::kFailed) return Error(ErrorCode::kIo, outcome.reason);
  return Error(outcome.code, base::printable(name) + place(outcome) + ": " + outcome.reason);
}

void note_damage(Timeline& timeline, const Document::Outcome& outcome, std::uint64_t events) {
  timeline.health.damaged_chunks += 1;
  timeline.health.damaged_bytes += outcome.lost_bytes;
  timeline.notes.push_back("damaged" + place(outcome) + ": " + outcome.reason + "; " + base::with_thousands(events) +
                           " events before that were read");
}

/// What keeps a document from being a trace, though it is JSON; empty for a trace.
std::string_view not_a_trace(const Document& document, const TableBuilder& builder) noexcept {
  if (document.trace_arrays() == 0) return "JSON, but not a trace: it has no traceEvents";
  if (document.bare_array() && builder.events() == 0) return "JSON, but not a trace: an array without events";
  return {};
}

Result<Timeline> import_text(ByteSource& text, std::uint64_t file_bytes, const std::string& name,
                             const LoadOptions& options, ImportDetails& details) {
  Timeline timeline;
  timeline.format = InputFormat::kKineto;
  timeline.range_end = RangeEnd::kClosed;
  timeline.sources.push_back(name);

  TableBuilder builder(timeline, options, &details);
  Metadata metadata(timeline, builder.tracks());
  TextWindow window(text, options.max_unpacked_bytes);
  Document document(window, builder, metadata, options, file_bytes);
  const Document::Outcome outcome = document.read();
  details.text_bytes = window.text_bytes();
  details.events = builder.events();

  using Verdict = Document::Verdict;
  if (outcome.verdict == Verdict::kRefused || outcome.verdict == Verdict::kFailed) return error_of(name, outcome);
  if (outcome.verdict == Verdict::kDamaged) {
    if (builder.events() == 0) return error_of(name, outcome);
    if (options.strict) {
      return Error(ErrorCode::kIncomplete, base::printable(name) + place(outcome) + ": " + outcome.reason + "; " +
                                               base::with_thousands(builder.events()) + " events before it are whole");
    }
    note_damage(timeline, outcome, builder.events());
  } else if (const std::string_view reason = not_a_trace(document, builder); !reason.empty()) {
    return Error(ErrorCode::kUnreadable, base::printable(name) + ": " + std::string(reason));
  }
  if (document.left_open()) timeline.notes.emplace_back("the array of events is not closed, as its format allows");
  if (document.trace_arrays() > 1) timeline.notes.emplace_back("traceEvents occurs more than once; all were read");
  if (builder.events() == 0) timeline.notes.emplace_back("no events");
  builder.finish();
  metadata.finish();
  const Status fits = timeline::MemoryBound(options).check(timeline, {.text_bytes = builder.kept_bytes()});
  if (!fits) return Error(fits.error()).with_context(base::printable(name));
  return timeline;
}

Result<Timeline> import_source(ByteSource& file, std::uint64_t file_bytes, const std::string& name,
                               const LoadOptions& options, ImportDetails& details) {
  PeekedSource peeked(file);
  if (peeked.first_bytes().empty()) {
    if (peeked.end().kind == SourceEnd::Kind::kFailed) return Error(ErrorCode::kIo, peeked.end().reason);
    return Error(ErrorCode::kUnreadable, base::printable(name) + ": empty");
  }
  if (!is_gzip(peeked.first_bytes())) return import_text(peeked, file_bytes, name, options, details);
  GzipSource unpacked(peeked);
  return import_text(unpacked, file_bytes, name, options, details);
}

}  // namespace

bool looks_like_kineto(base::ByteView first_bytes) {
  const std::string_view text = base::as_text(first_bytes);
  if (!is_gzip(text)) return opens_json(text);
  MemorySource memory(first_bytes);
  GzipSource unpacked(memory);
  char buffer[256];
  const std::size_t count = unpacked.read(buffer);
  // Too little to unpack anything: gzip it is, and the import will say what is wrong with it.
  if (count == 0) return unpacked.end().kind == SourceEnd::Kind::kCutOff;
  const std::string_view visible(buffer, count);
  return opens_json(visible) || std::all_of(visible.begin(), visible.end(), is_space);
}

Result<Timeline> import_kineto(const std::string& path, const LoadOptions& options, ImportDetails& details) {
  Result<base::Fd> fd = base::open_for_reading(path);
  if (!fd) return std::move(fd).error();
  Result<std::uint64_t> size = base::file_size(*fd, path);
  if (!size) return std::move(size).error();
  FileSource file(std::move(*fd), path, *size);
  return import_source(file, *size, path, options, details);
}

Result<Timeline> import_kineto(base::ByteView bytes, const std::string& name, const LoadOptions& options,
                               ImportDetails& details) {
  MemorySource memory(bytes);
  return import_source(memory, bytes.size(), name, options, details);
}

Result<Timeline> import_kineto(const std::string& path, const LoadOptions& options) {
  ImportDetails details;
  return import_kineto(path, options, details);
}

}  // namespace rangefinder::importer::kineto
