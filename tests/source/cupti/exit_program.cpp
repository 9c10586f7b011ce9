// SPDX-License-Identifier: MIT
// Ends in the middle of a recording, in the way that its argument says; process_test.cpp runs it. Prints at the very
// end what the recording got, and exits with 7.
#include "base/health_numbers.hpp"
#include "base/never_destroyed.hpp"
#include "source/cupti/cupti_api.hpp"
#include "source/cupti/cupti_source.hpp"
#include "support/unpacking_sink.hpp"

#include <fake_cupti.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace rangefinder;

namespace {

std::atomic<unsigned> g_kernels{0};
std::atomic<unsigned> g_untimed{0};
std::atomic<unsigned> g_timeouts{0};
std::atomic<bool> g_stalled{false};  // the disk does not answer
std::atomic<bool> g_in_sink{false};
bool g_driver_gone = false;
bool g_print = true;

class CountingSink final : public testing::UnpackingSink {
 public:
  format::NameId name(std::string_view) noexcept override { return 1; }
  void count(std::uint32_t number, std::uint64_t n) noexcept override {
    if (number == health::untimed_activities) g_untimed += static_cast<unsigned>(n);
    if (number == health::flush_timeouts) g_timeouts += static_cast<unsigned>(n);
  }
  void meta(std::string_view, std::string_view) noexcept override {}
  void sample_clock() noexcept override {}

 protected:
  void write_rows(format::ChunkKind kind, const void*, std::size_t, std::size_t count,
                  std::span<const format::Field>) noexcept override {
    if (g_stalled) {
      g_in_sink = true;
      g_in_sink.notify_all();
      g_stalled.wait(true);
    }
    if (g_driver_gone) return;
    if (kind == format::ChunkKind::kKernels) g_kernels += static_cast<unsigned>(count);
  }
};

void print_at_exit() {
  if (!g_print) return;
  std::printf("%u kernels", g_kernels.load());
  if (g_untimed != 0) std::printf(", %u untimed", g_untimed.load());
  if (g_timeouts != 0) std::printf(", %u timeouts", g_timeouts.load());
  std::printf("\n");
  std::fflush(stdout);
}

source::CuptiSource* make_source() {
  source::CuptiOptions options;
  options.flush_period = std::chrono::milliseconds(0);
  options.stop_patience = std::chrono::milliseconds(0);
  source::CuptiSeams seams;
  seams.load = [] {
    auto library = base::Library::open("libcupti.so.13");
    return source::cupti::bind_cupti(*library);
  };
  seams.note_launch = +[](std::uint32_t, std::uint32_t) noexcept {};
  return new source::CuptiSource(options, seams);
}

void launch(int n, bool open = false) {
  FakeKernel kernel;
  kernel.open = open;
  for (int i = 0; i < n; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &kernel);
}

/// Launches from its destructor, when the program is already ending.
struct LastWords {
  bool armed = false;
  ~LastWords() {
    if (armed) launch(3);
  }
} g_last_words;

}  // namespace

#if defined(RANGEFINDER_ADDRESS_SANITIZER)
// The search for leaks at exit finds our threads running, as they are meant to, and says so where the test reads.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  std::atexit(&print_at_exit);  // first, so that it runs last
  fakecupti_set_launch_latency(0);
  // Both leaked, like a session that is never stopped: a collector thread that got stuck in the sink stays there.
  static base::NeverDestroyed<CountingSink> sink;
  static source::CuptiSource* const source = make_source();
  if (!source->start(*sink).working) return 1;
  source->set_active(true);
  if (std::strcmp(how, "buffers_out") == 0) {
    launch(4);
    launch(1, true);
    std::exit(7);
  }
  if (std::strcmp(how, "late_driver") == 0) {
    // CUDA is initialised after us, and goes before what was registered earlier.
    std::atexit([] { g_driver_gone = true; });
    launch(1);
    source->flush(std::chrono::steady_clock::now() + std::chrono::minutes(1));
    launch(4);
    return 7;
  }
  launch(5);
  ::alarm(60);  // an end that does not come is seen as one
  if (std::strncmp(how, "stalled", 7) == 0) g_stalled = true;
  if (std::strcmp(how, "stalled_stop") == 0) {
    // As a session's own thread does when the program stops it.
    std::thread([] {
      do source->stop(std::chrono::steady_clock::now() + std::chrono::hours(1));
      while (source->at_sink());
    }).detach();
    g_in_sink.wait(false);
  }
  if (std::strcmp(how, "hanging") == 0) fakecupti_hang("cuptiActivityFlushAll");
  if (std::strcmp(how, "static") == 0) g_last_words.armed = true;
  if (std::strcmp(how, "thread") == 0) {
    std::thread([] { std::exit(7); }).join();
  }
  if (std::strcmp(how, "quick_exit") == 0) std::quick_exit(7);
  if (std::strcmp(how, "fork") == 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      g_print = false;
      std::exit(0);  // runs every exit handler in a process without our threads
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 2;
  }
  return 7;
}
