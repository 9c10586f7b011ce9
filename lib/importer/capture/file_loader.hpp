// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"
#include "importer/capture/capture_loader.hpp"
#include "timeline/memory_bound.hpp"

#include <string>
#include <string_view>

namespace rangefinder::importer {

class FileFacts : public RecordingFacts {
 public:
  explicit FileFacts(capture::CaptureReader& reader) noexcept : reader_(reader) {}
  const clock::ClockTable& clock() const noexcept final { return reader_.clock(); }
  std::uint64_t first_ticks() const noexcept final { return format::first_ticks(reader_.header()); }
  bool has_name(format::NameId id) const noexcept final { return reader_.has_name(id); }
  std::string_view name(format::NameId id) const noexcept final { return reader_.name(id); }
  std::string name_or_placeholder(format::NameId id) const final { return reader_.name_or_placeholder(id); }
  std::string_view category(std::uint32_t id) const noexcept final { return reader_.category(id); }
  std::string_view domain(std::uint32_t category) const noexcept final { return reader_.domain(category); }

 protected:
  capture::CaptureReader& reader_;
};

/// Adds a capture file to a timeline: all of it (`load`), or window by window.
class FileLoader final : private FileFacts, public CaptureLoader {
 public:
  FileLoader(capture::CaptureReader& reader, Timeline& timeline, const HostShift& shift, const LoadOptions& options)
      : FileFacts(reader),
        CaptureLoader(static_cast<const FileFacts&>(*this), timeline, shift, options),
        bound_(options) {}

  Status load();
  /// Before the first window: what the whole file has in common. Whether there are calls and graphs that were launched
  /// as a whole, the file tells.
  void begin_windows(Windowed windowed);
  /// Behind all events.
  void close_last_window();

  Status goes_on() override;

 private:
  void add_process();
  void add_devices();
  void add_boards();
  void add_health();
  std::uint64_t seen_ticks() const noexcept;
  void add_recorded_windows();
  void finish();

  timeline::MemoryBound bound_;
};

}  // namespace rangefinder::importer
