// SPDX-License-Identifier: MIT
#include "exporter/perfetto/perfetto_trace.hpp"

#include "exporter/perfetto/fields.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rangefinder::testing {
namespace {

namespace pf = rangefinder::perfetto;
using protozero::pbf_reader;
using PairedSlice = PerfettoTrace::Slice;

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
  PairedSlice slice;  // its begin or all of it
  PerfettoTrace::ArrowEnd arrow;
  double value = 0;
  bool is_stage = false;
};

class PerfettoReader {
 public:
  PerfettoReader(PerfettoTrace& out, bool is_cut) : out_(out), is_cut_(is_cut) {}

  void read(std::string_view bytes) {
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

 private:
  void packet(std::string_view bytes) {
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

  template <typename Take>
  static void each(std::string_view bytes, Take take) {
    pbf_reader in(bytes.data(), bytes.size());
    while (in.next()) take(in);
  }
  static std::string_view bytes_of(pbf_reader& in) {
    const auto data = in.get_view();
    return {data.data(), data.size()};
  }

  void take_defaults(PacketSequence& sequence, std::string_view bytes) {
    each(bytes, [&](pbf_reader& in) {
      if (in.tag() == pf::defaults::kTimestampClockId) {
        sequence.default_clock = in.get_uint32();
      } else {
        each(bytes_of(in), [&](pbf_reader& track) { sequence.default_track = track.get_uint64(); });
      }
    });
  }

  void take_snapshot(PacketSequence& sequence, std::string_view bytes) {
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

  void take_interned(PacketSequence& sequence, std::string_view bytes) {
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

  void take_descriptor(std::string_view bytes) {
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

  void take_attributes(std::string_view bytes) {
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

  void take_gpus(std::string_view bytes) {
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

  static std::string name_of(const std::map<std::uint64_t, InternedText>& names, std::uint64_t iid) {
    const auto found = names.find(iid);
    REQUIRE(found != names.end());
    return found->second.name;
  }

  static std::string value_of(pbf_reader& in) {
    switch (in.tag()) {
      case pf::annotation::kBool:
        return in.get_bool() ? "true" : "false";
      case pf::annotation::kUnsigned:
        return std::to_string(in.get_uint64());
      case pf::annotation::kSigned:
        return std::to_string(in.get_int64());
      case pf::annotation::kDouble:
        return std::to_string(in.get_double());
      default:
        return in.get_string();
    }
  }

  void take_annotation(const PacketSequence& sequence, std::string_view bytes, PerfettoTrace::Arguments& arguments) {
    std::string key, value;
    each(bytes, [&](pbf_reader& in) {
      if (in.tag() == pf::annotation::kNameIid) {
        key = name_of(sequence.keys, in.get_uint64());
      } else if (in.tag() == pf::annotation::kArrayValues) {
        each(bytes_of(in), [&](pbf_reader& item) { value += (value.empty() ? "" : ", ") + value_of(item); });
      } else if (in.tag() == pf::annotation::kStringIid) {
        value = name_of(sequence.texts, in.get_uint64());
      } else {
        value = value_of(in);
      }
    });
    CHECK(arguments.emplace(key, value).second);
  }

  void take_event(const PacketSequence& sequence, std::string_view bytes, std::int64_t time) {
    TimedEvent out;
    out.time_ns = time;
    out.track = sequence.default_track;
    each(bytes, [&](pbf_reader& in) {
      switch (in.tag()) {
        case pf::track_event::kType:
          out.type = in.get_enum();
          break;
        case pf::track_event::kNameIid:
          out.slice.name = name_of(sequence.names, in.get_uint64());
          break;
        case pf::track_event::kCategoryIids:
          out.slice.category = name_of(sequence.categories, in.get_uint64());
          break;
        case pf::track_event::kTrackUuid:
          out.track = in.get_uint64();
          break;
        case pf::track_event::kCounterValue:
          out.value = static_cast<double>(in.get_int64());
          break;
        case pf::track_event::kDoubleCounterValue:
          out.value = in.get_double();
          break;
        case pf::track_event::kDebugAnnotations:
          take_annotation(sequence, bytes_of(in), out.slice.arguments);
          break;
        case pf::track_event::kGpuCorrelation:
          each(bytes_of(in), [&](pbf_reader& link) { out.slice.submitted = link.get_uint64(); });
          break;
        case pf::track_event::kLegacyEvent:
          each(bytes_of(in), [&](pbf_reader& legacy) {
            if (legacy.tag() == pf::track_event::kLegacyPhase)
              out.arrow.phase = static_cast<char>(legacy.get_int32());
            else if (legacy.tag() == pf::track_event::kLegacyUnscopedId)
              out.arrow.id = legacy.get_uint64();
            else
              legacy.skip();
          });
          break;
        default:
          FAIL("field " << in.tag() << " of an event");
      }
    });
    events_.push_back(std::move(out));
  }

  void take_launch(std::string_view bytes, PairedSlice& slice) {
    each(bytes, [&](pbf_reader& in) {
      if (in.tag() != pf::stage::kLaunchArgs) {
        auto& sizes = in.tag() == pf::stage::kGridSize ? slice.grid : slice.block;
        each(bytes_of(in), [&](pbf_reader& axis) { sizes[axis.tag() - 1] = axis.get_uint32(); });
        return;
      }
      std::string key;
      double value = 0;
      each(bytes_of(in), [&](pbf_reader& argument) {
        if (argument.tag() == pf::stage::kArgName)
          key = argument.get_string();
        else if (argument.tag() == pf::stage::kArgUnsigned)
          value = static_cast<double>(argument.get_uint64());
        else
          value = argument.get_double();
      });
      slice.launch[key] = value;
    });
  }

  void take_stage(const PacketSequence& sequence, std::string_view bytes, std::int64_t time) {
    TimedEvent out;
    out.time_ns = time;
    out.is_stage = true;
    PairedSlice& slice = out.slice;
    slice.is_stage = true;
    slice.begin_ns = slice.end_ns = time;
    std::string queue;
    std::int64_t gpu = 0;
    each(bytes, [&](pbf_reader& in) {
      switch (in.tag()) {
        case pf::stage::kEventId:
          slice.event_id = in.get_uint64();
          break;
        case pf::stage::kDuration:
          slice.end_ns = time + static_cast<std::int64_t>(in.get_uint64());
          break;
        case pf::stage::kHwQueueIid:
          queue = name_of(sequence.specifications, in.get_uint64());
          break;
        case pf::stage::kStageIid: {
          const auto found = sequence.specifications.find(in.get_uint64());
          REQUIRE(found != sequence.specifications.end());
          slice.name = found->second.name;
          slice.description = found->second.description;
          break;
        }
        case pf::stage::kGpuId:
          gpu = in.get_int32();
          break;
        case pf::stage::kContext: {
          slice.context = in.get_uint64();
          const auto found = sequence.contexts.find(slice.context);
          REQUIRE(found != sequence.contexts.end());
          slice.pid = found->second.pid;
          break;
        }
        case pf::stage::kSubmissionId:
          slice.submission = in.get_uint32();
          break;
        case pf::stage::kKernelIid:
          slice.kernel_iid = in.get_uint64();
          break;
        case pf::stage::kLaunch:
          take_launch(bytes_of(in), slice);
          break;
        case pf::stage::kExtraData: {
          std::string key, value;
          each(bytes_of(in), [&](pbf_reader& extra) {
            std::string& text = extra.tag() == pf::stage::kExtraName ? key : value;  // reading forgets the tag
            text = extra.get_string();
          });
          CHECK(slice.arguments.emplace(key, value).second);
          break;
        }
        default:
          FAIL("field " << in.tag() << " of a render stage");
      }
    });
    slice.row = "GPU " + std::to_string(gpu) + " / " + queue;
    events_.push_back(std::move(out));
  }

  std::string row_of(std::uint64_t uuid) const {
    const auto found = tracks_.find(uuid);
    REQUIRE(found != tracks_.end());
    const auto parent = tracks_.find(found->second.parent);
    return (parent != tracks_.end() ? parent->second.name + " / " : "") + found->second.name;
  }

  /// Some readers take the numbers of packets for times: they too find a begin for each end.
  void require_begins_first() const {
    std::map<std::uint64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
    for (const TimedEvent& event : events_)
      if (!event.is_stage) tracks[event.track].emplace_back(event.number, event.type);
    for (auto& [track, events] : tracks) {
      std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::int64_t open = 0;
      for (const auto& [number, type] : events) {
        open += type == pf::track_event::kSliceBegin ? 1 : type == pf::track_event::kSliceEnd ? -1 : 0;
        REQUIRE(open >= 0);
      }
    }
  }

  void pair() {
    require_begins_first();
    std::stable_sort(events_.begin(), events_.end(),
                     [](const TimedEvent& a, const TimedEvent& b) { return a.time_ns < b.time_ns; });
    std::map<std::uint64_t, std::vector<std::size_t>> open;
    for (TimedEvent& event : events_) {
      if (event.is_stage) {
        out_.slices.push_back(std::move(event.slice));
        continue;
      }
      const std::string row = row_of(event.track);
      event.slice.row = row;
      event.slice.begin_ns = event.slice.end_ns = event.time_ns;
      if (event.type == pf::track_event::kSliceBegin) {
        open[event.track].push_back(out_.slices.size());
        out_.slices.push_back(std::move(event.slice));
      } else if (event.type == pf::track_event::kSliceEnd) {
        REQUIRE_FALSE(open[event.track].empty());
        out_.slices[open[event.track].back()].end_ns = event.time_ns;
        open[event.track].pop_back();
      } else if (event.type == pf::track_event::kInstant) {
        out_.instants.push_back(std::move(event.slice));
      } else if (event.type == pf::track_event::kCounter) {
        out_.samples.push_back({tracks_.at(event.track).name, row, event.time_ns, event.value});
      } else {
        REQUIRE(event.arrow.phase != 0);
        REQUIRE((is_cut_ || !open[event.track].empty()));  // what it binds to
        event.arrow.row = row;
        event.arrow.time_ns = event.time_ns;
        out_.arrows.push_back(event.arrow);
      }
    }
    if (is_cut_) return;
    for (const auto& [track, slices] : open) CHECK(slices.empty());
  }

  PerfettoTrace& out_;
  bool is_cut_;
  std::map<std::uint64_t, PacketSequence> sequences_;
  std::map<std::uint64_t, DescribedTrack> tracks_;
  std::vector<TimedEvent> events_;
};

template <typename Input>
PerfettoTrace exported(const Input& input, const PerfettoExportOptions& options, const ScratchFolder& folder) {
  PerfettoExportReport report;
  const Status status = export_perfetto_trace(input, folder.file("x.pftrace"), options, &report);
  if (!status.ok()) FAIL(status.error().message());
  PerfettoTrace out = PerfettoTrace::parse(read_file(folder.file("x.pftrace")));
  out.report = report;
  return out;
}

}  // namespace

PerfettoTrace PerfettoTrace::parse(std::string_view bytes, bool is_cut) {
  PerfettoTrace out;
  out.bytes = bytes;
  PerfettoReader(out, is_cut).read(out.bytes);
  return out;
}

PerfettoTrace PerfettoTrace::of(const Timeline& timeline, const PerfettoExportOptions& options) {
  return exported(timeline, options, ScratchFolder());
}

PerfettoTrace PerfettoTrace::of(const CaptureBuilder& capture, const PerfettoExportOptions& options) {
  const ScratchFolder folder;
  capture.write(folder.file("x.rfcap"));
  return exported(folder.file("x.rfcap"), options, folder);
}

std::vector<PerfettoTrace::Slice> PerfettoTrace::all(std::string_view category) const {
  std::vector<Slice> out;
  std::copy_if(slices.begin(), slices.end(), std::back_inserter(out),
               [&](const PairedSlice& slice) { return slice.category == category; });
  return out;
}

PerfettoTrace::Slice PerfettoTrace::one(std::string_view name) const {
  std::vector<Slice> found;
  std::copy_if(slices.begin(), slices.end(), std::back_inserter(found),
               [&](const PairedSlice& slice) { return slice.name == name; });
  INFO(name);
  REQUIRE(found.size() == 1);
  return found.front();
}

}  // namespace rangefinder::testing
