// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/perfetto/perfetto_trace.hpp"

#include <protozero/pbf_reader.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::testing {

struct InternedText {
  std::string name, description;
  std::int64_t pid = 0;
};

struct PacketSequence {
  bool is_valid = false;
  std::uint64_t default_track = 0;
  std::uint32_t default_clock = 0;
  std::int64_t incremental_ns = 0;
  std::map<std::uint64_t, InternedText> names, categories, keys, texts, specifications, contexts;
};

struct DescribedTrack {
  std::string name;
  std::uint64_t parent = 0;
};

/// An event whose time is known.
struct TimedEvent {
  std::int64_t time_ns = 0;
  std::int64_t number = 0;  ///< as it stands in the packet
  std::uint64_t track = 0;
  std::int64_t type = 0;
  PerfettoTrace::Slice slice;  // its begin or all of it
  PerfettoTrace::ArrowEnd arrow;
  double value = 0;
  bool is_stage = false;
};

/// Reads packets into a PerfettoTrace.
class PerfettoReader {
 public:
  PerfettoReader(PerfettoTrace& out, bool is_cut) : out_(out), is_cut_(is_cut) {}

  void read(std::string_view bytes);

 private:
  /// Fields of a message.
  template <typename Take>
  static void each(std::string_view bytes, Take take) {
    protozero::pbf_reader in(bytes.data(), bytes.size());
    while (in.next()) take(in);
  }
  static std::string_view bytes_of(protozero::pbf_reader& in) {
    const auto data = in.get_view();
    return {data.data(), data.size()};
  }

  // perfetto_packets.cpp
  void packet(std::string_view bytes);
  void take_defaults(PacketSequence& sequence, std::string_view bytes);
  void take_snapshot(PacketSequence& sequence, std::string_view bytes);
  void take_interned(PacketSequence& sequence, std::string_view bytes);
  void take_descriptor(std::string_view bytes);
  void take_attributes(std::string_view bytes);
  void take_gpus(std::string_view bytes);

  // perfetto_events.cpp
  static std::string name_of(const std::map<std::uint64_t, InternedText>& names, std::uint64_t iid);
  static std::string value_of(protozero::pbf_reader& in);
  void take_annotation(const PacketSequence& sequence, std::string_view bytes, PerfettoTrace::Arguments& arguments);
  void take_event(const PacketSequence& sequence, std::string_view bytes, std::int64_t time);
  void take_launch(std::string_view bytes, PerfettoTrace::Slice& slice);
  void take_stage(const PacketSequence& sequence, std::string_view bytes, std::int64_t time);

  // perfetto_trace.cpp
  std::string row_of(std::uint64_t uuid) const;
  /// Some readers take the numbers of packets for times: they too find a begin for each end.
  void require_begins_first() const;
  void pair();

  PerfettoTrace& out_;
  bool is_cut_;
  std::map<std::uint64_t, PacketSequence> sequences_;
  std::map<std::uint64_t, DescribedTrack> tracks_;
  std::vector<TimedEvent> events_;
};

}  // namespace rangefinder::testing
