// SPDX-License-Identifier: MIT
#include "session/output_name.hpp"

#include "base/file_mark.hpp"
#include "base/process_age.hpp"
#include "format/chunk.hpp"
#include "session/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

namespace rangefinder::session {
namespace {

using base::FileKind;
using base::FileMark;
using base::Verdict;

static_assert(offsetof(format::FileHeader, capture_id) == base::kCaptureIdAt);
static_assert(offsetof(format::LiveHeader, capture_id) == base::kCaptureIdAt);
static_assert(offsetof(format::FileHeader, record_id) == base::kRecordIdAt);
static_assert(offsetof(format::LiveHeader, file_header) + base::kRecordIdAt == base::kLiveRecordIdAt);

constexpr unsigned kMaxNumbers = 1000;  // of a process

// ---- which files are of this run --------------------------------------------------------------------------------

/// Captures that this process has made, the newest of them: it may replace these. No lock: a child of fork may find it
/// taken.
class OwnCaptures {
 public:
  void add(const format::CaptureId& id) noexcept {
    if (pid_.exchange(::getpid()) != ::getpid()) {
      for (std::atomic<std::uint64_t>& own : ids_) own.store(0);  // the parent's
    }
    ids_[next_.fetch_add(1) % kMax].store(key_of(id));
  }
  bool has(const format::CaptureId& id) const noexcept {
    if (pid_.load() != ::getpid()) return false;
    return std::any_of(std::begin(ids_), std::end(ids_), [&](const auto& own) { return own.load() == key_of(id); });
  }

 private:
  static std::uint64_t key_of(const format::CaptureId& id) noexcept {
    std::uint64_t key = 0;
    std::memcpy(&key, id.data(), sizeof key);
    return key;
  }

