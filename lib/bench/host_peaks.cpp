// SPDX-License-Identifier: MIT
#include "bench/host_peaks.hpp"

#include "bench/read_clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

namespace rangefinder::bench {
namespace {

// Sums that grow at once, so that each multiply-add finds its operands ready: latency times units, with some to spare,
// and together with two constants no more than the 16 registers that there are.
constexpr int kSums = 12;  // as many as RANGEFINDER_SUMS has

// The value counts as changed here: no round is left out, and it stays in its register.
#if defined(__x86_64__)
#define RANGEFINDER_KEEP(value) asm volatile("" : "+x"(value))
#elif defined(__aarch64__)
#define RANGEFINDER_KEEP(value) asm volatile("" : "+w"(value))
#else
#define RANGEFINDER_KEEP(value) asm volatile("" : "+m"(value))
#endif

// Macros, for a template cannot be compiled for another processor than its user, and an array would live in memory. GCC
// and Clang contract the expression to one instruction where the processor has it.
#define RANGEFINDER_SUMS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define RANGEFINDER_BEGIN_SUM(i) Vector sum##i = term;
#define RANGEFINDER_GROW_SUM(i)    \
  sum##i = sum##i * factor + term; \
  RANGEFINDER_KEEP(sum##i);
#define RANGEFINDER_FMA_KERNEL(name, number, bytes, ...)         \
  __VA_ARGS__ void name(std::int64_t rounds) {                   \
    typedef number Vector __attribute__((vector_size(bytes)));   \
    const Vector factor = Vector{} + static_cast<number>(0.999); \
    const Vector term = Vector{} + static_cast<number>(0.001);   \
    RANGEFINDER_SUMS(RANGEFINDER_BEGIN_SUM)                      \
    for (std::int64_t round = 0; round < rounds; ++round) {      \
      RANGEFINDER_SUMS(RANGEFINDER_GROW_SUM)                     \
    }                                                            \
  }

RANGEFINDER_FMA_KERNEL(fp32_baseline, float, 16)
RANGEFINDER_FMA_KERNEL(fp64_baseline, double, 16)
#if defined(__x86_64__)
RANGEFINDER_FMA_KERNEL(fp32_avx2, float, 32, __attribute__((target("avx2,fma"))))
RANGEFINDER_FMA_KERNEL(fp64_avx2, double, 32, __attribute__((target("avx2,fma"))))
RANGEFINDER_FMA_KERNEL(fp32_avx512, float, 64, __attribute__((target("avx512f"))))
RANGEFINDER_FMA_KERNEL(fp64_avx512, double, 64, __attribute__((target("avx512f"))))
#endif
#undef RANGEFINDER_FMA_KERNEL
#undef RANGEFINDER_GROW_SUM
#undef RANGEFINDER_BEGIN_SUM
#undef RANGEFINDER_SUMS

struct Kernel {
  void (*run)(std::int64_t rounds);
  double flops_a_round;
};

constexpr double flops_a_round(std::size_t vector_bytes, std::size_t number_bytes) {
  const std::size_t numbers = vector_bytes / number_bytes;
  return 2.0 * kSums * static_cast<double>(numbers);
}

/// All that run here: on some processors the widest vectors are not the fastest.
std::vector<Kernel> kernels(bool fp64) {
  const std::size_t bytes = fp64 ? 8 : 4;
  std::vector<Kernel> out{{fp64 ? fp64_baseline : fp32_baseline, flops_a_round(16, bytes)}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    out.push_back({fp64 ? fp64_avx2 : fp32_avx2, flops_a_round(32, bytes)});
  if (__builtin_cpu_supports("avx512f")) out.push_back({fp64 ? fp64_avx512 : fp32_avx512, flops_a_round(64, bytes)});
#endif
  return out;
}

double seconds_now() { return static_cast<double>(read_clock(CLOCK_MONOTONIC)) / 1e9; }

/// Does `work(thread)` in all threads at once, again and again for some `seconds` and at least three times; gives the
/// seconds that each time took, from the first that began to the last that ended.
template <typename Work>
std::vector<double> time_together(unsigned threads, double seconds, const std::function<bool()>& cancelled, Work work) {
  std::vector<double> took;
  double begin = 0, all_begin = 0;
  bool more = true;
  bool failed = false;
  // Runs when all have come: before the first time, then behind each.
  const auto between = [&]() noexcept {
    const double now = seconds_now();
    if (begin == 0)
      all_begin = now;
    else
      took.push_back(now - begin);
    constexpr std::size_t kMin = 3, kMax = 1000;
    more = (took.size() < kMin || now - all_begin < seconds) && took.size() < kMax && !failed &&
           !(cancelled && cancelled());
    begin = seconds_now();
  };
  took.reserve(1000);
  std::barrier all(static_cast<std::ptrdiff_t>(threads), between);
  const auto run = [&](unsigned thread) {
    for (;;) {
      all.arrive_and_wait();
      if (!more) return;
      work(thread);
    }
  };
  std::vector<std::thread> others;
  std::exception_ptr why;
  try {
    others.reserve(threads);
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(run, i);
  } catch (...) {  // those that there are wait for the ones that never come
    why = std::current_exception();
    failed = true;
    for (std::size_t missing = threads - 1 - others.size(); missing > 0; --missing) all.arrive_and_drop();
  }
  run(0);
  for (std::thread& other : others) other.join();
  if (why) std::rethrow_exception(why);
  return took;
}

std::vector<double> rates(const std::vector<double>& seconds, double work) {
  std::vector<double> out;
  for (const double each : seconds)
    if (each > 0) out.push_back(work / each);
  return out;
}

PeakSamples flops_of(bool fp64, unsigned threads, double seconds, const std::function<bool()>& cancelled) {
  PeakSamples best{"flops", fp64 ? "fp64" : "fp32", {}};
  double most = 0;
  const std::vector<Kernel> all = kernels(fp64);
  for (const Kernel& kernel : all) {
    constexpr std::int64_t kRounds = 2'000'000;  // some milliseconds
    const std::vector<double> samples = rates(time_together(threads, seconds / static_cast<double>(all.size()),
                                                            cancelled, [&](unsigned) { kernel.run(kRounds); }),
                                              kernel.flops_a_round * static_cast<double>(kRounds) * threads);
    const double here = samples.empty() ? 0 : *std::max_element(samples.begin(), samples.end());
    if (here <= most) continue;
    most = here;
    best.samples = samples;
  }
  return best;
}

/// Bytes of an array that no cache holds, nor the rest of the memory misses.
std::size_t uncached_bytes() {
  const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  constexpr std::size_t kMin = std::size_t{64} << 20;
  const std::size_t wanted = std::max(kMin, cache > 0 ? 4 * static_cast<std::size_t>(cache) : 0);
  const std::size_t memory =
      pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
  return memory > 0 ? std::min(wanted, std::max(kMin, memory / 16)) : wanted;
}

/// A thread's part of three arrays, first touched by itself so that it lies in the memory that is near.
struct Arrays {
  std::size_t count = 0;
  std::unique_ptr<double[]> a, b, c;

  void make(std::size_t numbers) {
    if (a != nullptr) return;
    count = numbers;
    a = std::make_unique<double[]>(numbers);
    b = std::make_unique<double[]>(numbers);
    c = std::make_unique<double[]>(numbers);
    std::fill_n(b.get(), numbers, 1.0);
    std::fill_n(c.get(), numbers, 2.0);
  }
};

void copy(const Arrays& arrays) {
  std::memcpy(arrays.a.get(), arrays.b.get(), arrays.count * sizeof(double));
  asm volatile("" : : "r"(arrays.a.get()) : "memory");
}

void triad(const Arrays& arrays) {
  double* const a = arrays.a.get();
  const double *const b = arrays.b.get(), *const c = arrays.c.get();
  for (std::size_t i = 0; i < arrays.count; ++i) a[i] = b[i] + 3.0 * c[i];
  asm volatile("" : : "r"(a) : "memory");
}

std::vector<PeakSamples> bandwidths(unsigned threads, double seconds, std::size_t array_bytes,
                                    const std::function<bool()>& cancelled) {
  if (array_bytes == 0) array_bytes = uncached_bytes();
  const std::size_t part = std::max<std::size_t>(array_bytes / sizeof(double) / threads, 1);
  std::vector<Arrays> arrays(threads);
  const auto measure = [&](const char* type, int streams, void (*work)(const Arrays&)) {
    std::vector<double> took = time_together(threads, seconds, cancelled, [&](unsigned thread) {
      arrays[thread].make(part);
      work(arrays[thread]);
    });
    if (took.size() > 1) took.erase(took.begin());  // pages were made
    return PeakSamples{"bandwidth", type, rates(took, static_cast<double>(part * sizeof(double) * threads) * streams)};
  };
  return {measure("copy", 2, copy), measure("triad", 3, triad)};
}

}  // namespace

std::vector<PeakSamples> measure_host(unsigned threads, double seconds, std::size_t array_bytes,
                                      const std::function<bool()>& cancelled) {
  std::vector<PeakSamples> out;
  out.push_back(flops_of(false, threads, seconds, cancelled));
  out.push_back(flops_of(true, threads, seconds, cancelled));
  for (PeakSamples& each : bandwidths(threads, seconds, array_bytes, cancelled)) out.push_back(std::move(each));
  return out;
}

}  // namespace rangefinder::bench
