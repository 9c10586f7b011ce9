// SPDX-License-Identifier: MIT
#include "advice/host_causes.hpp"

#include "advice/context.hpp"
#include "advice/copies.hpp"
#include "advice/inputs.hpp"
#include "analysis/calls.hpp"
#include "analysis/communication_names.hpp"
#include "analysis/profiling_cost.hpp"
#include "analysis/range_at.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace rangefinder::advice {
namespace {

/// cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY: the allocator asks again when it has freed something.
constexpr std::int32_t kOutOfMemory = 2;

/// Calls that load or link code.
bool loads_code(std::string_view call) noexcept {
  const std::string_view stem = analysis::call_stem(call);
  for (const std::string_view known : {"ModuleLoad", "LibraryLoad", "LinkAdd", "LinkComplete"})
    if (stem.starts_with(known)) return true;
  return false;
}

class CauseFinder {
 public:
  explicit CauseFinder(Context& context)
      : context_(context), timeline_(context.timeline()), outermost_(analysis::outermost_calls(timeline_)) {}

  HostCauses run() {
    read_ranges();
    read_calls();
    read_overheads();
    for (HostSpans* spans : {&out_.input, &out_.allocations, &out_.compilation, &out_.capture, &out_.profiler})
      spans->finish();
    judge_waits();
    return std::move(out_);
  }

 private:
  void add(HostSpans& spans, ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) {
    if (context_.frames().holds(timeline_, thread, begin_ns)) spans.add(thread, begin_ns, end_ns);
  }
  void add_call(HostSpans& spans, CallIndex call) {
    add(spans, timeline_.calls.thread[call], timeline_.calls.begin_ns[call], timeline_.calls.end_ns[call]);
  }
  std::string_view stem_of(CallIndex call) const {
    return analysis::call_stem(timeline_.text(timeline_.calls.name[call]));
  }
  void read_ranges();
  void add_inputs(const std::vector<RangeIndex>& inputs);
  void read_calls();
  std::size_t read_capture(std::size_t first);
  void read_overheads();
  void find_allocations();
  void find_waits_for_allocations();
  void judge_waits();
  WaitCause cause_of(const analysis::Wait& wait, analysis::CommunicationNames& communication);

  Context& context_;
  const Timeline& timeline_;
  std::vector<CallIndex> outermost_;                    // by thread and begin
  std::vector<bool> allocates_, waits_for_allocation_;  // by call
  HostCauses out_;
};

void CauseFinder::read_ranges() {
  enum class Kind : std::uint8_t { kUnread, kCompilation, kOther };
  std::vector<Kind> kinds(timeline_.string_count(), Kind::kUnread);
  out_.input_ranges = input_ranges(context_);
  const RangeTable& ranges = timeline_.ranges;
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    if (ranges.kind[row] != RangeKind::kAnnotation && ranges.kind[row] != RangeKind::kOperator) continue;
    if ((ranges.flags[row] & kBeforeRecording) != 0) continue;
    if (std::binary_search(out_.input_ranges.begin(), out_.input_ranges.end(), row)) continue;
    Kind& kind = kinds[static_cast<std::size_t>(ranges.name[row])];
    if (kind == Kind::kUnread)
      kind = is_compilation(timeline_.text(ranges.name[row])) ? Kind::kCompilation : Kind::kOther;
    if (kind == Kind::kCompilation) add(out_.compilation, ranges.thread[row], ranges.begin_ns[row], ranges.end_ns[row]);
  }
  add_inputs(out_.input_ranges);
}

