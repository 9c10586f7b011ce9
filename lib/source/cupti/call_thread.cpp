// SPDX-License-Identifier: MIT
#include "source/cupti/call_thread.hpp"

#include "base/signals_blocked.hpp"
#include "source/cupti/callbacks.hpp"

#include <pthread.h>

#include <exception>
#include <utility>

namespace rangefinder::source::cupti {

CallThread::Ticket CallThread::post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable() && ended_) thread_.join();  // at once: it has nothing left to do
  if (!thread_.joinable()) {
    ended_ = false;
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "rf-cupti-calls");
  }
  if (std::exchange(ending_, false)) done_.notify_all();
  tasks_.push_back(std::move(task));
  wake_.notify_one();
  return ++posted_;
}

bool CallThread::wait(Ticket ticket, Time deadline) {
  std::unique_lock lock(mutex_);
  return done_.wait_until(lock, deadline, [&] { return done_tickets_ >= ticket; });
}

bool CallThread::finished(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  return done_tickets_ >= ticket;
}

std::uint64_t CallThread::take_failed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failed_, 0);
}

std::chrono::nanoseconds CallThread::busy_for() const {
  const std::lock_guard lock(mutex_);
  return begun_ == done_tickets_ ? std::chrono::nanoseconds(0) : std::chrono::steady_clock::now() - begun_at_;
}

CallThread::Ticket CallThread::oldest_unfinished() const {
  const std::lock_guard lock(mutex_);
  return done_tickets_ + 1;
}

bool CallThread::end(Time deadline) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return true;
  ending_ = true;
  wake_.notify_one();
  // A task that is posted meanwhile keeps the thread.
  if (!done_.wait_until(lock, deadline, [&] { return ended_ || !ending_; }) || !ended_) return false;
  thread_.join();
  return true;
}

void CallThread::run() {
  ignore_callbacks_of_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) break;  // what was posted is done first
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    ++begun_;
    begun_at_ = std::chrono::steady_clock::now();
    lock.unlock();
    bool failed = false;
    try {
      task();
    } catch (const std::exception&) {
      failed = true;
    }
    lock.lock();
    if (failed) ++failed_;
    ++done_tickets_;
    done_.notify_all();
  }
  ended_ = true;
  done_.notify_all();
}

}  // namespace rangefinder::source::cupti
