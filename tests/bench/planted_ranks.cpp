// SPDX-License-Identifier: MIT
// Benchmarks of several ranks, without a library for collectives: each rank doubles its share of some numbers, and
// sends it around a ring of sockets until all ranks have all of them. One fault a benchmark, on one rank.
#include "planted.hpp"

#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/range.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder::bench;
using planted::allocate;
using planted::clock_ns;

namespace {

constexpr std::size_t kElements = 24;  // of 1, 2, 3 or 4 ranks the same number each

/// A socket to the next rank and one from the rank before. Ranks meet in files whose names begin with `store`.
class Ring {
 public:
  Ring(const std::string& store, unsigned rank, unsigned ranks) : before_((rank + ranks - 1) % ranks) {
    const int listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un own = address(store, rank), next = address(store, (rank + 1) % ranks);
    check(::bind(listening, reinterpret_cast<const sockaddr*>(&own), sizeof own), "bind: is the store a new one?");
    check(::listen(listening, 1), "listen");
    to_next_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    while (::connect(to_next_, reinterpret_cast<const sockaddr*>(&next), sizeof next) != 0) ::usleep(1000);
    from_before_ = ::accept(listening, nullptr, nullptr);
    check(from_before_, "accept");
    ::close(listening);
  }
  ~Ring() {
    ::close(to_next_);
    ::close(from_before_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void send(const float* values, std::size_t count) {
    const ssize_t bytes = static_cast<ssize_t>(count * sizeof(float));
    if (::send(to_next_, values, static_cast<std::size_t>(bytes), MSG_NOSIGNAL) != bytes)
      throw std::runtime_error("the next rank closed its connection");
  }
  void receive(float* values, std::size_t count) {
    const WaitForRanks waiting;
    const std::size_t bytes = count * sizeof(float);
    if (::recv(from_before_, values, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes))
      throw std::runtime_error("rank " + std::to_string(before_) + " closed its connection");
  }

 private:
  static sockaddr_un address(const std::string& store, unsigned rank) {
    const std::string path = store + "." + std::to_string(rank);
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    if (path.size() >= sizeof out.sun_path) throw std::runtime_error("the path of the store is too long: " + path);
    std::memcpy(out.sun_path, path.c_str(), path.size() + 1);
    return out;
  }
  static void check(int result, const char* what) {
    if (result < 0) throw std::runtime_error(what + std::string(": ") + std::strerror(errno));
  }

  unsigned before_;
  int to_next_ = -1;
  int from_before_ = -1;
};

enum class Fault {
  kNone,
  kExits,
  kKilled,
  kStopped,
  kHangs,
  kSpins,
  kThrows,
  kWrong,
  kHangsInSetup,
  kKilledLater,  ///< when its steps are long done
  kStoppedLater,
};

struct Behaviour {
  double step_ns = 4000;
  Fault fault = Fault::kNone;
  unsigned faulty_rank = 1;
  bool first_alone = false;  ///< outputs of rank 0 only
  bool shares = false;       ///< outputs of each rank are its share
};

void expect_variable(const char* name, const std::string& value) {
  const char* const found = std::getenv(name);
  if (found == nullptr || found != value)
    throw std::runtime_error(std::string(name) + " is " + (found != nullptr ? found : "not set") + ", not " + value);
}

class Gathering : public Variant {
 public:
  explicit Gathering(Behaviour behaviour) : behaviour_(behaviour) {}
  ~Gathering() override { allocate(-held_); }

  void setup(const Setup& setup) override {
    setup_ = setup;
    share_ = kElements / setup.ranks;
    if (setup.ranks > 1) meet();
    if (is(Fault::kHangsInSetup)) ::pause();
    for (std::size_t i = 0; i < kElements; ++i) x_[i] = static_cast<float>((setup.seed * 31 + i * 17) % 101);
    held_ = 1000 * (std::int64_t{setup.rank} + 1);
    allocate(held_);
  }

  void step() override {
    rangefinder::ProfileRange range{"gather"};
    steps_ = steps_ + 1;
    fail_as_planted();
    clock_ns += static_cast<std::int64_t>(behaviour_.step_ns) + 100 * setup_.rank;
    for (std::size_t i = 0; i < share_; ++i) y_[begin(setup_.rank) + i] = 2 * x_[begin(setup_.rank) + i];
    for (unsigned pass = 0; ring_ && pass + 1 < setup_.ranks; ++pass) {
      ring_->send(&y_[begin(setup_.rank + setup_.ranks - pass)], share_);
      ring_->receive(&y_[begin(setup_.rank + 2 * setup_.ranks - pass - 1)], share_);
      sent_ += share_ * sizeof(float);
    }
    if (is(Fault::kWrong)) y_[begin(setup_.rank)] += 0.25F;  // what it has sent was right
  }

  std::vector<TensorView> inputs() override {
    return {{"x", ElementType::kFloat32, {static_cast<std::int64_t>(kElements)}, x_.data()}};
  }
  std::vector<TensorView> outputs() override {
    if (behaviour_.first_alone && setup_.rank != 0) return {};
    const std::size_t count = behaviour_.shares ? share_ : kElements;
    return {{"y",
             ElementType::kFloat32,
             {static_cast<std::int64_t>(count)},
             &y_[behaviour_.shares ? begin(setup_.rank) : 0]}};
  }
  Work work() override {
    Work work;
    work.tokens = 8 + setup_.rank;
    work.useful_share = setup_.rank == 0 ? 1 : 0.5;
    return work;
  }
  std::vector<Metric> metrics() override {
    std::vector<Metric> all{{"sent_bytes", static_cast<double>(sent_ / steps_), MetricKind::kBytes},
                            {"longest_ns", 10.0 * (setup_.rank + 1), MetricKind::kTime},
                            {"fact", 5.0 + setup_.rank, MetricKind::kFact},
                            {"declared", 5.0 + setup_.rank, MetricKind::kFact, OverRanks::kSum}};
    if (setup_.rank == 1) all.push_back({"of_rank_1", 7, MetricKind::kCount});
    return all;
  }

 private:
  void meet() {
    expect_variable("RANK", std::to_string(setup_.rank));
    expect_variable("LOCAL_RANK", std::to_string(setup_.rank));
    expect_variable("WORLD_SIZE", std::to_string(setup_.ranks));
    expect_variable("LOCAL_WORLD_SIZE", std::to_string(setup_.ranks));
    const char* const store = std::getenv("RANGEFINDER_STORE");
    if (store == nullptr || setup_.store == store || setup_.store.rfind(store, 0) != 0)
      throw std::runtime_error("no store of this variant: " + setup_.store);
    if (::access(setup_.store.c_str(), F_OK) == 0) throw std::runtime_error("the store is there: " + setup_.store);
    ring_ = std::make_unique<Ring>(setup_.store, setup_.rank, setup_.ranks);
    std::printf("rank %u met the others\n", setup_.rank);
    std::fprintf(stderr, "then it says so to stderr\n");
  }

  bool is(Fault fault) const { return behaviour_.fault == fault && setup_.rank == behaviour_.faulty_rank; }

  void fail_as_planted() {
    if (is(Fault::kExits) || is(Fault::kThrows)) std::printf("about to fail\n");
    if (is(Fault::kExits)) ::_exit(3);
    if (is(Fault::kKilled)) ::raise(SIGKILL);
    if (is(Fault::kStopped)) ::raise(SIGSTOP);
    while (is(Fault::kHangs)) ::pause();
    if (is(Fault::kKilledLater)) raise_later(SIGKILL);
    if (is(Fault::kStoppedLater)) raise_later(SIGSTOP);
    while (is(Fault::kSpins)) steps_ = steps_ + 1;
    if (is(Fault::kThrows)) throw std::runtime_error("planted exception");
  }

  void raise_later(int signal) {
    if (steps_ > 1) return;
    std::thread([signal] {
      ::usleep(300'000);
      ::kill(::getpid(), signal);
    }).detach();
  }

  std::size_t begin(unsigned rank) const { return rank % setup_.ranks * share_; }

  Behaviour behaviour_;
  Setup setup_;
  std::size_t share_ = kElements;
  std::unique_ptr<Ring> ring_;
  std::int64_t held_ = 0;
  std::uint64_t sent_ = 0;
  volatile std::uint64_t steps_ = 0;
  std::array<float, kElements> x_{}, y_{};
};

VariantSpec variant(Behaviour behaviour) {
  return {[behaviour] { return std::make_unique<Gathering>(behaviour); }, {1e-5, 1e-6}};
}

Benchmark benchmark(const std::string& name, Behaviour baseline, Behaviour optimized) {
  Benchmark out;
  out.name = name;
  out.purpose = "planted: " + name;
  out.baseline = variant(baseline);
  out.optimized = variant(optimized);
  out.reference = variant({});
  out.chapter = "planted";
  out.iterations = 7;
  out.warmup = 2;
  out.least_ranks = 2;
  return out;
}

}  // namespace

void planted::add_benchmarks_of_ranks() {
  const Behaviour slow{}, fast{1000};
  Benchmark good = benchmark("ranks_good", slow, fast);
  good.estimate = [](const Setup& setup) { return Estimate{.output_bytes = 96, .flops = 24.0 / setup.ranks}; };
  add_benchmark(good);
  Benchmark without = benchmark("ranks_without_reference", slow, fast);
  without.reference = {};
  add_benchmark(without);
  without = benchmark("ranks_of_shares", {.shares = true}, {.step_ns = 1000, .shares = true});
  without.reference = {};
  add_benchmark(without);
  add_benchmark(benchmark("ranks_first_alone", {.first_alone = true}, {.step_ns = 1000, .first_alone = true}));
  Benchmark any = benchmark("ranks_any", slow, fast);  // runs alone, too
  any.least_ranks = 1;
  add_benchmark(any);

  const auto faulty = [&](const char* name, Fault fault, unsigned rank = 1) {
    add_benchmark(benchmark(name, slow, {.step_ns = 1000, .fault = fault, .faulty_rank = rank}));
  };
  faulty("ranks_exit", Fault::kExits);
  faulty("ranks_killed", Fault::kKilled, 0);
  faulty("ranks_stopped", Fault::kStopped);
  faulty("ranks_hang", Fault::kHangs);
  faulty("ranks_spin", Fault::kSpins);
  faulty("ranks_throw", Fault::kThrows);
  faulty("ranks_hang_in_setup", Fault::kHangsInSetup);
  // The optimized variant computes for ever, meanwhile:
  add_benchmark(benchmark("ranks_killed_in_turn_of_other", {.fault = Fault::kKilledLater}, {.fault = Fault::kSpins}));
  add_benchmark(benchmark("ranks_stopped_in_turn_of_other", {.fault = Fault::kStoppedLater}, {.fault = Fault::kSpins}));
  add_benchmark(benchmark("ranks_wrong", slow, {.step_ns = 1000, .fault = Fault::kWrong}));
  Benchmark wrong_share = benchmark("ranks_wrong_share", {.shares = true}, {.fault = Fault::kWrong, .shares = true});
  wrong_share.reference = {};
  add_benchmark(wrong_share);
  add_benchmark(benchmark("ranks_wrong_baseline", {.fault = Fault::kWrong}, {.fault = Fault::kWrong}));
}
