// SPDX-License-Identifier: MIT
#include "common/kineto.hpp"
#include "parts.hpp"
#include "recording.hpp"

#include <rangefinder/range.hpp>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace bench {
namespace {

constexpr const char* kOff = "no session";

at::Tensor tensor, one;  // a plain number would become a tensor each time
std::optional<at::NoGradGuard> no_grad;

struct Operator {
  const char* name;
  void (*set_up)();
  std::function<void(std::uint64_t)> run;
};

const Operator& in_place_without_grad() {
  static const Operator what{"add_ on one element, no_grad",
                             [] {
                               tensor = at::zeros({1});
                               no_grad.emplace();
                             },
                             [](std::uint64_t n) {
                               const rangefinder::ProfileRange range("round");
                               for (std::uint64_t i = 0; i < n; ++i) tensor.add_(one);
                             }};
  return what;
}

const Operator kOperators[] = {
    in_place_without_grad(),
    {"add_ on one element, grad mode", [] { tensor = at::zeros({1}); }, in_place_without_grad().run},
    {"add on one element, makes a node", [] { tensor = at::zeros({1}).set_requires_grad(true); },
     [](std::uint64_t n) {
       const rangefinder::ProfileRange range("round");
       for (std::uint64_t i = 0; i < n; ++i) (void)tensor.add(one);
     }},
};

/// Programs that train have threads: of loaders, of the backward pass. The C++ library counts references without atomic
/// instructions until a process starts its first thread, and a session starts two: without this, what an operator that
/// makes a node costs in a process of one thread would be compared with what it costs everywhere else.
void have_threads() {
  std::thread([] {}).join();
}

Case beside(const Operator& what, const char* name, void (*recorder)()) {
  Case made;
  made.name = name;
  made.what = what.name;
  made.run = what.run;
  made.set_up = [set_up = what.set_up, recorder] {
    have_threads();
    at::set_num_threads(1);
    one = at::ones({1});
    set_up();
    if (recorder != nullptr) recorder();
  };
  return made;
}

/// What LibTorch itself takes to tell of an operator, whoever listens.
void listen_only() {
  at::addGlobalCallback(at::RecordFunctionCallback(
      [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> { return nullptr; },
      [](const at::RecordFunction&, at::ObserverContext*) {}));
}

/// Where a process lies in memory makes several nanoseconds of difference: few rounds each, of many processes.
Options turns(int rounds, std::uint64_t per_round) {
  constexpr int kProcesses = 25;
  Options options;
  options.rounds = std::max(1, rounds / 5);
  options.processes = kProcesses;
  options.per_round = per_round;
  options.floor = kOff;
  options.clock = Clock::kThread;
  return options;
}

}  // namespace

void forward_cost(int rounds) {
  const Options options = turns(rounds, 10000);
  for (const Operator& what : kOperators) {
    Case recording = beside(what, "ranges + nodes", [] { Recording::start({}); });
    recording.finish = Recording::stop;
    const std::vector<Row> rows = measure({beside(what, kOff, nullptr), recording}, options);
    print(rows, options);
    print_ratio(std::string(what.name) + ", ratio to no session", 1.01, rows[1]);
  }
}

void operator_cost(int rounds) {
  const Options options = turns(rounds, 2000);  // Kineto keeps all that it hears until its end
  for (const Operator& what : kOperators) {
    Case ours = beside(what, "rangefinder, operators", [] { Recording::start({.operators = true}); });
    ours.finish = Recording::stop;
    Case shapes =
        beside(what, "rangefinder, with shapes", [] { Recording::start({.operators = true, .shapes = true}); });
    shapes.finish = Recording::stop;
    const std::vector<Row> rows = measure({beside(what, kOff, nullptr), ours, beside(what, "Kineto, CPU", start_kineto),
                                           shapes, beside(what, "Kineto, CPU, with shapes", start_kineto_with_shapes),
                                           beside(what, "a callback that does nothing", listen_only)},
                                          options);
    print(rows, options);
    print_added_ratio(std::string(what.name) + ", added per operator, ours to Kineto's", 1.0 / 3, rows[1], rows[2]);
    std::printf("with shapes, ours to Kineto's: %.4g\n", added(rows[3]) / added(rows[4]));
    std::printf("beyond a callback that does nothing, ours to Kineto's: %.4g\n",
                (rows[1].ratio - rows[5].ratio) / (rows[2].ratio - rows[5].ratio));
  }
}

}  // namespace bench
