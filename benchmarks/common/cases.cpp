// SPDX-License-Identifier: MIT
#include "common/cases.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <thread>

namespace bench {
namespace {

std::int64_t now_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// CPU time that Case::between counts for; of the calling thread's process.
std::int64_t background_ns(Clock clock) {
  const std::int64_t process = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  return clock == Clock::kOthers ? process - now_ns(CLOCK_THREAD_CPUTIME_ID) : process;
}

/// Threads that stay, so that thread-local state is set up once.
class Crew {
 public:
  Crew(const Case& what, int threads, clockid_t clock)
      : case_(what), clock_(clock), took_(static_cast<std::size_t>(threads)) {
    for (int i = 1; i < threads; ++i) {
      helpers_.emplace_back([this, i] {
        pin_to_core(i);
        case_.thread_set_up();
        ++ready_;
        for (int seen = 0;;) {
          while (turn_.load(std::memory_order_acquire) == seen)
            std::this_thread::sleep_for(std::chrono::microseconds(50));
          ++seen;
          if (n_ == 0) return;
          one(static_cast<std::size_t>(i));
        }
      });
    }
    while (ready_ != threads - 1) std::this_thread::yield();
  }
  ~Crew() {
    n_ = 0;
    ++turn_;
    for (auto& helper : helpers_) helper.join();
  }
  /// Nanoseconds a run of the slowest thread.
  double round(std::uint64_t n) {
    n_ = n * case_.times;
    left_ = static_cast<int>(took_.size());
    arrived_ = 0;
    turn_.fetch_add(1, std::memory_order_release);
    one(0);
    while (left_ != 0) std::this_thread::yield();
    return *std::max_element(took_.begin(), took_.end());
  }