  static constexpr std::size_t kMax = 256;
  std::atomic<int> pid_{0};
  std::atomic<std::uint64_t> ids_[kMax]{};
  std::atomic<std::size_t> next_{0};
};
constinit OwnCaptures own_captures;

/// Whether another process has written it since this one began. `made` was made a moment ago, and tells how late it is
/// by the clock of the file system, which may be another machine's.
bool is_of_this_run(const base::Fd& old, const FileMark& mark, const base::Fd& made) {
  constexpr std::int64_t kGrain = 20'000'000;  // to which the times of files and processes are exact
  if (mark.kind == FileKind::kEmpty || own_captures.has(mark.capture_id)) return false;
  const std::int64_t age = base::process_age_ns();
  return age >= 0 && base::written_ns(old) > base::written_ns(made) - age + kGrain;
}

/// Of a capture, or a live file.
Verdict judge(const base::Fd& old, const FileMark& mark, const base::Fd& made, const OutputRules& rules, bool asked) {
  if (rules.record) {
    // Of a name that was asked for any capture goes; of one that we have numbered, only what a record left.
    const bool is_earlier = base::written_ns(old) <= rules.record->began_ns && mark.record_id != rules.record->id;
    return is_earlier && (asked || mark.record_id != 0) ? Verdict::kReplace : Verdict::kTaken;
  }
  if (!rules.replace) return Verdict::kForeign;
  return is_of_this_run(old, mark, made) ? Verdict::kTaken : Verdict::kReplace;
}

// ---- names ------------------------------------------------------------------------------------------------------

Error foreign(const std::string& path, const char* what) {
  return Error(ErrorCode::kExists,
               path + ": is not a " + what + " and is not replaced; choose another output, or remove it");
}

/// Gives it a capture's name.
Status claim(base::TemporaryFile& made, const std::string& path, const OutputRules& rules, bool asked) {
  bool is_capture = true;
  Status status = made.claim_name(path, [&](const base::Fd& old) {
    const FileMark mark = base::mark_of_file(old);
    is_capture = mark.kind == FileKind::kCapture || mark.kind == FileKind::kEmpty;
    return is_capture ? judge(old, mark, made.fd(), rules, asked) : Verdict::kForeign;
  });
  return is_capture ? std::move(status) : Status(foreign(path, "capture"));
}

/// Whether a capture beside it may have that live file, which is made later.
Status look_at_live(const std::string& path, const base::Fd& made, const OutputRules& rules, bool asked) {
  const base::Fd old = base::open_to_lock(path);
  if (!old.valid() && errno == ENOENT) return {};
  if (old.valid() && !base::lock_file(old)) return Error(ErrorCode::kBusy, path + ": another process records to it");
  const FileMark mark = base::mark_of_file(old);
  if (mark.kind != FileKind::kLive && mark.kind != FileKind::kEmpty) return foreign(path, "live file of a capture");
  switch (judge(old, mark, made, rules, asked)) {
    case Verdict::kReplace:
      return {};
    case Verdict::kTaken:
      return Error(ErrorCode::kBusy, path + ": belongs to another recording");
    case Verdict::kForeign:
      break;
  }
  return Error(ErrorCode::kExists, path + ": is what a program that died left behind; repair or remove it first");
}

/// Where the program that `record` has started is to have the name, whichever of its processes comes first.
bool may_have_asked(const OutputRules& rules) noexcept {
  return !rules.record || rules.names_process || rules.record->program == 0 || rules.record->program == ::getpid();
}

}  // namespace

std::optional<base::RecordId> record_of_environment() noexcept {
  const char* const output = environment("RANGEFINDER_RECORD");
  if (output == nullptr || output[0] == '\0') return std::nullopt;
  const char* const id = environment(base::kRecordIdVariable);
  return base::record_id_of_text(id != nullptr ? id : "");
}

void OutputFile::let_go() noexcept {
  if (fd_.valid()) base::unlock_file(fd_);  // a child of fork may hold the file open for longer
}

Result<std::shared_ptr<OutputFile>> claim_output(const std::string& asked, const OutputRules& rules,
                                                 const format::FileHeader& header, FirstBytes first) {
  Result<base::TemporaryFile> made = base::TemporaryFile::create(asked);
  if (!made) return std::move(made).error();
  const format::FileHeader sealed = format::sealed(header);
  if (first == FirstBytes::kHeader) {
    const Status status = base::write_at(made->fd(), std::as_bytes(std::span(&sealed, 1)), 0, asked);
    if (!status.ok()) return status.error();
  }
  const std::string of_process = with_number(asked, static_cast<std::uint64_t>(::getpid()));
  for (unsigned i = may_have_asked(rules) ? 0 : 1; i < kMaxNumbers; ++i) {
    const std::string path = i == 0 ? asked : i == 1 ? of_process : with_number(of_process, i);
    Status status = rules.has_live ? look_at_live(path + ".live", made->fd(), rules, i == 0) : Status();
    if (status.ok()) status = claim(*made, path, rules, i == 0);
    if (status.ok()) {
      own_captures.add(header.capture_id);
      return std::make_shared<OutputFile>(path, made->release());
    }
    const ErrorCode code = status.error().code();
    if (code != ErrorCode::kBusy && (i == 0 || code != ErrorCode::kExists)) return std::move(status).error();
  }
  return Error(ErrorCode::kBusy,
               asked + ": this name and all names numbered after this process are taken; choose another output");
}

Status claim_dump(base::TemporaryFile& dump, const std::string& path, const OutputRules& rules) {
  OutputRules plain = rules;
  plain.record.reset();
  return claim(dump, path, plain, true);
}

Result<std::string> claim_next_dump(base::TemporaryFile& dump, const std::string& output, const OutputRules& rules,
                                    std::atomic<std::uint64_t>& next) {
  for (unsigned i = 0; i < kMaxNumbers; ++i) {
    std::string path = with_number(output, next.fetch_add(1));
    const Status status = claim(dump, path, rules, false);
    if (status.ok()) return path;
    if (status.error().code() != ErrorCode::kBusy && status.error().code() != ErrorCode::kExists) return status.error();
  }
  return Error(ErrorCode::kBusy, output + ": " + std::to_string(kMaxNumbers) + " names of dumps are taken");
}

}  // namespace rangefinder::session
