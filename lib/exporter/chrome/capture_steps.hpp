// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/capture_export.hpp"
#include "exporter/chrome/end_to_end.hpp"
#include "exporter/chrome/step_events.hpp"

#include <cstdint>
#include <map>

namespace rangefinder::chrome {

/// Steps of a capture, written as soon as all of one is known. One lasts from where it was noted to where the next one
/// was, which another thread may have noted before, as the file has it.
class CaptureSteps {
 public:
  explicit CaptureSteps(CaptureExport& shared)
      : shared_(shared), events_(shared.writer, shared.table, shared.options) {}

  void note(std::uint32_t thread, std::uint32_t number, std::int64_t time_ns, bool recorded);
  /// Of the step that ended with the one which the thread noted last. Nothing else of the thread comes before them.
  void add_items(std::uint32_t thread, std::uint64_t items);
  /// Behind all of them.
  void finish();

 private:
  struct Noted {
    std::int64_t time_ns = 0;
    bool recorded = false;
    bool complete = false;    ///< whether items come is known
    std::uint64_t items = 0;  ///< of the step that ended here
  };

  void complete(std::uint32_t number);
  void write(std::uint32_t number);

  CaptureExport& shared_;
  StepEvents events_;
  EndToEnd rows_;
  std::map<std::uint32_t, Noted> noted_;           ///< by number, those whose next one has not come
  std::map<std::uint32_t, std::uint32_t> newest_;  ///< by thread: the number that it noted last
};

}  // namespace rangefinder::chrome
