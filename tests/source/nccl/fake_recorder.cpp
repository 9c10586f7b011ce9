// SPDX-License-Identifier: MIT
#include "fake_recorder.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

namespace rangefinder::testing {
namespace {

std::atomic<FakeRecorder*> current{nullptr};
std::atomic<std::uint32_t> last_handle{0};
std::atomic<std::uint32_t> forgotten{0};

struct Groups {
  std::mutex mutex;
  std::map<std::string, std::uint32_t> numbers;
  std::vector<RecordedGroup> all;
};
Groups& groups() {
  static Groups all;
  return all;
}

}  // namespace

int RecordedCollective::count(detail::CollectivePhase phase) const {
  return static_cast<int>(
      std::count_if(phases.begin(), phases.end(), [&](const NotedPhase& noted) { return noted.phase == phase; }));
}

FakeRecorder::FakeRecorder() : first_handle_(last_handle.load() + 1) {
  FakeRecorder* none = nullptr;
  if (!current.compare_exchange_strong(none, this)) throw std::logic_error("two recordings at once");
}
FakeRecorder::~FakeRecorder() { current.store(nullptr); }

std::vector<RecordedCollective> FakeRecorder::collectives() const {
  const std::lock_guard lock(mutex_);
  return collectives_;
}

RecordedGroup FakeRecorder::group(std::uint32_t number) const {
  const std::lock_guard lock(groups().mutex);
  return groups().all.at(number - 1);
}

std::uint64_t FakeRecorder::foreign_notes() const {
  const std::lock_guard lock(mutex_);
  return foreign_notes_;
}

std::uint64_t FakeRecorder::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void FakeRecorder::pause(bool paused) {
  const std::lock_guard lock(mutex_);
  is_paused_ = paused;
}
void FakeRecorder::forget(bool forgetting) {
  const std::lock_guard lock(mutex_);
  is_forgetting_ = forgetting;
}

std::uint32_t FakeRecorder::begin(const detail::CollectiveCall& call) {
  const std::lock_guard lock(mutex_);
  if (is_paused_) return 0;
  if (is_forgetting_) return 0x80000000u + forgotten.fetch_add(1);
  collectives_.push_back({call.kind,
                          call.source,
                          std::string(call.name),
                          std::string(call.dtype),
                          std::string(call.algorithm),
                          std::string(call.protocol),
                          call.group,
                          call.number,
                          call.elements_in,
                          call.elements_out,
                          call.peer,
                          call.channels,
                          std::this_thread::get_id(),
                          {}});
  last_handle.store(first_handle_ + static_cast<std::uint32_t>(collectives_.size()) - 1);
  return last_handle.load();
}

void FakeRecorder::note(std::uint32_t handle, detail::CollectivePhase phase) {
  const std::lock_guard lock(mutex_);
  if (is_paused_ || is_forgetting_ || handle == 0) return;
  if (handle < first_handle_ || handle >= first_handle_ + collectives_.size()) {
    ++foreign_notes_;
    return;
  }
  collectives_[handle - first_handle_].phases.push_back({phase, std::this_thread::get_id()});
}

void FakeRecorder::lose() {
  const std::lock_guard lock(mutex_);
  if (!is_paused_) ++lost_;
}

}  // namespace rangefinder::testing

// They stand before those of librangefinder.so, which the plugin links.
namespace rangefinder::detail {

std::uint32_t collective_group(const CollectiveGroup& group) noexcept {
  testing::Groups& groups = testing::groups();
  const std::lock_guard lock(groups.mutex);
  const std::string key = std::string(group.name) + '\n' + std::string(group.description) + '\n' +
                          std::to_string(group.size) + '\n' + std::to_string(group.rank);
  const auto [found, is_new] = groups.numbers.try_emplace(key, static_cast<std::uint32_t>(groups.numbers.size() + 1));
  if (is_new) groups.all.push_back({std::string(group.name), std::string(group.description), group.size, group.rank});
  return found->second;
}

std::uint32_t begin_collective(const CollectiveCall& call) noexcept {
  testing::FakeRecorder* const recorder = testing::current.load();
  return recorder != nullptr ? recorder->begin(call) : 0;
}

void note_collective(std::uint32_t handle, CollectivePhase phase) noexcept {
  if (testing::FakeRecorder* const recorder = testing::current.load(); recorder != nullptr)
    recorder->note(handle, phase);
}

void count_lost_collective() noexcept {
  if (testing::FakeRecorder* const recorder = testing::current.load(); recorder != nullptr) recorder->lose();
}

}  // namespace rangefinder::detail
