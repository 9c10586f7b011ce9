// SPDX-License-Identifier: MIT
#include "importer/capture/capture_loader.hpp"

#include "timeline/engine_threads.hpp"

#include <string>
#include <utility>

namespace rangefinder::importer {
namespace {

// Ids of names below this are found by index. The recorder gives out no others; a file may.
constexpr std::uint32_t kIndexedNames = 1u << 20;
// A damaged file may name any thread; beyond this it is not worth a table. The assembler has the same bound.
constexpr std::uint32_t kMaxThreads = 1u << 20;

}  // namespace

StringId CaptureLoader::find_name(std::uint32_t id) {
  if (id != 0 && !facts_.has_name(id)) ++out_.health.lost_names;
  return out_.intern(facts_.name_or_placeholder(id));
}

StringId CaptureLoader::name(std::uint32_t id) {
  if (id >= kIndexedNames) {
    const auto [found, added] = far_names_.try_emplace(id, StringId::kEmpty);
    if (added) found->second = find_name(id);
    return found->second;
  }
  if (id >= names_.size()) {
    names_.resize(id + 1, StringId::kEmpty);
    names_known_.resize(id + 1, false);
  }
  if (!names_known_[id]) {
    names_known_[id] = true;
    names_[id] = find_name(id);
  }
  return names_[id];
}

void CaptureLoader::add_thread(const format::ThreadRow& row) {
  if (row.index >= kMaxThreads) return;
  const ThreadIndex index = thread_of(row.index);
  // The system gives a number again when its thread has ended: the last thread of that number is the one that counts.
  threads_by_tid_[row.tid] = index;
  std::string text(facts_.name(row.name));
  const bool is_engine = timeline::is_engine_thread(text);
  out_.threads[index] = {process_, row.tid, std::move(text), {}, is_engine};
}

ThreadIndex CaptureLoader::thread_of_tid(std::uint32_t tid) {
  if (last_tid_ != nullptr && last_tid_->first == tid) return last_tid_->second;
  const auto [found, added] = threads_by_tid_.try_emplace(tid, static_cast<ThreadIndex>(out_.threads.size()));
  if (added) out_.threads.push_back({process_, tid, {}});
  last_tid_ = &*found;
  return found->second;
}

ThreadIndex CaptureLoader::thread_of(std::uint32_t index) {
  if (index < threads_.size() && threads_[index] != kNone) return threads_[index];
  // No thread row: damage. Its number is all that is known.
  if (index >= threads_.size()) threads_.resize(index + 1, kNone);
  threads_[index] = static_cast<ThreadIndex>(out_.threads.size());
  out_.threads.push_back({process_, 0, "thread #" + std::to_string(index)});
  return threads_[index];
}

}  // namespace rangefinder::importer
