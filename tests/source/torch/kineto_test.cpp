// SPDX-License-Identifier: MIT
//
// The operators that OperatorRecording sees are those that LibTorch's own profiler sees; and both can run at once.
#include "support/scratch_folder.hpp"
#include "torch_program.hpp"

#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/torch/operators.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

namespace kineto = ::torch::autograd::profiler;
using ::torch::profiler::impl::ActivityType;

/// LibTorch's profiler, from construction to `finish`.
class Kineto {
 public:
  Kineto() {
    const std::set<ActivityType> what{ActivityType::CPU};
    const kineto::ProfilerConfig config(::torch::profiler::impl::ProfilerState::KINETO, true);
    kineto::prepareProfiler(config, what);
    kineto::enableProfiler(config, what);
    state_.emplace();
  }
  std::unique_ptr<kineto::ProfilerResult> finish() { return kineto::disableProfiler(); }

  /// Sees what `work` does on the calling thread; elsewhere it sees the thread that began it alone.
  void watch(const std::function<void()>& work) const {
    const at::ThreadLocalStateGuard guard(*state_);
    work();
  }

 private:
  std::optional<at::ThreadLocalState> state_;
};

void plainly(const std::function<void()>& work) { work(); }

/// Our recording, likewise.
class Ours {
 public:
  explicit Ours(const std::string& path, const rangefinder::torch::OperatorOptions& options = {true, 1, true})
      : path_(path), session_(session_options(path)) {
    REQUIRE(session_.status().ok());
    operators_.emplace(options);
  }
  Timeline finish() {
    operators_.reset();
    REQUIRE(session_.stop().ok());
    return load(path_);
  }
  static Timeline load(const std::string& path) {
    LoadOptions options;
    options.operator_inputs = true;
    Result<Timeline> timeline = load_timeline(path, options);
    REQUIRE(timeline.ok());
    return std::move(*timeline);
  }

 private:
  static SessionOptions session_options(const std::string& path) {
    SessionOptions options;
    options.output = path;
    options.cuda = false;
    return options;
  }
  std::string path_;
  Session session_;
  std::optional<rangefinder::torch::OperatorRecording> operators_;
};

struct Event {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::string text;
};

/// The operators of each thread, a line each, indented by what is around them.
using Trees = std::map<std::string, std::vector<std::string>>;

Trees trees_of(std::map<std::string, std::vector<Event>> threads) {
  Trees trees;
  for (auto& [thread, events] : threads) {
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.begin_ns < b.begin_ns; });
    std::vector<std::int64_t> open;
    for (const Event& event : events) {
      while (!open.empty() && open.back() <= event.begin_ns) open.pop_back();
      trees[thread].push_back(std::string(open.size(), ' ') + event.text);
      open.push_back(event.end_ns);
    }
  }
  return trees;
}

std::string with_number(const std::string& name, std::int64_t sequence, const std::string& forward_thread) {
  std::string text = name;
  if (sequence >= 0) text += " #" + std::to_string(sequence);
  return forward_thread.empty() ? text : text + " of " + forward_thread;
}

Trees trees_of(const kineto::ProfilerResult& result, const ThreadNames& names) {
  std::map<std::string, std::vector<Event>> threads;
  for (const kineto::KinetoEvent& event : result.events()) {
    if (names.of_torch.count(event.startThreadId()) == 0) continue;
    const bool is_node = event.sequenceNr() >= 0;
    threads[names.of_torch.at(event.startThreadId())].push_back(
        {static_cast<std::int64_t>(event.startNs()), static_cast<std::int64_t>(event.endNs()),
         with_number(event.name(), event.sequenceNr(),
                     is_node ? names.of_torch.at(event.fwdThreadId()) : std::string())});
  }
  return trees_of(std::move(threads));
}

/// The row of a range; kNone where it tells nothing.
std::uint32_t row_of(const Timeline& timeline, RangeIndex range) {
  const auto& rows = timeline.operators.range;
  const auto found = std::lower_bound(rows.begin(), rows.end(), range);
  return found != rows.end() && *found == range ? static_cast<std::uint32_t>(found - rows.begin()) : kNone;
}

