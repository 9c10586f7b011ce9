// SPDX-License-Identifier: MIT
#pragma once

#include "base/health_numbers.hpp"
#include "base/library.hpp"
#include "buffer/held_records.hpp"
#include "format/rows.hpp"
#include "source/cupti/callbacks.hpp"
#include "source/cupti/cupti_api.hpp"
#include "source/cupti/cupti_source.hpp"
#include "source/cupti/graph_nodes.hpp"
#include "source/source.hpp"
#include "support/catch.hpp"

#include <fake_cupti.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rangefinder::source::testing {

using namespace std::chrono_literals;
using cupti::callback_state;
using cupti::CuptiApi;
namespace health = rangefinder::health;

/// Keeps what a source delivers.
class KeepingSink final : public RowSink {
 public:
  std::vector<format::KernelRow> kernels;
  std::vector<format::MemcpyRow> copies;
  std::vector<format::MemsetRow> sets;
  std::vector<format::ApiRow> apis;
  std::vector<format::SyncRow> syncs;
  std::vector<format::OverheadRow> overheads;
  std::vector<format::AllocationRow> allocations;
  std::vector<format::JitRow> jits;
  std::vector<format::DeviceRow> devices;
  std::vector<format::ContextRow> contexts;
  std::vector<format::StreamRow> streams;
  std::vector<format::GraphNodeRow> graph_nodes;
  std::vector<format::GraphLaunchRow> graph_launches;
  std::map<std::string, std::string> facts;
  unsigned clock_samples = 0;

  format::NameId name(std::string_view text) noexcept override {
    const std::lock_guard lock(mutex_);
    if (text.empty()) return 0;
    return names_.try_emplace(std::string(text), static_cast<format::NameId>(names_.size() + 1)).first->second;
  }
  void count(std::uint32_t number, std::uint64_t n) noexcept override {
    const std::lock_guard lock(mutex_);
    counts_[number] += n;
  }
  void meta(std::string_view key, std::string_view value) noexcept override {
    const std::lock_guard lock(mutex_);
    facts[std::string(key)] = std::string(value);
  }
  void sample_clock() noexcept override {
    const std::lock_guard lock(mutex_);
    ++clock_samples;
  }

  std::uint64_t counted(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(number);
    return found != counts_.end() ? found->second : 0;
  }
  /// What was counted at all, by number.
  std::map<std::uint32_t, std::uint64_t> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  std::string text(format::NameId id) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [text, known] : names_) {
      if (known == id) return text;
    }
    return {};
  }
  std::string fact(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = facts.find(key);
    return found != facts.end() ? found->second : std::string();
  }

 protected:
  void write_rows(format::ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                  std::span<const format::Field>) noexcept override {
    const std::lock_guard lock(mutex_);
    keep(kind, rows, row_bytes, count, kernels) || keep(kind, rows, row_bytes, count, copies) ||
        keep(kind, rows, row_bytes, count, sets) || keep(kind, rows, row_bytes, count, apis) ||
        keep(kind, rows, row_bytes, count, syncs) || keep(kind, rows, row_bytes, count, overheads) ||
        keep(kind, rows, row_bytes, count, devices) || keep(kind, rows, row_bytes, count, contexts) ||
        keep(kind, rows, row_bytes, count, streams) || keep(kind, rows, row_bytes, count, graph_nodes) ||
        keep(kind, rows, row_bytes, count, graph_launches) || keep(kind, rows, row_bytes, count, allocations) ||
        keep(kind, rows, row_bytes, count, jits);
  }

 private:
  template <typename Row>
  static bool keep(format::ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                   std::vector<Row>& to) {
    if (kind != Row::kKind || row_bytes != sizeof(Row)) return false;
    const auto* first = static_cast<const Row*>(rows);
    to.insert(to.end(), first, first + count);
    return true;
  }

  mutable std::mutex mutex_;
  std::map<std::string, format::NameId> names_;
  std::map<std::uint32_t, std::uint64_t> counts_;
};

/// Launches as buffer::note_launch would be told of them.
struct NotedLaunch {
  std::uint32_t correlation;
  std::uint32_t callback;
  std::uint32_t tid;
};

