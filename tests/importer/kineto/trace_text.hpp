// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/kineto_importer.hpp"
#include "importer/kineto/scan.hpp"
#include "support/catch.hpp"

#include <zlib.h>

#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::testing {

struct Loaded {
  Timeline timeline;
  importer::kineto::ImportDetails details;

  std::string text(StringId id) const { return std::string(timeline.text(id)); }
  bool has_note(std::string_view part) const {
    for (const std::string& note : timeline.notes) {
      if (note.find(part) != std::string::npos) return true;
    }
    return false;
  }
  std::string all_notes() const {
    std::string out;
    for (const std::string& note : timeline.notes) out += note + "\n";
    return out;
  }
};

inline Result<Timeline> import_text(std::string_view text, const LoadOptions& options = {}) {
  importer::kineto::ImportDetails details;
  return importer::kineto::import_kineto(base::as_bytes(text), "trace.json", options, details);
}

/// Fails the test when the text cannot be imported.
inline Loaded load(std::string_view text, const LoadOptions& options = {}) {
  Loaded out;
  out.details.keep_gpu_annotations = true;
  Result<Timeline> timeline = importer::kineto::import_kineto(base::as_bytes(text), "trace.json", options, out.details);
  if (!timeline) FAIL(timeline.error().message());
  out.timeline = std::move(*timeline);
  return out;
}

/// The message of the error that the import must give.
inline std::string error_of(std::string_view text, const LoadOptions& options = {}) {
  const Result<Timeline> timeline = import_text(text, options);
  if (timeline) FAIL("imported, but should not have been");
  const std::string& message = timeline.error().message();
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

/// A trace of these events, in torch 2.11's order of members.
inline std::string trace_of(std::string_view events, std::string_view members_before = {},
                            std::string_view members_after = {}) {
  std::string out = "{\n  \"schemaVersion\": 1,\n";
  out.append(members_before).append("  \"traceEvents\": [\n").append(events).append("\n  ]").append(members_after);
  return out + "\n}\n";
}

inline LoadOptions keeping_arguments() {
  LoadOptions options;
  options.keep_arguments = true;
  return options;
}

inline LoadOptions strictly() {
  LoadOptions options;
  options.strict = true;
  return options;
}

/// One gzip member.
inline std::string gzip(std::string_view text, int level = 6) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Text with the zero bytes behind it that scanning needs, in a block of its own, so that a sanitizer sees every step
/// past them.
class PaddedText {
 public:
  explicit PaddedText(std::string_view text) : bytes_(text.begin(), text.end()), size_(text.size()) {
    bytes_.resize(size_ + importer::kineto::kPadding, '\0');
    bytes_.shrink_to_fit();
  }
  importer::kineto::Cursor cursor() const { return {bytes_.data(), bytes_.data() + size_, ""}; }

 private:
  std::vector<char> bytes_;
  std::size_t size_;
};

}  // namespace rangefinder::testing
