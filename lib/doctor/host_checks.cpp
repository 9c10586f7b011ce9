// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/library.hpp"
#include "base/other_tools.hpp"
#include "base/text.hpp"
#include "clock/clock.hpp"
#include "doctor/checks.hpp"
#if RANGEFINDER_RECORDING
#include "source/perf/cpu_counters.hpp"
#endif

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace rangefinder::doctor {
namespace {

/// The folder of librangefinder.so. By the address of a function of this room: of those of base the command has a copy,
/// which takes precedence.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? "." : file.parent_path().string();
}

}  // namespace

void check_cpu_counters(Findings& findings) {
#if RANGEFINDER_RECORDING
  source::CpuCounters counters = source::cpu_counters();
  const bool full = counters.state == "full";
  findings.push_back({"CPU counters", full ? State::kGood : State::kNote,
                      full ? "instructions, cycles, cache and branch misses, page faults" : std::move(counters.state),
                      std::move(counters.fix)});
#else
  (void)findings;
#endif
}

void check_torch(Findings& findings) {
  const Result<base::Library> loaded_torch = base::Library::open("libtorch_cpu.so", true);
  const std::string torch = loaded_torch.ok() ? "; LibTorch is loaded from " + loaded_torch->path() : "";
  const std::string component = own_folder() + "/librangefinder_torch.so";
  if (base::exists(component)) {
    findings.push_back({"LibTorch", State::kGood, "component torch is installed: " + component + torch, {}});
  } else {
    findings.push_back(
        {"LibTorch", State::kNote,
         "component torch is not installed (no " + component + "): operators and autograd are not recorded" + torch,
         "build with -DRANGEFINDER_TORCH=ON and -DRANGEFINDER_TORCH_DIR=<site-packages>/torch"});
  }
}

void check_nccl(Findings& findings) {
#if RANGEFINDER_RECORDING
  const std::string variable = base::kNcclVariable;
  const std::string plugin = own_folder() + "/" + std::string(base::kNcclPluginFile);
  const char* const value = std::getenv(base::kNcclVariable);
  const std::string chosen = value != nullptr ? value : "";
  if (!base::exists(plugin)) {
    findings.push_back(
        {"NCCL", State::kNote,
         "the profiler plugin is not installed (no " + plugin + "): what NCCL is called for is not recorded",
         "install the whole library: the plugin belongs beside librangefinder.so"});
  } else if (!chosen.empty() && !base::is_own_nccl_plugin(chosen)) {
    findings.push_back({"NCCL", State::kNote,
                        variable + "=" + chosen + ": NCCL tells that plugin of its collectives, and not rangefinder's",
                        "unset " + variable + ": `rangefinder record` sets it"});
  } else {
    findings.push_back({"NCCL",
                        State::kGood,
                        "collectives are recorded by `rangefinder record`, or with " + variable + "=" + plugin,
                        {}});
  }
#else
  (void)findings;
#endif
}

void check_clock(Findings& findings) {
  clock::Clock& clock = clock::system_clock();
  if (!clock.inline_ticks()) {
    findings.push_back({"clock", State::kNote,
                        "no invariant time-stamp counter: ranges read CLOCK_MONOTONIC, twice as slow",
                        "on a virtual machine, let the host pass the invariant TSC through"});
    return;
  }
  const clock::ClockPoint point = clock.sample();
  const std::string mhz = base::with_thousands(clock.ticks_per_second() / 1'000'000);
  findings.push_back(
      {"clock",
       State::kGood,
       "invariant counter at " + mhz + " MHz; clocks read within " + std::to_string(point.width_ns) + " ns",
       {}});
}

void check_folder(Findings& findings, const std::string& folder) {
  const std::string path = folder + "/.rangefinder-doctor-" + std::to_string(::getpid());
  base::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    findings.push_back({"folder", State::kMissing, base::system_error("create a file in", folder, errno).message(),
                        "record into another folder: RANGEFINDER_CONFIG=output=/path/%p.rfcap"});
    return;
  }
  ::unlink(path.c_str());
  constexpr std::size_t kBytes = 1 << 20;
  const bool reserved = ::fallocate(fd.get(), 0, 0, kBytes) == 0;
  void* mapped = ::ftruncate(fd.get(), kBytes) == 0
                     ? ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0)
                     : MAP_FAILED;
  struct statvfs space {};
  const std::uint64_t free_bytes =
      ::fstatvfs(fd.get(), &space) == 0 ? std::uint64_t{space.f_bavail} * space.f_frsize : 0;
  const std::string free_text = base::with_thousands(free_bytes >> 20) + " MiB free";
  if (mapped == MAP_FAILED) {
    findings.push_back({"folder", State::kNote, folder + ": files cannot be mapped here; " + free_text,
                        "recording falls back to mode=buffered: a crash loses the last records"});
    return;
  }
  ::munmap(mapped, kBytes);
  if (!reserved) {
    findings.push_back({"folder", State::kNote, folder + ": space cannot be reserved ahead; " + free_text,
                        "sessions start slower here; use a local file system"});
  } else if (free_bytes < std::uint64_t{256} << 20) {
    findings.push_back({"folder", State::kNote, folder + ": only " + free_text,
                        "a session reserves 64 MiB and the capture grows from there"});
  } else {
    findings.push_back({"folder", State::kGood, folder + ": mapped files work, " + free_text, {}});
  }
}

void check_environment(Findings& findings) {
  const auto value = [](const char* name) -> std::string {
    const char* text = std::getenv(name);
    return text == nullptr ? "" : text;
  };
  if (::getauxval(AT_SECURE) != 0)
    findings.push_back({"environment", State::kMissing, "the program runs with elevated privileges: recording is off",
                        "run it as an ordinary program"});
  if (const std::string disabled = value("RANGEFINDER_DISABLE"); !disabled.empty() && disabled != "0")
    findings.push_back({"environment", State::kMissing, "RANGEFINDER_DISABLE=" + disabled + " switches sessions off",
                        "unset RANGEFINDER_DISABLE"});
  if (const std::string config = value("RANGEFINDER_CONFIG"); !config.empty())
    findings.push_back(
        {"environment", State::kNote, "RANGEFINDER_CONFIG=" + config + " overrides the program's options", {}});
}

}  // namespace rangefinder::doctor
