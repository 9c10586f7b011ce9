// SPDX-License-Identifier: MIT
#pragma once

#include "base/library.hpp"
#include "fake_cupti.h"
#include "format/rows.hpp"
#include "source/counters/profiler_api.hpp"
#include "source/source.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::source::testing {

using counters::ProfilerApi;

/// Keeps what a source writes.
class CounterSink final : public RowSink {
 public:
  std::vector<format::RangeMetricRow> ranges;
  std::vector<format::MetricSampleRow> samples;
  std::map<std::string, std::string> facts;

  format::NameId name(std::string_view text) noexcept override {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == text) return static_cast<format::NameId>(i + 1);
    }
    names_.emplace_back(text);
    return static_cast<format::NameId>(names_.size());
  }
  void count(std::uint32_t number, std::uint64_t n) noexcept override {
    const std::lock_guard lock(mutex_);
    counts_[number] += n;
  }
  void meta(std::string_view key, std::string_view value) noexcept override {
    const std::lock_guard lock(mutex_);
    facts[std::string(key)] = value;
  }
  void sample_clock() noexcept override {}

  std::uint64_t counted(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(number);
    return found == counts_.end() ? 0 : found->second;
  }
  std::string text(format::NameId id) const { return id == 0 ? std::string() : names_[id - 1]; }

 protected:
  void write_rows(format::ChunkKind kind, const void* rows, std::size_t, std::size_t count,
                  std::span<const format::Field>) noexcept override {
    const std::lock_guard lock(mutex_);
    if (kind == format::RangeMetricRow::kKind) {
      const auto* first = static_cast<const format::RangeMetricRow*>(rows);
      ranges.insert(ranges.end(), first, first + count);
    } else if (kind == format::MetricSampleRow::kKind) {
      const auto* first = static_cast<const format::MetricSampleRow*>(rows);
      samples.insert(samples.end(), first, first + count);
    }
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::map<std::uint32_t, std::uint64_t> counts_;
};

inline std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

inline ProfilerApi fake_profiler() {
  Result<base::Library> library = base::Library::open(FAKE_CUPTI_PATH);
  if (!library) throw std::runtime_error(library.error().message());
  return counters::bind_profiler(*library, &*library);
}

/// A fresh process with the double in it, on a clock that stands still. The test's thread has context 1.
class ProfiledProcess {
 public:
  static constexpr std::uint64_t kNoon = 1'760'000'000'000'000'000;

  ProfiledProcess() {
    fakecupti_reset();
    fakecupti_set_manual_clock(kNoon);
    fakecupti_set_current_context(1);
  }
  ~ProfiledProcess() {
    fakecupti_release_hangs();
    fakecupti_set_current_context(0);
    if (const char* misuse = fakecupti_misuse()) FAIL_CHECK("CUPTI's rules were broken: " << misuse);
    CHECK(fakecupti_profilers_open() == 0);
  }
  ProfiledProcess(const ProfiledProcess&) = delete;
  ProfiledProcess& operator=(const ProfiledProcess&) = delete;

  std::function<void(ProfilerApi&)> change;  ///< to the table of functions
  std::function<Result<ProfilerApi>()> load() const {
    return [change = change]() -> Result<ProfilerApi> {
      ProfilerApi api = fake_profiler();
      if (change) change(api);
      return api;
    };
  }
};

/// What CUPTI answers, and what a person is told.
struct DocumentedError {
  int code;
  const char* text;
};
inline constexpr DocumentedError kDocumentedErrors[] = {
    {26, "another tool holds the counters: `dcgmi profile --pause` frees them from DCGM"},
    {27, "this device, or this CUPTI, cannot do it"},
    {35, "run with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"},
    {38, "this CUPTI no longer has it"},
    {41, "not possible in confidential computing mode"},
    {43, "not possible on a MIG instance"},
    {45, "not possible under WSL with this driver"},
    {46, "CUPTI does not know this chip"},
};

}  // namespace rangefinder::source::testing