/// Without CUDA's calls and the operators that make them: those that copy the batch, or wait, count for other rules.
void CauseFinder::add_inputs(const std::vector<RangeIndex>& inputs) {
  const CallTable& calls = timeline_.calls;
  const RangeTable& ranges = timeline_.ranges;
  HostSpans in_ranges;
  for (const RangeIndex row : inputs) in_ranges.add(ranges.thread[row], ranges.begin_ns[row], ranges.end_ns[row]);
  in_ranges.finish();
  std::vector<CallIndex> inside;
  std::vector<analysis::HostMoment> moments;
  for (const CallIndex call : outermost_) {
    if (in_ranges.covered_ns(calls.thread[call], calls.begin_ns[call], calls.end_ns[call]) == 0) continue;
    inside.push_back(call);
    moments.push_back({calls.thread[call], calls.begin_ns[call]});
  }
  const std::vector<RangeIndex> operators =
      analysis::ranges_at(timeline_, {Attribution::kLaunch, false, true}, moments);
  HostSpans taken;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    taken.add(calls.thread[inside[i]], calls.begin_ns[inside[i]], calls.end_ns[inside[i]]);
    const RangeIndex op = operators[i];
    // An operator of that name, such as a loader's, is the input itself.
    if (op < ranges.size() && !std::binary_search(inputs.begin(), inputs.end(), op))
      taken.add(ranges.thread[op], ranges.begin_ns[op], ranges.end_ns[op]);
  }
  taken.finish();
  for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread)
    for (const analysis::Span& span : analysis::without(in_ranges.of(thread), taken.of(thread)))
      add(out_.input, thread, span.begin, span.end);
}

void CauseFinder::read_calls() {
  for (std::size_t i = 0; i < outermost_.size();) {
    const std::string_view stem = stem_of(outermost_[i]);
    if (loads_code(timeline_.text(timeline_.calls.name[outermost_[i]]))) add_call(out_.compilation, outermost_[i]);
    i = stem.starts_with("StreamBeginCapture") || stem.starts_with("GraphInstantiate") ? read_capture(i) : i + 1;
  }
  find_allocations();
  for (CallIndex call{0}; call < allocates_.size(); ++call)
    if (allocates_[call]) add_call(out_.allocations, call);
  find_waits_for_allocations();
}

/// A capture or an instantiation, and what follows of it: the graph before is waited for and destroyed. Answers the
/// first call that is no part of it.
std::size_t CauseFinder::read_capture(std::size_t first) {
  const CallTable& calls = timeline_.calls;
  const ThreadIndex thread = calls.thread[outermost_[first]];
  bool capturing = false;
  std::size_t last = first;
  for (std::size_t i = first; i < outermost_.size() && calls.thread[outermost_[i]] == thread; ++i) {
    const std::string_view stem = stem_of(outermost_[i]);
    if (stem.starts_with("StreamBeginCapture")) capturing = true;
    const bool is_wait = stem.ends_with("Synchronize");
    const bool is_part = capturing || stem.starts_with("GraphInstantiate") || stem.ends_with("Destroy");
    if (!is_part && !is_wait) break;
    if (is_part) last = i;
    if (stem == "StreamEndCapture") capturing = false;
  }
  add(out_.capture, thread, calls.begin_ns[outermost_[first]], calls.end_ns[outermost_[last]]);
  return last + 1;
}

void CauseFinder::read_overheads() {
  const OverheadTable& overheads = timeline_.overheads;
  std::vector<bool> of_program(timeline_.threads.size());
  const auto take = [&](const auto& column) {
    for (const ThreadIndex thread : column)
      if (thread < of_program.size()) of_program[thread] = true;
  };
  take(timeline_.ranges.thread);
  take(timeline_.calls.thread);
  for (std::size_t row = 0; row < overheads.size(); ++row) {
    const ThreadIndex thread = overheads.thread[row];
    if (thread >= of_program.size() || !of_program[thread]) continue;
    const std::string_view name = timeline_.text(overheads.name[row]);
    if (analysis::is_of_profiler(name))
      add(out_.profiler, thread, overheads.begin_ns[row], overheads.end_ns[row]);
    else if (name.find("ommand") == std::string_view::npos)  // a full command buffer is the device's pace, and no fault
      add(out_.compilation, thread, overheads.begin_ns[row], overheads.end_ns[row]);
  }
}

/// Calls that allocate and free, and that found no memory: those leave no record of an allocation.
void CauseFinder::find_allocations() {
  allocates_.assign(timeline_.calls.size(), false);
  for (const analysis::AllocationCall& one : context_.allocations())
    if (one.call != kNone) allocates_[one.call] = true;
  for (const CallIndex call : outermost_)
    if (timeline_.calls.result[call] == kOutOfMemory) allocates_[call] = true;
}

