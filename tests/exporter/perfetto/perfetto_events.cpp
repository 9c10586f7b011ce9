// SPDX-License-Identifier: MIT
#include "exporter/perfetto/fields.hpp"
#include "exporter/perfetto/perfetto_reader.hpp"
#include "support/catch.hpp"

#include <utility>

namespace rangefinder::testing {

namespace pf = rangefinder::perfetto;
using protozero::pbf_reader;

std::string PerfettoReader::name_of(const std::map<std::uint64_t, InternedText>& names, std::uint64_t iid) {
  const auto found = names.find(iid);
  REQUIRE(found != names.end());
  return found->second.name;
}

std::string PerfettoReader::value_of(pbf_reader& in) {
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

void PerfettoReader::take_annotation(const PacketSequence& sequence, std::string_view bytes,
                                     PerfettoTrace::Arguments& arguments) {
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

void PerfettoReader::take_event(const PacketSequence& sequence, std::string_view bytes, std::int64_t time) {
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

void PerfettoReader::take_launch(std::string_view bytes, PerfettoTrace::Slice& slice) {
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

void PerfettoReader::take_stage(const PacketSequence& sequence, std::string_view bytes, std::int64_t time) {
  TimedEvent out;
  out.time_ns = time;
  out.is_stage = true;
  PerfettoTrace::Slice& slice = out.slice;
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

}  // namespace rangefinder::testing
