// SPDX-License-Identifier: MIT
#pragma once

#include <protozero/types.hpp>

#include <cstdint>

// Numbers of fields and values in Perfetto's public schema, as of v58 (github.com/google/perfetto, folder
// protos/perfetto/trace; the file of each message is named with it). Only the numbers are taken from there.
namespace rangefinder::perfetto {

using Tag = protozero::pbf_tag_type;

namespace packet {  // trace_packet.proto
inline constexpr Tag kClockSnapshot = 6;
inline constexpr Tag kTimestamp = 8;
inline constexpr Tag kSequenceId = 10;
inline constexpr Tag kTrackEvent = 11;
inline constexpr Tag kInternedData = 12;
inline constexpr Tag kSequenceFlags = 13;
inline constexpr Tag kRenderStage = 53;
inline constexpr Tag kTimestampClockId = 58;
inline constexpr Tag kDefaults = 59;
inline constexpr Tag kTrackDescriptor = 60;
inline constexpr Tag kTraceAttributes = 126;
inline constexpr Tag kGpuInfo = 128;

inline constexpr std::uint32_t kIncrementalStateCleared = 1;
}  // namespace packet

namespace defaults {  // trace_packet_defaults.proto
inline constexpr Tag kTrackEventDefaults = 11;
inline constexpr Tag kTimestampClockId = 58;
inline constexpr Tag kTrackUuid = 11;  // of TrackEventDefaults
}  // namespace defaults

namespace clock_snapshot {  // clock_snapshot.proto, builtin_clock.proto
inline constexpr Tag kClocks = 1;
inline constexpr Tag kPrimaryTraceClock = 2;
inline constexpr Tag kClockId = 1;  // of Clock
inline constexpr Tag kClockTimestamp = 2;
inline constexpr Tag kIsIncremental = 3;

inline constexpr std::uint32_t kRealtime = 1;
inline constexpr std::uint32_t kMonotonic = 3;
// Clocks of a sequence are 64 to 127. Ours: the distance to the packet before, and to the begin of the trace.
inline constexpr std::uint32_t kDistance = 64;
inline constexpr std::uint32_t kSinceBegin = 65;
}  // namespace clock_snapshot

namespace track_event {  // track_event/track_event.proto
inline constexpr Tag kCategoryIids = 3;
inline constexpr Tag kDebugAnnotations = 4;
inline constexpr Tag kLegacyEvent = 6;
inline constexpr Tag kType = 9;
inline constexpr Tag kNameIid = 10;
inline constexpr Tag kTrackUuid = 11;
inline constexpr Tag kCounterValue = 30;
inline constexpr Tag kDoubleCounterValue = 44;
inline constexpr Tag kGpuCorrelation = 3000;  // gpu/gpu_track_event.proto, an extension

inline constexpr std::int32_t kSliceBegin = 1;
inline constexpr std::int32_t kSliceEnd = 2;
inline constexpr std::int32_t kInstant = 3;
inline constexpr std::int32_t kCounter = 4;

inline constexpr Tag kLegacyPhase = 2;  // of LegacyEvent
inline constexpr Tag kLegacyUnscopedId = 6;
inline constexpr Tag kLegacyBindToEnclosing = 12;

inline constexpr Tag kSubmittedEventIds = 1;  // of GpuCorrelation
}  // namespace track_event

namespace annotation {  // track_event/debug_annotation.proto
inline constexpr Tag kNameIid = 1;
inline constexpr Tag kBool = 2;
inline constexpr Tag kUnsigned = 3;
inline constexpr Tag kSigned = 4;
inline constexpr Tag kDouble = 5;
inline constexpr Tag kString = 6;
inline constexpr Tag kArrayValues = 12;
inline constexpr Tag kStringIid = 17;
}  // namespace annotation

namespace track {  // track_event/track_descriptor.proto and those of processes, threads and counters
inline constexpr Tag kUuid = 1;
inline constexpr Tag kName = 2;
inline constexpr Tag kProcess = 3;
inline constexpr Tag kThread = 4;
inline constexpr Tag kParentUuid = 5;
inline constexpr Tag kCounter = 8;
inline constexpr Tag kChildOrdering = 11;
inline constexpr Tag kSiblingOrderRank = 12;
inline constexpr Tag kDescription = 14;
inline constexpr Tag kSiblingMergeBehavior = 15;
inline constexpr std::int32_t kExplicitOrder = 3;
inline constexpr std::int32_t kNoMerge = 2;

inline constexpr Tag kProcessPid = 1;
inline constexpr Tag kProcessName = 6;
inline constexpr Tag kThreadPid = 1;
inline constexpr Tag kThreadTid = 2;
inline constexpr Tag kThreadName = 5;
}  // namespace track

namespace interned {  // interned_data/interned_data.proto
inline constexpr Tag kEventCategories = 1;
inline constexpr Tag kEventNames = 2;
inline constexpr Tag kAnnotationNames = 3;
inline constexpr Tag kAnnotationTexts = 29;
inline constexpr Tag kGraphicsContexts = 23;
inline constexpr Tag kGpuSpecifications = 24;
inline constexpr Tag kComputeKernels = 1000;  // gpu/gpu_interned_data.proto, an extension

inline constexpr Tag kIid = 1;  // of every interned message
inline constexpr Tag kName = 2;
}  // namespace interned

namespace stage {  // gpu/gpu_render_stage_event.proto
inline constexpr Tag kEventId = 1;
inline constexpr Tag kDuration = 2;
inline constexpr Tag kContext = 5;
inline constexpr Tag kExtraData = 6;
inline constexpr Tag kSubmissionId = 10;
inline constexpr Tag kGpuId = 11;
inline constexpr Tag kHwQueueIid = 13;
inline constexpr Tag kStageIid = 14;
inline constexpr Tag kKernelIid = 19;
inline constexpr Tag kLaunch = 21;

inline constexpr Tag kExtraName = 1;
inline constexpr Tag kExtraValue = 2;

inline constexpr Tag kGridSize = 1;  // of ComputeKernelLaunch
inline constexpr Tag kWorkgroupSize = 2;
inline constexpr Tag kLaunchArgs = 3;

inline constexpr Tag kArgName = 2;  // of ExtraComputeArg
inline constexpr Tag kArgUnsigned = 4;
inline constexpr Tag kArgDouble = 5;

inline constexpr Tag kSpecificationDescription = 3;  // of InternedGpuRenderStageSpecification
inline constexpr Tag kSpecificationCategory = 4;
inline constexpr std::int32_t kOtherStage = 0;
inline constexpr std::int32_t kComputeStage = 2;

inline constexpr Tag kContextPid = 2;  // of InternedGraphicsContext
inline constexpr Tag kContextApi = 3;
inline constexpr std::int32_t kCuda = 4;

inline constexpr Tag kKernelArch = 4;  // of InternedComputeKernel
inline constexpr Tag kKernelArgs = 5;
}  // namespace stage

namespace gpu_info {  // system_info/gpu_info.proto
inline constexpr Tag kGpus = 1;
inline constexpr Tag kName = 1;  // of Gpu
inline constexpr Tag kVendor = 2;
inline constexpr Tag kExtraInfo = 6;
inline constexpr Tag kKey = 1;  // of KeyValue
inline constexpr Tag kValue = 2;
}  // namespace gpu_info

namespace attributes {  // common/trace_attributes.proto
inline constexpr Tag kAttribute = 1;
inline constexpr Tag kKey = 1;
inline constexpr Tag kLong = 2;
inline constexpr Tag kString = 3;
}  // namespace attributes

}  // namespace rangefinder::perfetto