class NotedLaunches {
 public:
  static void note(std::uint32_t correlation, std::uint32_t callback) noexcept {
    const std::lock_guard lock(mutex());
    all().push_back({correlation, callback, tid_of_caller()});
  }
  static std::vector<NotedLaunch> take() {
    const std::lock_guard lock(mutex());
    return std::exchange(all(), {});
  }
  static std::uint32_t tid_of_caller() noexcept { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::vector<NotedLaunch>& all() {
    static std::vector<NotedLaunch> launches;
    return launches;
  }
};

inline std::int64_t fake_realtime() noexcept { return static_cast<std::int64_t>(fakecupti_now()); }

/// NVIDIA's library, for its parser; none where it is not installed.
inline const CuptiApi* real_cupti() {
  static const auto* const found = []() -> const CuptiApi* {
    for (const char* folder : {"/lib64/", "/lib/"}) {
      auto library = base::Library::open(std::string(REAL_CUPTI_ROOT) + folder + "libcupti.so.13");
      if (!library) continue;
      auto api = cupti::bind_cupti(*library);
      if (api && !api->simulated) return new CuptiApi(*api);
    }
    return nullptr;
  }();
  return found;
}

inline CuptiApi fake_api() {
  auto library = base::Library::open(FAKE_CUPTI_PATH);
  if (!library) throw std::runtime_error(library.error().message());
  auto api = cupti::bind_cupti(*library);
  if (!api) throw std::runtime_error(api.error().message());
    // As dlsym would say of the version that the double plays.
#define FAKE_CUPTI_LACKS(function) \
  if (!fakecupti_has(#function)) api->function = nullptr;
  RANGEFINDER_CUPTI_OPTIONAL(FAKE_CUPTI_LACKS)
#undef FAKE_CUPTI_LACKS
  return *api;
}

/// The names of the parsers at hand.
inline std::vector<std::string> parsers() {
  std::vector<std::string> all{"double"};
  if (real_cupti() != nullptr) all.push_back("real");
  return all;
}

inline std::chrono::steady_clock::time_point soon() { return std::chrono::steady_clock::now() + 60s; }
inline std::chrono::steady_clock::time_point already() { return std::chrono::steady_clock::now() - 1s; }

/// A fresh process with the double in it.
class CuptiProcess {
 public:
  CuptiProcess() {
    fakecupti_reset();
    fakecupti_set_launch_latency(0);  // what lasts no time is complete at the next flush
    NotedLaunches::take();
    callback_state().fatal = false;
    callback_state().newest_correlation = 0;
    buffer::HeldRecords::instance().forget();
    cupti::graph_nodes().forget();
  }
  ~CuptiProcess() {
    fakecupti_release_hangs();
    (void)cupti_release(soon());
    callback_state().fatal = false;
    // Whatever a test does to CUPTI, its rules are kept.
    const char* misuse = fakecupti_misuse();
    if (misuse != nullptr) FAIL_CHECK("CUPTI's rules were broken: " << misuse);
    // The buffers that a test left out belong to the pool that the next one finds.
    fakecupti_fail("cuptiActivityFlushAll", CUPTI_SUCCESS);
    ::cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }

  CuptiOptions options = [] {
    CuptiOptions o;
    o.flush_period = 0ms;  // only when the test says so
    o.stop_patience = 0ms;
    o.memory_bytes = 1 << 20;
    o.buffer_bytes = 16 << 10;
    return o;
  }();
  std::string parser = "double";
  std::function<void(CuptiApi&)> change;  ///< to the table of functions

  CuptiSeams seams() const {
    CuptiSeams made;
    made.load = [parser = parser, change = change]() -> Result<CuptiApi> {
      CuptiApi api = fake_api();
      if (parser == "real") api.cuptiActivityGetNextRecord = real_cupti()->cuptiActivityGetNextRecord;
      if (change) change(api);
      return api;
    };
    made.note_launch = &NotedLaunches::note;
    made.realtime_ns = &fake_realtime;
    return made;
  }
  CuptiSource source() const { return CuptiSource(options, seams()); }
};

inline const format::ApiRow* find_api(const KeepingSink& sink, std::uint32_t correlation) {
  for (const format::ApiRow& row : sink.apis) {
    if (row.correlation == correlation) return &row;
  }
  return nullptr;
}

/// CUPTI's callback at the begin of cudaLaunchKernel, whatever the double has switched on.
inline void enter_launch(std::uint32_t correlation) {
  CUpti_CallbackData data{};
  data.callbackSite = CUPTI_API_ENTER;
  data.correlationId = correlation;
  cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
}

inline FakeKernel kernel(const char* name, std::uint64_t duration_ns = 0) {
  FakeKernel made;
  made.name = name;
  made.duration_ns = duration_ns;
  return made;
}

inline constexpr std::uint64_t kNoon = 1'760'000'000'000'000'000;  // where a manual clock starts

}  // namespace rangefinder::source::testing
