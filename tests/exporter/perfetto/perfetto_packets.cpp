// SPDX-License-Identifier: MIT
#include "exporter/perfetto/fields.hpp"
#include "exporter/perfetto/perfetto_reader.hpp"
#include "support/catch.hpp"

namespace rangefinder::testing {

namespace pf = rangefinder::perfetto;
using protozero::pbf_reader;

void PerfettoReader::read(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end) {
    const char* next = at;
    std::uint64_t length = 0;
    try {
      REQUIRE(*next == 0x0A);
      ++next;
      length = protozero::decode_varint(&next, end);
    } catch (const protozero::exception&) {
      REQUIRE(is_cut_);
      break;
    }
    if (static_cast<std::uint64_t>(end - next) < length) {
      REQUIRE(is_cut_);
      break;
    }
    packet(std::string_view(next, length));
    at = next + length;
  }
  pair();
}

void PerfettoReader::packet(std::string_view bytes) {
  std::int64_t time = -1;
  std::uint32_t clock = 0, flags = 0;
  std::uint64_t sequence_id = 0;
  std::string_view event, stage, interned, defaults, snapshot, descriptor, attributes, gpus;
  pbf_reader in(bytes.data(), bytes.size());
  const auto view = [&] {
    const auto data = in.get_view();
    return std::string_view(data.data(), data.size());
  };
  while (in.next()) {
    switch (in.tag()) {
      case pf::packet::kTimestamp:
        time = static_cast<std::int64_t>(in.get_uint64());
        break;
      case pf::packet::kTimestampClockId:
        clock = in.get_uint32();
        break;
      case pf::packet::kSequenceId:
        sequence_id = in.get_uint32();
        break;
      case pf::packet::kSequenceFlags:
        flags = in.get_uint32();
        break;
      case pf::packet::kTrackEvent:
        event = view();
        break;
      case pf::packet::kRenderStage:
        stage = view();
        break;
      case pf::packet::kInternedData:
        interned = view();
        break;
      case pf::packet::kDefaults:
        defaults = view();
        break;
      case pf::packet::kClockSnapshot:
        snapshot = view();
        break;
      case pf::packet::kTrackDescriptor:
        descriptor = view();
        break;
      case pf::packet::kTraceAttributes:
        attributes = view();
        break;
      case pf::packet::kGpuInfo:
        gpus = view();
        break;
      default:
        FAIL("field " << in.tag() << " of a packet");
    }
  }
  REQUIRE(sequence_id != 0);
  PacketSequence& sequence = sequences_[sequence_id];
  if (flags == pf::packet::kIncrementalStateCleared) {
    sequence = {};
    sequence.is_valid = true;
  }
  if (!defaults.empty()) take_defaults(sequence, defaults);
  if (!snapshot.empty()) take_snapshot(sequence, snapshot);
  if (!interned.empty()) take_interned(sequence, interned);
  if (!descriptor.empty()) take_descriptor(descriptor);
  if (!attributes.empty()) take_attributes(attributes);
  if (!gpus.empty()) take_gpus(gpus);
  const std::int64_t number = time;
  if (time >= 0) {
    if (clock == 0) clock = sequence.default_clock;
    if (clock == pf::clock_snapshot::kDistance) time = sequence.incremental_ns += time;
    if (clock == pf::clock_snapshot::kSinceBegin) time += out_.monotonic_ns;
  }
  if (event.empty() && stage.empty()) return;
  REQUIRE(sequence.is_valid);
  REQUIRE(time >= 0);
  event.empty() ? take_stage(sequence, stage, time) : take_event(sequence, event, time);
  events_.back().number = number;
}

void PerfettoReader::take_defaults(PacketSequence& sequence, std::string_view bytes) {
  each(bytes, [&](pbf_reader& in) {
    if (in.tag() == pf::defaults::kTimestampClockId) {
      sequence.default_clock = in.get_uint32();
    } else {
      each(bytes_of(in), [&](pbf_reader& track) { sequence.default_track = track.get_uint64(); });
    }
  });
}

