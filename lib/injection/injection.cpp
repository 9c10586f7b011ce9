// SPDX-License-Identifier: MIT
// The doors: NVTX calls one for each copy of its headers in the process, and one for each extension in use; CUDA's
// driver another one in cuInit; the Python package the last, when it is imported.
#include "injection/injection.hpp"

#include "injection/nvtx_domain.hpp"
#include "injection/nvtx_functions.hpp"
#include "injection/settings.hpp"

#include <rangefinder/detail/nvtx.hpp>
#include <rangefinder/session.hpp>

#include <pthread.h>
#include <sys/auxv.h>

#include <atomic>
#include <mutex>
#include <new>

namespace rangefinder::injection {
namespace {

// Never deleted: it stops at exit, as every session that is alive then. One that the program has started itself goes on
// in its place, and NVTX is recorded there.
struct Recording {
  std::mutex stepping;
  Session session;
};
std::atomic<Recording*> recording{nullptr};
// Not a lock: starting CUPTI may call cuInit, and with it `start`, on the same thread.
std::atomic<bool> started{false};
std::atomic<int> beginning{0};  // threads at what a child that is forked meanwhile finds half done, for good

class Beginning {
 public:
  Beginning() noexcept { beginning.fetch_add(1); }
  ~Beginning() { beginning.fetch_sub(1); }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
};

// As the library is loaded: before there is anything to inherit.
[[maybe_unused]] const int watches_forks = ::pthread_atfork(nullptr, nullptr, [] {
  // The parent's goes on there; here its mutex may be taken for good.
  if (recording.exchange(nullptr) != nullptr) is_new_child.store(true);
  if (beginning.exchange(0) != 0) is_new_child.store(false);
});

}  // namespace

std::atomic<bool> is_new_child{false};

bool start() noexcept {
  if (::getauxval(AT_SECURE) != 0) return false;
  // Each time: whoever comes second may be through before the first has begun.
  read_step_range();
  Domain::unnamed().set_recorded(records_domain({}));
  const Beginning now;
  const bool in_child = is_new_child.exchange(false);
  if (in_child ? detail::child_can_record() : !started.exchange(true)) recording.store(new (std::nothrow) Recording);
  return true;
}

void look_for_cuda() noexcept {
  const Beginning now;
  detail::cuda_has_come();
}

void end_step() noexcept {
  Recording* const now = recording.load();
  if (now == nullptr) return;
  const std::lock_guard lock(now->stepping);
  now->session.step();
}

}  // namespace rangefinder::injection

extern "C" {

[[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) noexcept {
  namespace injection = rangefinder::injection;
  return injection::start() && injection::install(get_export_table) ? 1 : 0;
}

[[gnu::visibility("default")]] int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) noexcept {
  namespace injection = rangefinder::injection;
  return injection::start() && injection::install_extension(module) ? 1 : 0;
}

[[gnu::visibility("default")]] int InitializeInjection() noexcept {
  rangefinder::detail::cuda_is_initializing(true);
  rangefinder::injection::start();
  rangefinder::injection::look_for_cuda();  // where NVTX came first, the session has started without CUDA
  rangefinder::detail::cuda_is_initializing(false);
  return 1;
}

/// For a program whose only ranges are made with rangefinder: it may call neither NVTX nor CUDA.
[[gnu::visibility("default")]] int rf_injection_start() noexcept { return rangefinder::injection::start() ? 1 : 0; }

}  // extern "C"
