// SPDX-License-Identifier: MIT
#pragma once

#include "buffer/name_table.hpp"
#include "buffer/recorder.hpp"
#include "support/catch.hpp"

#include <rangefinder/detail/autograd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::buffer::testing {

/// Keeps what is drained, thread by thread, and sees that nothing is missing or comes twice.
class KeepingSink final : public HostSink {
 public:
  std::map<std::uint32_t, std::vector<detail::Record>> records;
  std::map<std::uint32_t, std::string> names;
  bool accept = true;

  bool on_records(const Thread& thread, const format::HostRun& run,
                  std::span<const detail::Record> found) noexcept override {
    if (!accept) return false;
    CHECK(run.thread == thread.index);
    CHECK(run.tid == thread.tid);
    CHECK_FALSE(found.empty());
    auto& [sequence, next] = position_[thread.index];
    if (run.block_sequence != sequence) {
      CHECK(run.block_sequence == sequence + 1);
      CHECK(run.first_record == 0);
    } else {
      CHECK(run.first_record == next);
    }
    sequence = run.block_sequence;
    next = run.first_record + static_cast<std::uint32_t>(found.size());
    names[thread.index] = thread.name;
    auto& all = records[thread.index];
    all.insert(all.end(), found.begin(), found.end());
    return true;
  }

 private:
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint32_t>> position_;
};

/// A recording without a session: nothing is drained unless the test says so.
class BareRecording {
 public:
  explicit BareRecording(clock::Clock* clock = nullptr, Overflow overflow = Overflow::kDrop) {
    RecorderOptions options;
    options.arena.memory_bytes = std::uint64_t{4} << 20;
    options.overflow = overflow;
    options.clock = clock;
    const Status status = Recorder::instance().start(options);
    REQUIRE(status.ok());
    Recorder::instance().set_recording(true);
  }
  ~BareRecording() { Recorder::instance().finish(true); }
  BareRecording(const BareRecording&) = delete;
  BareRecording& operator=(const BareRecording&) = delete;
  Recorder* operator->() { return &Recorder::instance(); }
};

inline std::string text_of(const detail::Record& record) {
  const std::string name(names().text(detail::word_id(record.word)));
  switch (detail::word_kind(record.word)) {
    case detail::RecordKind::kBegin:
      return "begin " + name + ((detail::word_aux(record.word) & detail::kHasNotedNumber) != 0 ? " with number" : "");
    case detail::RecordKind::kEnd:
      return "end " + name + ((detail::word_aux(record.word) & detail::kTookOneNumber) != 0 ? " after one number" : "");
    case detail::RecordKind::kMark:
      return "mark " + name;
    case detail::RecordKind::kCounter:
      return "counter " + name;
    case detail::RecordKind::kAsyncBegin:
      return "start " + name;
    case detail::RecordKind::kAsyncEnd:
      return "finish";
    case detail::RecordKind::kLaunch:
      return "launch " + std::to_string(detail::word_id(record.word)) + " by " +
             std::to_string(detail::word_aux(record.word));
    case detail::RecordKind::kMemory:
      return "memory " + std::to_string(detail::word_aux(record.word)) + " of " +
             std::to_string(static_cast<std::int32_t>(detail::word_id(record.word)));
    case detail::RecordKind::kHostBlock:
      return (record.word >> detail::kHostFreedBit & 1) != 0 ? "host block freed" : "host block allocated";
    case detail::RecordKind::kHostBlockFact:
      return (detail::word_aux(record.word) == detail::kHostSizes ? "host total " : "host size ") +
             std::to_string(record.ticks);
    case detail::RecordKind::kStep:
      return "step " + std::to_string(detail::word_id(record.word));
    case detail::RecordKind::kSequence:
      return "number " + std::to_string(record.ticks) + (detail::word_id(record.word) != 0 ? ", unknown before" : "");
    case detail::RecordKind::kOperator:
      return "operator " + std::to_string(static_cast<std::int64_t>(record.ticks)) + " of " +
             std::to_string(detail::word_aux(record.word));
    case detail::RecordKind::kExtra:
      return "value of kind " + std::to_string(detail::word_aux(record.word));
    default:
      return "kind " + std::to_string(static_cast<int>(detail::word_kind(record.word)));
  }
}

inline std::vector<std::string> texts_of(const std::vector<detail::Record>& records) {
  std::vector<std::string> texts;
  for (const detail::Record& record : records) texts.push_back(text_of(record));
  return texts;
}

using Texts = std::vector<std::string>;

/// While it lives, the recorder knows of the numbers of an autograd that is made up: a counter a thread.
class Numbers {
 public:
  explicit Numbers(bool known = true) {
    next() = 0;
    if (known) tell();
  }
  ~Numbers() { detail::set_autograd_hooks(nullptr); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  static void tell() {
    static constexpr detail::AutogradHooks kHooks{[] { return next(); }, [] { return std::uint64_t{1}; }};
    detail::set_autograd_hooks(&kHooks);
  }
  /// As a node that is made does.
  static void take() { ++next(); }

 private:
  static std::uint64_t& next() {
    static thread_local std::uint64_t number = 0;
    return number;
  }
};

}  // namespace rangefinder::buffer::testing
