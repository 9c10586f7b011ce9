// SPDX-License-Identifier: MIT
#include "common/floor.hpp"
#include "parts.hpp"
#include "recording.hpp"

#include <rangefinder/range.hpp>

#include <ATen/SequenceNumber.h>
#include <unistd.h>

namespace bench {
namespace {

using rangefinder::ProfileRange;

Case recording(const char* name, const char* what, bool autograd, std::function<void(std::uint64_t)> run) {
  Case made;
  made.name = name;
  made.what = what;
  made.run = std::move(run);
  made.set_up = [autograd] { Recording::start({.autograd = autograd}); };
  made.finish = Recording::stop;
  made.between = [] { ::usleep(2000); };  // the drain empties the blocks, as it does between the steps of a program
  return made;
}

void take_number() { (void)at::sequence_number::get_and_increment(); }

}  // namespace

void range_cost(int rounds) {
  std::vector<Case> cases(1);
  cases[0].name = kFloor;
  cases[0].what = "recording";
  cases[0].set_up = TwoReadsAndStore::touch;
  cases[0].run = BENCH_LOOP(const TwoReadsAndStore r("x"); BENCH_BODY);
  const auto literal = BENCH_LOOP(const ProfileRange r("static"); BENCH_BODY);
  const auto text = BENCH_LOOP(const ProfileRange r(run_time_name(i)); BENCH_BODY);
  const auto node = BENCH_LOOP(const ProfileRange r("static"); take_number());
  cases.push_back(recording("literal", "autograd off", false, literal));
  cases.push_back(recording("literal, numbers", "autograd on", true, literal));
  cases.push_back(recording("run-time name", "autograd off", false, text));
  cases.push_back(recording("run-time name, numbers", "autograd on", true, text));
  cases.push_back(recording("literal, a number taken inside", "autograd off", false, node));
  cases.push_back(recording("literal, a number taken and noted", "autograd on", true, node));
  Options options;
  options.rounds = rounds;
  options.processes = 2;
  options.floor = kFloor;
  print(measure(cases, options), options);
}

}  // namespace bench
