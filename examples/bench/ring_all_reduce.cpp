// SPDX-License-Identifier: MIT
// A benchmark of several processes: twelve vectors, as gradients of twelve samples, are divided among the ranks, and
// all ranks need their sum. They sit in a ring, each connected to the next. The baseline sends whole sums around it,
// ranks - 1 of them. The optimized variant sends parts: first each part is added up on its way around, then the
// complete parts are sent around, 2 * (ranks - 1) parts of 1 / ranks of the vector.
//   rangefinder bench run --worker example_worker --targets ring_all_reduce --nproc 4
#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/range.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

namespace bench = rangefinder::bench;

constexpr unsigned kSamples = 12;

std::size_t elements_of(const std::string& size) { return size == "smoke" ? 10'000 : 1'000'000; }

std::system_error failed(const char* what) { return {errno, std::generic_category(), what}; }

/// A socket; closed with the object.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {
    if (fd < 0) throw failed("socket");
  }
  Socket(const Socket&) = delete;
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Connections to the next rank and from the one before. The ranks find each other by files whose names begin with that
/// of the store, which nobody else knows: the folder is theirs.
class Ring {
 public:
  Ring(const std::string& store, unsigned rank, unsigned ranks) {
    const Socket listening(::socket(AF_UNIX, SOCK_STREAM, 0));
    const sockaddr_un own = address(store, rank), next = address(store, (rank + 1) % ranks);
    if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) throw failed("bind");
    if (::listen(listening.get(), 1) != 0) throw failed("listen");
    to_next_ = Socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    // The next rank may not have begun yet.
    while (::connect(to_next_.get(), reinterpret_cast<const sockaddr*>(&next), sizeof next) != 0) {
      if (errno != ENOENT && errno != ECONNREFUSED) throw failed("connect");
      ::usleep(1000);
    }
    from_before_ = Socket(::accept(listening.get(), nullptr, nullptr));
  }

  /// Sends to the next rank while it receives from the one before: if all first sent what no socket holds, none would
  /// receive.
  void exchange(const float* out, std::size_t out_count, float* in, std::size_t in_count) {
    static const rangefinder::RangeName kExchange{"communication"};
    const rangefinder::ProfileRange range{kExchange};
    const bench::WaitForRanks waiting;
    const auto* sending = reinterpret_cast<const char*>(out);
    auto* receiving = reinterpret_cast<char*>(in);
    std::size_t to_send = out_count * sizeof(float), to_receive = in_count * sizeof(float);
    sent_bytes_ += to_send;
    while (to_send > 0 || to_receive > 0) {
      std::array<pollfd, 2> ready{
          {{to_send > 0 ? to_next_.get() : -1, POLLOUT, 0}, {to_receive > 0 ? from_before_.get() : -1, POLLIN, 0}}};
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) throw failed("poll");
      if (ready[0].revents != 0) advance(sending, to_send, ::send(to_next_.get(), sending, to_send, kFlags));
      if (ready[1].revents != 0)
        advance(receiving, to_receive, ::recv(from_before_.get(), receiving, to_receive, kFlags));
    }
  }
  std::size_t sent_bytes() const { return sent_bytes_; }

 private:
  static constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;

  static sockaddr_un address(const std::string& store, unsigned rank) {
    const std::string path = store + ".rank-" + std::to_string(rank);
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    if (path.size() >= sizeof out.sun_path) throw std::runtime_error("too long for a socket: " + path);
    std::memcpy(out.sun_path, path.c_str(), path.size() + 1);
    return out;
  }
  template <typename Byte>
  static void advance(Byte*& at, std::size_t& left, ssize_t done) {
    if (done == 0) throw std::runtime_error("another rank closed its connection");
    if (done < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      throw failed("exchange with another rank");
    }
    at += done;
    left -= static_cast<std::size_t>(done);
  }

  Socket to_next_;
  Socket from_before_;
  std::size_t sent_bytes_ = 0;
};

/// Whole numbers, small enough that sums in any order are the same to the last bit.
void fill(float* values, std::size_t count, std::uint64_t seed, unsigned sample) {
  std::uint64_t state = seed * kSamples + sample;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values[i] = static_cast<float>(state >> 54);
  }
}

bench::TensorView view(const char* name, std::vector<float>& values) {
  return {name, bench::ElementType::kFloat32, {static_cast<std::int64_t>(values.size())}, values.data()};
}

