// SPDX-License-Identifier: MIT
#include "exporter/chrome/activity_arguments.hpp"

#include "analysis/occupancy.hpp"
#include "exporter/chrome/clean_json.hpp"
#include "exporter/chrome/digits.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

namespace rangefinder::chrome {
namespace {

void write_external_id(EventWriter& writer, std::int64_t id) {
  if (id >= 0) writer.argument("\"External id\":", static_cast<std::uint64_t>(id));
}

void write_place(EventWriter& writer, const ActivityPlace& place) {
  writer.argument("\"device\":", place.device->id);
  writer.argument("\"context\":", place.context);
  writer.signed_argument("\"stream\":", place.stream);
  writer.argument("\"correlation\":", place.correlation);
}

void write_graph(EventWriter& writer, const ActivityPlace& place) {
  if (place.graph != 0) writer.argument("\"graph id\":", place.graph);
  if (place.graph_node != 0) writer.argument("\"graph node id\":", place.graph_node);
  // No other tool has these; they are what our importer knows a graph as a whole, and the range of a node, by.
  using Launch = ActivityPlace::Launch;
  if (place.graph_launch != Launch::kNo)
    writer.raw_argument("\"graph launch\":", place.graph_launch == Launch::kWhole ? "\"whole\"" : "\"estimated part\"");
  if (place.part_bytes != 0) writer.argument("\"bytes\":", place.part_bytes);
  if (place.captured_ns == kNoTime) return;
  writer.signed_argument("\"Captured tid\":", place.captured_tid);
  writer.any_time_argument("\"Captured ts\":", place.captured_ns);
  if (!place.captured_in.empty()) writer.raw_argument("\"Captured in\":", place.captured_in);
}

/// As it is, blanks and all, where it is strict JSON: readers take the text for a name of the shapes.
void write_list(EventWriter& writer, std::string_view key, std::string_view json) {
  std::string clean;
  if (json.empty() || json.front() != '[' || !append_clean_value(clean, json)) return;
  std::string raw(json);
  std::string packed = clean;
  std::erase(raw, ' ');
  std::erase(packed, ' ');
  writer.raw_argument(key, raw == packed ? json : std::string_view(clean));
}

void write_kernel_detail(EventWriter& writer, const DeviceInfo& device, const KernelDetail& detail) {
  writer.argument("\"registers per thread\":", detail.registers_per_thread);
  writer.argument("\"shared memory\":", std::uint64_t{detail.static_shared_bytes} + detail.dynamic_shared_bytes);
  if (device.multiprocessors != 0) {
    const std::uint64_t blocks = analysis::blocks_of(detail);
    const unsigned __int128 threads = static_cast<unsigned __int128>(blocks) * analysis::threads_of(detail);
    const std::uint32_t warp = device.warp_size != 0 ? device.warp_size : 32;
    writer.millionths_argument("\"blocks per SM\":", millionths(blocks, device.multiprocessors));
    // Above that the product would not fit in 128 bits; no device has launched so many threads.
    constexpr auto kMax = static_cast<unsigned __int128>(1) << 100;
    if (threads < kMax)
      writer.millionths_argument("\"warps per SM\":",
                                 millionths(threads, std::uint64_t{device.multiprocessors} * warp));
  }
  writer.triple_argument("\"grid\":", detail.grid);
  writer.triple_argument("\"block\":", detail.block);
  if (detail.cluster[0] > 1 || detail.cluster[1] > 1 || detail.cluster[2] > 1)
    writer.triple_argument("\"cluster\":", detail.cluster);
  if (const auto percent = analysis::achieved_percent(device, detail))
    writer.argument("\"est. achieved occupancy %\":", *percent);
}

std::size_t hash_of(const KernelDetail& detail) noexcept {
  static_assert(std::has_unique_object_representations_v<KernelDetail>, "compared byte by byte");
  constexpr std::size_t kWords = (sizeof detail + 7) / 8;
  std::uint64_t words[kWords] = {};
  std::memcpy(words, &detail, sizeof detail);
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) hash = (hash ^ word ^ hash >> 29) * 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(hash >> 32);
}

}  // namespace

std::string_view KernelTexts::of(EventWriter& writer, const DeviceInfo& device, const KernelDetail& detail) {
  known_.resize(kPlaces);
  Known& known = known_[hash_of(detail) % kPlaces];
  if (known.device != &device || std::memcmp(&known.detail, &detail, sizeof detail) != 0) {
    known.text = writer.written([&] { write_kernel_detail(writer, device, detail); });
    known.device = &device;
    known.detail = detail;
  }
  return known.text;
}

void KernelTexts::write(EventWriter& writer, const DeviceInfo& device, const KernelDetail& detail) {
  if (writer.kernel(device, detail)) return;
  if (writer.has_target()) return write_kernel_detail(writer, device, detail);
  writer.more_arguments(of(writer, device, detail));
}

void write_kernel_arguments(EventWriter& writer, const ActivityPlace& place, const KernelDetail* detail,
                            KernelTexts& texts) {
  write_external_id(writer, place.external_id);
  writer.argument("\"queued\":", 0);
  write_place(writer, place);
  if (detail != nullptr) texts.write(writer, *place.device, *detail);
  if (!place.collective.empty()) writer.more_arguments(place.collective);
  write_graph(writer, place);
}

