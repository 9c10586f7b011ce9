// SPDX-License-Identifier: MIT
// The doors: NVTX calls one for each copy of its headers in the process, and one for each extension in use; CUDA's
// driver the last in cuInit.
#include "injection/injection.hpp"

#include "injection/nvtx_domain.hpp"
#include "injection/nvtx_functions.hpp"
#include "injection/settings.hpp"

#include <rangefinder/detail/nvtx.hpp>
#include <rangefinder/session.hpp>

#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <new>

namespace rangefinder::injection {
namespace {

// Never deleted: it stops at exit, as every session that is alive then. One that the program has started itself goes on
// in its place, and NVTX is recorded there.
struct Recording {
  const int pid = ::getpid();
  std::mutex stepping;
  Session session;
};
std::atomic<Recording*> recording{nullptr};

}  // namespace

bool start() noexcept {
  if (::getauxval(AT_SECURE) != 0) return false;
  // Each time: whoever comes second may be through before the first has begun.
  read_step_range();
  Domain::unnamed().set_recorded(records_domain({}));
  // Not a lock: starting CUPTI may call cuInit, and with it this function, on the same thread.
  static std::atomic<bool> started{false};
  if (!started.exchange(true)) recording.store(new (std::nothrow) Recording);
  return true;
}

void end_step() noexcept {
  Recording* const now = recording.load();
  if (now == nullptr || now->pid != ::getpid()) return;  // a child of fork may find the mutex taken for good
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
  rangefinder::injection::start();
  rangefinder::detail::cuda_has_come();  // where NVTX came first, the session has started without CUDA
  return 1;
}

}  // extern "C"