/// The vectors of a rank: all of them in a single process, which is the reference.
class SumOfShare : public bench::Variant {
 public:
  void setup(const bench::Setup& setup) override {
    setup_ = setup;
    const std::size_t elements = elements_of(setup.size);
    sums_.resize(elements);
    for (unsigned sample = setup.rank; sample < kSamples; sample += setup.ranks) {
      vectors_.resize(vectors_.size() + elements);
      fill(vectors_.data() + vectors_.size() - elements, elements, setup.seed, sample);
    }
  }
  void step() override {
    std::fill(sums_.begin(), sums_.end(), 0.0F);
    for (std::size_t i = 0; i < vectors_.size(); ++i) sums_[i % sums_.size()] += vectors_[i];
  }
  std::vector<bench::TensorView> inputs() override { return {view("vectors", vectors_)}; }
  std::vector<bench::TensorView> outputs() override { return {view("sums", sums_)}; }

 protected:
  bench::Setup setup_;
  std::vector<float> vectors_;
  std::vector<float> sums_;
};

class AllReduce : public SumOfShare {
 public:
  explicit AllReduce(bool in_parts) : in_parts_(in_parts) {}

  void setup(const bench::Setup& setup) override {
    SumOfShare::setup(setup);
    arriving_.resize(sums_.size());
    ring_ = std::make_unique<Ring>(setup.store, setup.rank, setup.ranks);
  }

  void step() override {
    static const rangefinder::RangeName kReduce{"all_reduce"};
    const rangefinder::ProfileRange range{kReduce};
    SumOfShare::step();
    ++steps_;
    in_parts_ ? reduce_parts() : reduce_whole();
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(vectors_.size() / sums_.size());
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    return {{"sent_bytes_per_step", static_cast<double>(ring_->sent_bytes() / steps_), bench::MetricKind::kBytes}};
  }

 private:
  void reduce_whole() {
    std::vector<float> passing = sums_;
    for (unsigned pass = 1; pass < setup_.ranks; ++pass) {
      ring_->exchange(passing.data(), passing.size(), arriving_.data(), arriving_.size());
      for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += arriving_[i];
      std::swap(passing, arriving_);
    }
  }

  /// Where a part begins, and how long it is; `part` may be a number that has gone around.
  std::size_t begin(unsigned part) const { return part % setup_.ranks * (sums_.size() / setup_.ranks); }
  std::size_t size(unsigned part) const {
    return (part % setup_.ranks + 1 == setup_.ranks ? sums_.size() : begin(part + 1)) - begin(part);
  }

  void reduce_parts() {
    const unsigned ranks = setup_.ranks, rank = setup_.rank;
    // Reduce-scatter: each pass adds a share to a part; after the last one part rank + 1 is complete here.
    for (unsigned pass = 0; pass + 1 < ranks; ++pass) {
      const unsigned out = rank + ranks - pass, in = out + ranks - 1;
      ring_->exchange(&sums_[begin(out)], size(out), arriving_.data(), size(in));
      for (std::size_t i = 0; i < size(in); ++i) sums_[begin(in) + i] += arriving_[i];
    }
    // All-gather: complete parts go around.
    for (unsigned pass = 0; pass + 1 < ranks; ++pass) {
      const unsigned out = rank + 1 + ranks - pass, in = out + ranks - 1;
      ring_->exchange(&sums_[begin(out)], size(out), &sums_[begin(in)], size(in));
    }
  }

  bool in_parts_;
  std::unique_ptr<Ring> ring_;
  std::size_t steps_ = 0;
  std::vector<float> arriving_;
};

/// What a rank takes, told without making one.
bench::Estimate estimate(const bench::Setup& setup) {
  const auto elements = static_cast<double>(elements_of(setup.size));
  const double share = kSamples / static_cast<double>(setup.ranks);
  return {.input_bytes = share * elements * sizeof(float),
          .output_bytes = elements * sizeof(float),
          .flops = share * elements,
          .bytes = (share + 2) * elements * sizeof(float),
          .random_numbers = share * elements};
}

bench::Benchmark ring_all_reduce() {
  bench::Benchmark benchmark;
  benchmark.name = "ring_all_reduce";
  benchmark.purpose = "sum over ranks: whole vectors around a ring, parts around a ring";
  benchmark.goal = bench::Goal::kThroughput;
  benchmark.chapter = "example";
  benchmark.sizes = {"smoke", "cpu"};
  benchmark.least_ranks = 2;
  benchmark.baseline.make = [] { return std::make_unique<AllReduce>(false); };
  benchmark.optimized.make = [] { return std::make_unique<AllReduce>(true); };
  benchmark.reference.make = [] { return std::make_unique<SumOfShare>(); };
  benchmark.estimate = estimate;
  return benchmark;  // no tolerance: equal to the last bit
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(ring_all_reduce());

}  // namespace
