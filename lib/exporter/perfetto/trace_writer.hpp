// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_target.hpp"
#include "exporter/chrome/text_output.hpp"
#include "exporter/perfetto/heads.hpp"
#include "exporter/perfetto/packets.hpp"
#include "exporter/perfetto/render_stages.hpp"
#include "exporter/perfetto/rows.hpp"

#include <rangefinder/exporters.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::perfetto {

// Phases of events.
inline constexpr char kSlice = 'X';
inline constexpr char kSample = 'C';
/// CUDA counts contexts from 1; what is above comes from damage, and stays an argument.
inline constexpr std::uint64_t kMostContext = 0xFFFF;

/// What was written, for the report.
struct Written {
  std::uint64_t slices = 0;
  std::uint64_t without_row = 0;  ///< events of the input on rows that it does not describe
};

/// Writes the events of an export as packets of Perfetto.
///
/// Slices become two events, which readers pair by their times, or render stages of the GPU. Names, categories and keys
/// are introduced once in each sequence. Events are held for a while and put in order: readers pair events of one time
/// in the order of the file, where outer slices have to come first, and small distances in time take few bytes.
class TraceWriter final : public chrome::EventTarget {
 public:
  TraceWriter(chrome::TextOutput& out, PerfettoGpu gpu, bool api_calls, Written& written)
      : packets_(out), rows_(packets_), gpu_(gpu), api_calls_(api_calls), written_(written) {}

  void begin(const chrome::DocumentFacts& facts, const chrome::TimeBase& base, std::int64_t first_ns) override;
  void use_rows(const chrome::TrackTable& rows) override { rows_.use(rows, clock_); }
  void end(const chrome::DocumentFacts& facts, const chrome::DocumentEnd& end,
           const chrome::ExportNotes& export_notes) override;

  void open_slice(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns) override;
  void open_point(std::string_view head, std::string_view ids, std::int64_t time_ns) override;
  void close() override;

  void argument(std::string_view key, std::uint64_t value) override;
  void signed_argument(std::string_view key, std::int64_t value) override;
  void double_argument(std::string_view key, double value) override;
  void time_argument(std::string_view key, std::int64_t time_ns) override { signed_argument(key, clock_.at(time_ns)); }
  void text_argument(std::string_view key, std::string_view text) override;
  void triple_argument(std::string_view key, const std::uint32_t (&values)[3]) override;
  void raw_argument(std::string_view key, std::string_view json) override;
  void arguments(std::string_view members) override;
  bool kernel(const DeviceInfo& device, const KernelDetail& detail) override;
  void event(std::string_view json) override;

 private:
  /// What is held until it is written.
  struct Event {
    const Head* head = nullptr;
    Row* row = nullptr;  ///< null: nothing is written
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    const Specification* specification = nullptr;  ///< of a render stage
    std::uint64_t correlation = 0;                 ///< of render stages and calls; the number of an arrow's end
    // Where its arguments are in `arguments_`, and their keys and texts in `uses_`.
    std::size_t arguments_at = 0, uses_at = 0;
    std::uint32_t arguments_size = 0;
    std::uint32_t uses_size = 0;
    std::uint16_t context = 0;
    bool is_stage = false;
  };
  /// What an open event has besides.
  struct Open {
    const DeviceInfo* device = nullptr;
    const KernelDetail* detail = nullptr;
    bool is_sample = false;
    bool is_integer = false;  ///< of a sample
    std::int64_t integer = 0;
    double number = 0;
  };
  /// Arguments that stand in a place of their own, or are said by another one.
  enum class Fact : std::uint8_t { kNone, kCorrelation, kOfRange, kContext, kOfRow, kOfLaunch };
  struct Key {
    std::uint32_t id = 0;  ///< of `keys_`
    Fact fact = Fact::kNone;
  };
  /// Where a key was: they are literals, so that the same place mostly holds the same text.
  struct RecentKey {
    const char* at = nullptr;
    std::string_view text;
    Key key;
  };

  void open(std::string_view head, std::string_view ids, std::int64_t begin_ns, std::int64_t end_ns);
  /// Writes what is held.
  void flush();
  void flush(Row& row);
  void write_held();
  void write_slice();
  void write_instant();
  void write_counter();
  void write_arrow();
  void write_stage();
  void intern_stage(const Specification& specification);

  /// The event's sequence may refer to its name and category from here on.
  void introduce_names();
  /// The shortest one that can tell the time, of the event's sequence.
  std::uint32_t clock_for(std::int64_t time_ns) const noexcept;
  PacketHead head_of(std::int64_t time_ns, std::uint32_t clock) noexcept;
  /// A packet of the event's sequence at that time; the message is in three parts.
  void write_packet(Tag tag, std::int64_t time_ns, std::uint32_t clock, std::string_view start,
                    std::string_view middle = {}, std::string_view end = {});
  Key key_of(std::string_view text);
  /// True: a render stage says that in a field of its own, or another place does.
  bool take_fact(Fact fact, std::uint64_t value);
  /// Adds an annotation of numbers: `put(at)` writes its value, and returns where that ends.
  template <typename Put>
  void annotate(const Key& key, Put put);
  /// From here on, the event's sequence may refer to the text by that number.
  void introduce(Tag tag, std::uint64_t iid, std::string_view text);
  /// Begins the annotation of that name, with a text.
  void begin_annotation(const Key& key);
  void add_annotation_text(std::string_view text);
  void end_annotation() { add_message(arguments_, track_event::kDebugAnnotations, annotation_); }
  /// What the event's sequence has to know for its arguments.
  void introduce_uses();
  std::string_view arguments_of_event() const noexcept {
    return std::string_view(arguments_).substr(event_.arguments_at, event_.arguments_size);
  }
  /// Of a render stage, whose arguments are texts.
  void add_extra(std::string_view key, std::string_view value);
  /// Readers join a launch and what it led to by this number, where they know the extension.
  std::uint64_t launch_id() { return rows_.process_number(*event_.row) << 32 | (event_.correlation & 0xFFFFFFFFu); }

  Packets packets_;
  Rows rows_;
  Heads heads_;
  Specifications specifications_;
  base::StringPool keys_, texts_;
  Clock clock_;
  std::int64_t origin_ns_ = 0;
  PerfettoGpu gpu_;
  bool api_calls_;
  Written& written_;
  std::uint64_t stages_ = 0;

  Event event_;
  Open open_;
  Sequence* sequence_ = nullptr;  // of the event that is written
  std::vector<Event> held_;
  std::vector<Row*> held_rows_;      // theirs
  std::string arguments_;            // of the held ones, and of the open one
  std::vector<std::uint32_t> uses_;  // likewise: twice a number of `keys_`, or of `texts_` and 1
  std::array<RecentKey, 64> recent_keys_;
  // Messages under way; they keep their memory.
  std::string annotation_, interned_, scratch_;
};

/// What stands before and behind the events: clocks and GPUs; what was recorded, lost and left out.
void write_metadata_begin(Packets& packets, const chrome::DocumentFacts& facts, const Clock& clock);
void write_metadata_end(Packets& packets, const chrome::DocumentFacts& facts, const chrome::DocumentEnd& end,
                        const chrome::ExportNotes& export_notes, const Written& written);

}  // namespace rangefinder::perfetto