void PerfettoReader::take_snapshot(PacketSequence& sequence, std::string_view bytes) {
  each(bytes, [&](pbf_reader& in) {
    if (in.tag() != pf::clock_snapshot::kClocks) {
      CHECK(in.get_enum() == static_cast<std::int32_t>(pf::clock_snapshot::kMonotonic));
      return;
    }
    std::uint32_t id = 0;
    std::int64_t time = 0;
    bool is_incremental = false;
    each(bytes_of(in), [&](pbf_reader& clock) {
      if (clock.tag() == pf::clock_snapshot::kClockId)
        id = clock.get_uint32();
      else if (clock.tag() == pf::clock_snapshot::kClockTimestamp)
        time = static_cast<std::int64_t>(clock.get_uint64());
      else
        is_incremental = clock.get_bool();
    });
    CHECK(is_incremental == (id == pf::clock_snapshot::kDistance));
    if (id == pf::clock_snapshot::kSinceBegin) CHECK(time == 0);
    if (is_incremental) sequence.incremental_ns = time;
    if (id == pf::clock_snapshot::kRealtime) out_.realtime_ns = time;
    if (id != pf::clock_snapshot::kMonotonic) return;
    if (out_.monotonic_ns == 0) out_.monotonic_ns = time;
    CHECK(out_.monotonic_ns == time);  // the trace's own clock must not go back
  });
}

void PerfettoReader::take_interned(PacketSequence& sequence, std::string_view bytes) {
  each(bytes, [&](pbf_reader& in) {
    const auto tag = in.tag();
    std::uint64_t iid = 0;
    InternedText named;
    each(bytes_of(in), [&](pbf_reader& entry) {
      if (entry.tag() == pf::interned::kIid)
        iid = entry.get_uint64();
      else if (tag == pf::interned::kGraphicsContexts && entry.tag() == pf::stage::kContextPid)
        named.pid = entry.get_int32();
      else if (tag != pf::interned::kGraphicsContexts && entry.tag() == pf::interned::kName)
        named.name = entry.get_string();
      else if (tag == pf::interned::kGpuSpecifications && entry.tag() == pf::stage::kSpecificationDescription)
        named.description = entry.get_string();
      else
        entry.skip();
    });
    REQUIRE(iid != 0);
    std::map<std::uint64_t, InternedText>* names = nullptr;
    switch (tag) {
      case pf::interned::kEventNames:
        names = &sequence.names;
        break;
      case pf::interned::kEventCategories:
        names = &sequence.categories;
        break;
      case pf::interned::kAnnotationNames:
        names = &sequence.keys;
        break;
      case pf::interned::kAnnotationTexts:
        names = &sequence.texts;
        break;
      case pf::interned::kGpuSpecifications:
        names = &sequence.specifications;
        break;
      case pf::interned::kGraphicsContexts:
        names = &sequence.contexts;
        break;
      case pf::interned::kComputeKernels:
        return;
      default:
        FAIL("interned data " << tag);
    }
    CHECK(names->emplace(iid, named).second);  // once in a sequence
  });
}

void PerfettoReader::take_descriptor(std::string_view bytes) {
  std::uint64_t uuid = 0;
  DescribedTrack track;
  const auto name_in = [&](std::string_view message, protozero::pbf_tag_type tag) {
    each(message, [&](pbf_reader& in) {
      if (in.tag() == tag)
        track.name = in.get_string();
      else
        in.skip();
    });
  };
  each(bytes, [&](pbf_reader& in) {
    switch (in.tag()) {
      case pf::track::kUuid:
        uuid = in.get_uint64();
        break;
      case pf::track::kParentUuid:
        track.parent = in.get_uint64();
        break;
      case pf::track::kName:
        track.name = in.get_string();
        break;
      case pf::track::kProcess:
        name_in(bytes_of(in), pf::track::kProcessName);
        break;
      case pf::track::kThread:
        name_in(bytes_of(in), pf::track::kThreadName);
        break;
      default:
        in.skip();
    }
  });
  REQUIRE(uuid != 0);
  if (track.parent != 0) CHECK(tracks_.count(track.parent) == 1);
  CHECK(tracks_.emplace(uuid, track).second);
}

void PerfettoReader::take_attributes(std::string_view bytes) {
  each(bytes, [&](pbf_reader& in) {
    std::string key, value;
    each(bytes_of(in), [&](pbf_reader& entry) {
      if (entry.tag() == pf::attributes::kKey)
        key = entry.get_string();
      else
        value = entry.tag() == pf::attributes::kLong ? std::to_string(entry.get_int64()) : entry.get_string();
    });
    CHECK(out_.attributes.emplace(key, value).second);
  });
}

void PerfettoReader::take_gpus(std::string_view bytes) {
  each(bytes, [&](pbf_reader& in) {
    std::string& name = out_.gpus.emplace_back();
    each(bytes_of(in), [&](pbf_reader& gpu) {
      if (gpu.tag() == pf::gpu_info::kName)
        name = gpu.get_string();
      else
        gpu.skip();
    });
  });
}

}  // namespace rangefinder::testing