 private:
  void one(std::size_t thread) {
    ++arrived_;
    while (arrived_ != static_cast<int>(took_.size())) {
    }
    const std::uint64_t n = n_;
    const std::int64_t begin = now_ns(clock_);
    case_.run(n);
    took_[thread] = static_cast<double>(now_ns(clock_) - begin) / static_cast<double>(n);
    --left_;
  }
  const Case& case_;
  clockid_t clock_;
  std::vector<double> took_;
  std::vector<std::thread> helpers_;
  std::uint64_t n_ = 0;
  std::atomic<int> ready_{0}, turn_{0}, left_{0}, arrived_{0};
};

struct Child {
  pid_t pid = -1;
  FILE* to = nullptr;
  FILE* from = nullptr;
};

/// What came of one case, over all its processes.
struct Taken {
  std::vector<double> ns;
  std::string remark;
};

[[noreturn]] void serve(const Case& what, const Options& options, int in, int out) {
  FILE* const orders = ::fdopen(in, "r");
  FILE* const answers = ::fdopen(out, "w");
  what.set_up();  // threads that it starts run where there is room
  pin_to_core(0);
  {
    Crew crew(what, options.threads, options.clock == Clock::kThread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
    std::fputs("ready\n", answers);
    std::fflush(answers);
    char line[16];
    while (std::fgets(line, sizeof line, orders) != nullptr && line[0] == 'r') {
      // Once untimed: what the other cases left in the caches is no cost of this one.
      crew.round(options.per_round);
      what.between();
      const std::int64_t begin = background_ns(options.clock);
      double ns = crew.round(options.per_round);
      what.between();
      if (options.clock == Clock::kProcess || options.clock == Clock::kOthers)
        ns = static_cast<double>(background_ns(options.clock) - begin) / static_cast<double>(options.per_round);
      std::fprintf(answers, "%.4f\n", ns);
      std::fflush(answers);
    }
  }
  std::fprintf(answers, "%s\n", what.finish().c_str());
  std::fflush(answers);
  std::_Exit(0);
}

/// The child of `alternate`: a line for each pair of blocks.
[[noreturn]] void serve_alternating(const Case& what, const Options& options, int in, int out) {
  ::close(in);
  FILE* const answers = ::fdopen(out, "w");
  what.set_up();
  pin_to_core(0);
  const clockid_t clock = options.clock == Clock::kProcess ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID;
  const auto block = [&](bool on) {
    what.turn(on);
    what.run(1);  // untimed: what the turn left in the caches is no cost of a block
    const std::int64_t begin = now_ns(clock);
    what.run(options.per_round);
    what.between();
    return static_cast<double>(now_ns(clock) - begin) / static_cast<double>(options.per_round);
  };
  std::fputs("ready\n", answers);
  double before = block(false);
  for (int round = 0; round < options.rounds; ++round) {
    const double on = block(true);
    const double after = block(false);
    std::fprintf(answers, "%.4f %.4f\n", on, (before + after) / 2);
    before = after;
  }
  std::fprintf(answers, "remark %s\n", what.finish().c_str());
  std::fflush(answers);
  std::_Exit(0);
}

using Serve = void (*)(const Case&, const Options&, int in, int out);

Child start(const Case& what, const Options& options, Serve serve_case) {
  int orders[2], answers[2];
  if (::pipe(orders) != 0 || ::pipe(answers) != 0) std::abort();
  std::fflush(stdout);
  Child child;
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(orders[1]);
    ::close(answers[0]);
    serve_case(what, options, orders[0], answers[1]);
  }
  ::close(orders[0]);
  ::close(answers[1]);
  child.to = ::fdopen(orders[1], "w");
  child.from = ::fdopen(answers[0], "r");
  char line[256];
  if (std::fgets(line, sizeof line, child.from) == nullptr || std::strncmp(line, "ready", 5) != 0) child.pid = -1;
  return child;
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace

namespace {

/// All cases take turns, in processes of their own; adds to `taken`.
void take_turns(const std::vector<Case>& cases, const Options& options, std::vector<Taken>& taken) {
  std::vector<Child> children;
  for (const Case& what : cases) children.push_back(start(what, options, serve));
  std::vector<std::vector<double>> took(cases.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Child& child = children[i];
      if (child.pid < 0) continue;
      char line[64];
      std::fputs("r\n", child.to);
      std::fflush(child.to);
      if (std::fgets(line, sizeof line, child.from) != nullptr)
        took[i].push_back(std::atof(line));
      else
        child.pid = -1;
    }
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Child& child = children[i];
    if (child.pid > 0) {
      char line[256] = {};
      std::fputs("q\n", child.to);
      std::fflush(child.to);
      if (std::fgets(line, sizeof line, child.from) != nullptr) taken[i].remark.assign(line, std::strcspn(line, "\n"));
      ::waitpid(child.pid, nullptr, 0);
    } else {
      took[i].clear();  // rounds of one process are compared with rounds of another: all or none
    }
    taken[i].ns.insert(taken[i].ns.end(), took[i].begin(), took[i].end());
    std::fclose(child.to);
    std::fclose(child.from);
  }
}

Row row_of(const Case& what, const Taken& taken, const Taken* floor) {
  Row row{what.name, what.what, taken.remark};
  if (taken.ns.empty()) {
    row.remark = "did not start";
    return row;
  }
  row.min_ns = *std::min_element(taken.ns.begin(), taken.ns.end());
  row.median_ns = percentile(taken.ns, 0.5);
  if (floor == nullptr || floor->ns.size() != taken.ns.size()) return row;
  std::vector<double> ratios;
  for (std::size_t k = 0; k < taken.ns.size(); ++k) ratios.push_back(taken.ns[k] / floor->ns[k]);
  row.ratio = percentile(ratios, 0.5);
  row.ratio_low = percentile(ratios, 0.1);
  row.ratio_high = percentile(ratios, 0.9);
  // Of n values, so many either side of the middle: the binomial distribution's 95 %.
  const double reach = 0.98 / std::sqrt(static_cast<double>(ratios.size()));
  row.sure_low = percentile(ratios, std::max(0.0, 0.5 - reach));
  row.sure_high = percentile(ratios, std::min(1.0, 0.5 + reach));
  return row;
}

}  // namespace

std::vector<Row> measure(const std::vector<Case>& all, const Options& options) {
  std::vector<Case> cases;
  for (const Case& what : all) {
    if (what.name == options.floor || what.name.find(options.only) != std::string::npos) cases.push_back(what);
  }
  std::vector<Taken> taken(cases.size());
  for (int i = 0; i < options.processes; ++i) take_turns(cases, options, taken);
  const auto floor = std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == options.floor; });
  const Taken* const base = floor == cases.end() ? nullptr : &taken[static_cast<std::size_t>(floor - cases.begin())];
  std::vector<Row> rows;
  for (std::size_t i = 0; i < cases.size(); ++i) rows.push_back(row_of(cases[i], taken[i], base));
  return rows;
}