/// Calls before one that frees, or behind one that allocates: the allocator waits until memory is not used any more.
void CauseFinder::find_waits_for_allocations() {
  waits_for_allocation_.assign(timeline_.calls.size(), false);
  for (std::size_t i = 0; i < outermost_.size(); ++i) {
    const CallIndex call = outermost_[i];
    const auto is_beside = [&](std::size_t other) {
      return allocates_[outermost_[other]] && timeline_.calls.thread[outermost_[other]] == timeline_.calls.thread[call];
    };
    waits_for_allocation_[call] =
        allocates_[call] || (i > 0 && is_beside(i - 1)) || (i + 1 < outermost_.size() && is_beside(i + 1));
  }
}

WaitCause CauseFinder::cause_of(const analysis::Wait& wait, analysis::CommunicationNames& communication) {
  if (!wait.blocks_host() || wait.call == kNone || wait.length_ns() == 0) return WaitCause::kNone;
  if (!context_.frames().holds(timeline_, wait.thread, wait.begin_ns)) return WaitCause::kNone;
  if (out_.capture.covered_ns(wait.thread, wait.begin_ns, wait.end_ns) > 0) return WaitCause::kCapture;
  if (out_.compilation.covered_ns(wait.thread, wait.begin_ns, wait.end_ns) > 0) return WaitCause::kCompilation;
  if (wait.reason == analysis::WaitReason::kFree || waits_for_allocation_[wait.call]) return WaitCause::kAllocation;
  if (wait.last == kNone) return WaitCause::kProgram;
  const bool copies_in = direction_of(timeline_, wait.last) == CopyDirection::kToDevice;
  if (wait.reason == analysis::WaitReason::kCopy && copies_in && is_pageable(timeline_, wait.last) &&
      timeline_.activities.bytes[wait.last] > kStagedBytes)
    return WaitCause::kPageableCopy;
  const bool is_kernel = timeline_.activities.kind[wait.last] == ActivityKind::kKernel;
  if (is_kernel && communication.has(timeline_.activities.name[wait.last])) return WaitCause::kCommunication;
  return WaitCause::kProgram;
}

void CauseFinder::judge_waits() {
  analysis::CommunicationNames communication(timeline_);
  out_.waits.reserve(context_.waits().size());
  for (const analysis::Wait& wait : context_.waits()) out_.waits.push_back(cause_of(wait, communication));
}

}  // namespace

bool is_compilation(std::string_view range) {
  std::string name(range);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.find("autotun") != std::string::npos) return true;
  const std::size_t at = name.find("compil");
  return at != std::string::npos && name.compare(at, 8, "compiled") != 0;
}

HostCauses find_host_causes(Context& context) { return CauseFinder(context).run(); }

void skip(Context& context, const HostSpans& spans, WaitCause cause, Change& change) {
  const std::vector<WaitCause>& causes = context.host_causes().waits;
  for (std::size_t i = 0; i < causes.size(); ++i)
    if (cause != WaitCause::kNone && causes[i] == cause) change.skip_call(context.timeline(), context.waits()[i].call);
  change.skip_host(spans);
}

bool recurs(Context& context, const HostSpans& spans) {
  const Timeline& timeline = context.timeline();
  const Frames& frames = context.frames();
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread)
    for (const analysis::Span& span : spans.of(thread)) {
      const std::size_t frame = frames.at(timeline.threads[thread].process, span.begin);
      if (frame != Frames::kNoFrame && !frames.all()[frame].is_early) return true;
    }
  return false;
}

Change without_causes(Context& context) {
  const HostCauses& causes = context.host_causes();
  Change change;
  skip(context, causes.input, WaitCause::kNone, change);
  skip(context, causes.allocations, WaitCause::kAllocation, change);
  skip(context, causes.compilation, WaitCause::kCompilation, change);
  skip(context, causes.capture, WaitCause::kCapture, change);
  skip(context, causes.profiler, WaitCause::kPageableCopy, change);
  change.finish();
  return change;
}

}  // namespace rangefinder::advice