void write_copy_arguments(EventWriter& writer, const ActivityPlace& place, const CopyDetail* detail,
                          std::uint64_t bytes, std::int64_t duration_ns) {
  write_external_id(writer, place.external_id);
  write_place(writer, place);
  if (detail != nullptr && detail->source_device != kNone) {
    writer.argument("\"fromDevice\":", detail->source_device);
    writer.argument("\"inDevice\":", place.device->id);
    writer.argument("\"toDevice\":", detail->target_device);
  }
  writer.argument("\"bytes\":", bytes);
  // Bytes a nanosecond are gigabytes a second. A copy without a duration has none: readers average this column, so no
  // word stands in for the number.
  if (duration_ns > 0)
    writer.millionths_argument("\"memory bandwidth (GB/s)\":",
                               millionths(bytes, static_cast<std::uint64_t>(duration_ns)));
  write_graph(writer, place);
}

void write_operator_arguments(EventWriter& writer, const OperatorFacts& facts) {
  if (facts.sequence >= 0) {
    writer.argument("\"Sequence number\":", static_cast<std::uint64_t>(facts.sequence));
    writer.argument("\"Fwd thread id\":", facts.forward_thread);
  }
  write_list(writer, "\"Concrete Inputs\":", facts.values);
  write_list(writer, "\"Input type\":", facts.types);
  write_list(writer, "\"Input Dims\":", facts.shapes);
}

void write_call_arguments(EventWriter& writer, const CallFacts& call) {
  write_external_id(writer, call.external_id);
  if (call.callback_id != 0) writer.argument("\"cbid\":", call.callback_id);
  if (call.correlation != 0) writer.argument("\"correlation\":", call.correlation);
  if (call.result != 0) writer.signed_argument("\"result\":", call.result);
}

std::string_view sync_name(std::uint32_t type) noexcept {
  switch (type) {
    case 1:
      return "Event Sync";
    case 2:
      return "Stream Wait Event";
    case 3:
      return "Stream Sync";
    case 4:
      return "Context Sync";
    default:
      return "Unknown Sync";
  }
}

void write_sync_arguments(EventWriter& writer, const SyncFacts& sync) {
  writer.text_argument("\"cuda_sync_kind\":", sync_name(sync.type));
  writer.signed_argument("\"stream\":", sync.stream);
  if (sync.correlation != 0) writer.argument("\"correlation\":", sync.correlation);
  if (sync.device != nullptr) writer.argument("\"device\":", sync.device->id);
  if (sync.context != 0) writer.argument("\"context\":", sync.context);
  if (sync.event_stream >= 0) writer.signed_argument("\"wait_on_stream\":", sync.event_stream);
}

Category category_of(ActivityKind kind) noexcept {
  switch (kind) {
    case ActivityKind::kKernel:
    case ActivityKind::kGraph:
      return Category::kKernel;
    case ActivityKind::kMemcpy:
      return Category::kMemcpy;
    case ActivityKind::kMemset:
      return Category::kMemset;
  }
  return Category::kKernel;
}

Category category_of(CallDomain domain) noexcept {
  return domain == CallDomain::kRuntime ? Category::kRuntime : Category::kDriver;
}

void write_range_figures(EventWriter& writer, const RangeFigures& figures) {
  write_external_id(writer, figures.external_id);
  writer.argument("\"gpu_ops\":", figures.gpu_ops);
  writer.signed_argument("\"gpu_sum_ns\":", figures.gpu_sum_ns);
  writer.signed_argument("\"gpu_busy_ns\":", figures.gpu_busy_ns);
  if (!figures.busy_is_exact) writer.raw_argument("\"gpu_busy_is_exact\":", "false");
  if (figures.pass_ns == nullptr) return;
  constexpr std::pair<Pass, std::string_view> kKeys[] = {{Pass::kForward, "\"gpu_forward_ns\":"},
                                                         {Pass::kBackward, "\"gpu_backward_ns\":"},
                                                         {Pass::kRecompute, "\"gpu_recompute_ns\":"},
                                                         {Pass::kAccumulation, "\"gpu_accumulation_ns\":"},
                                                         {Pass::kUnmatched, "\"gpu_unmatched_ns\":"}};
  for (const auto& [pass, key] : kKeys) {
    const std::int64_t time = (*figures.pass_ns)[static_cast<std::size_t>(pass)];
    if (time != 0) writer.signed_argument(key, time);
  }
}

void write_node_arguments(EventWriter& writer, const NodeFacts& node) {
  if (node.sequence >= 0) writer.signed_argument("\"Sequence number\":", node.sequence);
  writer.signed_argument("\"Fwd thread id\":", node.made_ns == kNoTime ? 0 : node.forward_tid);
  // No other tool has this; it is what our importer knows such a node by.
  if (node.made_ns == kNoTime)
    writer.raw_argument("\"Forward ts\":", "null");
  else
    writer.time_argument("\"Forward ts\":", node.made_ns);
}

}  // namespace rangefinder::chrome