std::vector<Row> alternate(const std::vector<Case>& cases, const Options& options) {
  std::vector<Taken> on(cases.size()), off(cases.size());
  for (int i = 0; i < options.processes; ++i) {
    for (std::size_t k = 0; k < cases.size(); ++k) {
      const Child child = start(cases[k], options, serve_alternating);
      char line[256];
      while (child.pid > 0 && std::fgets(line, sizeof line, child.from) != nullptr) {
        double found = 0, floor = 0;
        if (std::sscanf(line, "%lf %lf", &found, &floor) == 2) {
          on[k].ns.push_back(found);
          off[k].ns.push_back(floor);
        } else if (std::strncmp(line, "remark ", 7) == 0) {
          on[k].remark.assign(line + 7, std::strcspn(line + 7, "\n"));
        }
      }
      ::waitpid(-1, nullptr, 0);
      std::fclose(child.to);
      std::fclose(child.from);
    }
  }
  std::vector<Row> rows;
  for (std::size_t k = 0; k < cases.size(); ++k) rows.push_back(row_of(cases[k], on[k], &off[k]));
  return rows;
}

void print(const std::vector<Row>& rows, const Options& options) {
  std::printf(
      "\n%d thread%s, %d rounds of %llu, %s each; ratio to %s of the same round: median (10th to 90th percentile)\n\n",
      options.threads, options.threads == 1 ? "" : "s", options.rounds * options.processes,
      static_cast<unsigned long long>(options.per_round),
      options.clock == Clock::kWall     ? "ns"
      : options.clock == Clock::kOthers ? "ns of CPU time of other threads"
                                        : "ns of CPU time",
      options.floor.c_str());
  std::printf("| case | what | min ns | median ns | ratio | spread | remark |\n|---|---|---:|---:|---:|---|---|\n");
  for (const Row& row : rows) {
    if (row.median_ns == 0) {
      std::printf("| %s | %s | - | - | - | - | %s |\n", row.name.c_str(), row.what.c_str(), row.remark.c_str());
      continue;
    }
    std::printf("| %s | %s | %.2f | %.2f | %.3f | %.2f to %.2f | %s |\n", row.name.c_str(), row.what.c_str(),
                row.min_ns, row.median_ns, row.ratio, row.ratio_low, row.ratio_high, row.remark.c_str());
  }
  std::fflush(stdout);
}

namespace {
bool all_met = true;
}

void print_target(const std::string& what, double limit, double found, const std::string& remark) {
  const bool met = found <= limit;
  all_met = all_met && met;
  std::printf("\n%s: %s: at most %.4g wanted, %.4g found%s%s\n", met ? "met" : "NOT MET", what.c_str(), limit, found,
              remark.empty() ? "" : ", ", remark.c_str());
  std::fflush(stdout);
}

void print_unmeasured(const std::string& what) {
  all_met = false;
  std::printf("\nNOT MET: %s: not measured\n", what.c_str());
  std::fflush(stdout);
}

void print_ratio(const std::string& what, double limit, const Row& row) {
  if (row.ratio == 0) return print_unmeasured(what);
  char sure[96];
  std::snprintf(sure, sizeof sure, "95 %% sure: %.4f to %.4f", row.sure_low, row.sure_high);
  print_target(what, limit, row.ratio, sure);
}

int exit_code() { return all_met ? 0 : 1; }

void print_added(const std::string& what, double limit, const std::vector<Row>& rows, const std::string& name,
                 const std::string& beyond, double parts) {
  const auto row = [&](const std::string& wanted) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.name == wanted; });
    return found != rows.end() && found->median_ns != 0 ? &*found : nullptr;
  };
  const Row* const found = row(name);
  const Row* const floor = beyond.empty() ? nullptr : row(beyond);
  if (found == nullptr || (floor == nullptr && !beyond.empty())) {
    return print_unmeasured(what);
  }
  const double least = found->min_ns - (floor != nullptr ? floor->min_ns : 0);
  const double median = found->median_ns - (floor != nullptr ? floor->median_ns : 0);
  char remark[64];
  std::snprintf(remark, sizeof remark, "%.4g by the least times", least / parts);
  print_target(what, limit, median / parts, remark);
}

const std::string& run_time_name(std::uint64_t i) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (int k = 0; k < 64; ++k) made.push_back("layer." + std::to_string(k) + ".attention");
    return made;
  }();
  return names[i & 63];
}

void pin_to_core(int core) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core) % cores, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

std::string machine() {
  std::string model = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  char text[256];
  std::snprintf(text, sizeof text, "%s, %u cores, load %.2f", model.c_str(), std::thread::hardware_concurrency(), load);
  return text;
}

}  // namespace bench
