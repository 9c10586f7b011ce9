// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/metadata.hpp"
#include "importer/kineto/table_builder.hpp"
#include "importer/kineto/window.hpp"
#include "timeline/memory_bound.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>

namespace rangefinder::importer::kineto {

/// Walks the text of a trace: its members, and the events within.
class Document {
 public:
  Document(TextWindow& window, TableBuilder& builder, Metadata& metadata, const LoadOptions& options,
           std::uint64_t file_bytes) noexcept
      : window_(window),
        builder_(builder),
        metadata_(metadata),
        options_(options),
        file_bytes_(file_bytes),
        bound_(options) {}

  enum class Verdict : std::uint8_t {
    kWhole,
    kDamaged,  ///< what came before `place` is whole; the rest is lost
    kRefused,  ///< hostile or no trace: nothing may be made of it
    kFailed,   ///< the operating system refused
  };
  struct Outcome {
    Verdict verdict = Verdict::kWhole;
    std::string reason;
    ErrorCode code = ErrorCode::kUnreadable;
    std::uint64_t offset = 0;  ///< in the text
    std::uint64_t line = 0;    ///< 0: the place is the file, not its text
    std::uint64_t lost_bytes = 0;
  };

  Outcome read();
  std::uint64_t trace_arrays() const noexcept { return event_arrays_; }
  bool bare_array() const noexcept { return bare_array_; }
  /// A bare array whose closing bracket is missing, which the format allows.
  bool left_open() const noexcept { return left_open_; }

 private:
  bool read_members();
  bool read_member(bool& more);
  bool read_events();
  bool read_element();
  bool read_rest();
  /// First byte that is not white space, across windows; false at the end of the input.
  bool skip_space();
  bool stop(Scan scan, const char* what);
  bool stop_at_end(const char* at, const char* what);
  bool within_bound();
  bool fail(Verdict verdict, const char* at, std::string reason);
  void report_progress();

  /// Runs `step` from the cursor, with more text whenever it asks for it.
  template <typename Step>
  Scan with_more_text(Step&& step) {
    for (;;) {
      const Scan scan = step();
      if (scan != Scan::kMore || !refill()) return scan;
    }
  }
  bool refill();

  TextWindow& window_;
  TableBuilder& builder_;
  Metadata& metadata_;
  const LoadOptions& options_;
  std::uint64_t file_bytes_;
  timeline::MemoryBound bound_;
  EventReader reader_;
  Event event_;
  Outcome outcome_;
  std::int64_t source_row_ = 0;
  std::uint64_t event_arrays_ = 0;
  bool has_new_text_ = false;  // since the bound was looked at
  bool bare_array_ = false;
  bool left_open_ = false;
};

}  // namespace rangefinder::importer::kineto
