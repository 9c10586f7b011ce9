// SPDX-License-Identifier: MIT
#include "session/ready_calls.hpp"

#include "base/forced_unwind.hpp"
#include "base/signals_blocked.hpp"
#include "session/options.hpp"

#include <pthread.h>

#include <exception>
#include <string_view>
#include <utility>

namespace rangefinder::session {

void ReadyCalls::start() {
  const base::SignalsBlocked blocked;
  ended_ = false;
  try {
    // The thread keeps this alive: a call that does not end is left behind.
    thread_ = std::thread([self = shared_from_this()] { self->run(); });
  } catch (...) {
    ended_ = true;
    throw;
  }
  ::pthread_setname_np(thread_.native_handle(), "rf-ready");
}

void ReadyCalls::add(CaptureReady ready) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(ready));
  }
  changed_.notify_all();
}

RANGEFINDER_THREAD_MAY_END void ReadyCalls::call(const CaptureReady& ready) {
  const auto failed = [&](std::string_view why) {
    failed_.fetch_add(1, std::memory_order_relaxed);
    log(LogLevel::kError, {"on_capture_ready threw for ", ready.path, ": ", why});
  };
  try {
    callback_(ready);
  } catch (const abi::__forced_unwind&) {  // not to be stopped
    throw;
  } catch (const std::exception& error) {
    failed(error.what());
  } catch (...) {
    failed("no std::exception");
  }
}

// Not noexcept, nor is what it calls: a callback may end the thread.
void ReadyCalls::run() {
  struct Ends {
    ReadyCalls& calls;
    ~Ends() {
      const std::lock_guard lock(calls.mutex_);
      calls.ended_ = true;
      calls.changed_.notify_all();
    }
  } const ends{*this};
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) break;
    const CaptureReady ready = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    call(ready);
    lock.lock();
  }
}

std::size_t ReadyCalls::finish(std::chrono::steady_clock::time_point deadline) noexcept {
  if (!thread_.joinable()) return 0;
  bool ended = false;
  std::size_t not_made = 0;
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    // The callback itself may have ended the session: it cannot be waited for.
    if (thread_.get_id() != std::this_thread::get_id()) {
      ended = changed_.wait_until(lock, deadline, [&] { return ended_; });
      not_made = waiting_.size();
      waiting_.clear();  // whoever is called may be gone from now on
    }
  }
  ended ? thread_.join() : thread_.detach();
  return not_made;
}

}  // namespace rangefinder::session