/// With texts: shapes, types and values as well.
Trees trees_of(const Timeline& timeline, const ThreadNames& names, bool with_texts) {
  std::map<std::string, std::vector<Event>> threads;
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    const auto thread = names.of_system.find(timeline.threads[ranges.thread[range]].tid);
    const bool is_wanted = ranges.kind[range] == RangeKind::kOperator || ranges.kind[range] == RangeKind::kAnnotation;
    if (thread == names.of_system.end() || !is_wanted) continue;
    const OperatorTable& operators = timeline.operators;
    const std::uint32_t row = row_of(timeline, range);
    std::string text(timeline.text(ranges.name[range]));
    if (row != kNone) {
      text = with_number(text, operators.sequence[row], names.of_torch.at(operators.forward_thread_id[row]));
      if (with_texts)
        for (const StringId given : {operators.shapes[row], operators.types[row], operators.values[row]})
          text += " | " + std::string(timeline.text(given));
    }
    threads[thread->second].push_back({ranges.begin_ns[range], ranges.end_ns[range], text});
  }
  return trees_of(std::move(threads));
}

void check_same(const Trees& ours, const Trees& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (const auto& [thread, lines] : ours) {
    const std::vector<std::string>& others = theirs.at(thread);
    for (std::size_t i = 0; i < std::min(lines.size(), others.size()); ++i) {
      INFO("operator " << i << " of " << thread);
      REQUIRE(lines[i] == others[i]);
    }
    CHECK(lines.size() == others.size());
  }
}

std::size_t count_of(const Trees& trees) {
  std::size_t count = 0;
  for (const auto& [thread, lines] : trees) count += lines.size();
  return count;
}

}  // namespace

TEST_CASE("operators are those of LibTorch's own profiler", "[torch]") {
  const ScratchFolder folder;
  (void)run_program(plainly);  // what is done once in a process

  Kineto profiler;
  const ThreadNames their_names = run_program([&](const auto& work) { profiler.watch(work); });
  const std::unique_ptr<kineto::ProfilerResult> result = profiler.finish();
  result->save(folder.file("kineto.json"));

  Ours recording(folder.file("ours.rfcap"));
  const ThreadNames our_names = run_program(plainly);
  const Timeline ours = recording.finish();

  CHECK(ours.health.complete());
  const Trees trees = trees_of(ours, our_names, false);
  CHECK(count_of(trees) > 500);
  check_same(trees, trees_of(*result, their_names));
  // And shapes, types and values, as it writes them.
  check_same(trees_of(ours, our_names, true), trees_of(Ours::load(folder.file("kineto.json")), their_names, true));
}

TEST_CASE("our recording and LibTorch's profiler can run at once", "[torch]") {
  const ScratchFolder folder;
  const std::string path = folder.file("ours.rfcap");
  (void)run_program(plainly);
  std::unique_ptr<kineto::ProfilerResult> theirs;
  bool ours_begins_first = false, ours_ends_first = false;
  SECTION("ours around it") { ours_begins_first = true; }
  SECTION("it around ours") { ours_ends_first = true; }
  SECTION("ours first, and first to end") { ours_begins_first = ours_ends_first = true; }
  SECTION("it first, and first to end") {}
  std::optional<Ours> recording;
  std::optional<Kineto> profiler;
  if (ours_begins_first) recording.emplace(path);
  profiler.emplace();
  if (!ours_begins_first) recording.emplace(path);
  const ThreadNames names = run_program([&](const auto& work) { profiler->watch(work); });
  if (!ours_ends_first) theirs = profiler->finish();
  const Timeline ours = recording->finish();
  if (ours_ends_first) theirs = profiler->finish();
  CHECK(ours.health.complete());
  theirs->save(folder.file("kineto.json"));
  const Trees trees = trees_of(ours, names, true);
  CHECK(count_of(trees) > 500);
  check_same(trees, trees_of(Ours::load(folder.file("kineto.json")), names, true));
}
