// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/host_assembler.hpp"

#include <cstdint>

// What an AssemblySink is told, as values that can be kept and told later.
namespace rangefinder::importer {

struct AssembledBegin {
  AssembledRange range;
};
struct AssembledNotResumed {
  std::uint64_t range;
};
struct AssembledMark {
  std::uint64_t ticks;
  std::uint32_t thread, name, category;
};
struct AssembledCounter {
  std::uint64_t ticks;
  std::uint32_t thread, name;
  AssembledValue value;
};
struct AssembledValueOf {
  std::uint32_t thread;
  AssembledValue value;
};
struct AssembledCpuCounts {
  std::uint64_t range;
  CpuCounts counts;
};
struct AssembledNodeBegin {
  AssembledNode node;
};
struct AssembledStepItems {
  std::uint64_t items;
  std::uint32_t thread;
};

inline void tell(AssemblySink& sink, const AssembledBegin& event) { sink.on_begin(event.range); }
inline void tell(AssemblySink& sink, const AssembledRange& event) { sink.on_range(event); }
inline void tell(AssemblySink& sink, const AssembledNotResumed& event) { sink.on_not_resumed(event.range); }
inline void tell(AssemblySink& sink, const AssembledLaunch& event) { sink.on_launch(event); }
inline void tell(AssemblySink& sink, const AssembledMark& event) {
  sink.on_mark(event.thread, event.ticks, event.name, event.category);
}
inline void tell(AssemblySink& sink, const AssembledCounter& event) {
  sink.on_counter(event.thread, event.ticks, event.name, event.value);
}
inline void tell(AssemblySink& sink, const AssembledValueOf& event) { sink.on_value(event.thread, event.value); }
inline void tell(AssemblySink& sink, const AssembledOperator& event) { sink.on_operator(event); }
inline void tell(AssemblySink& sink, const AssembledCpuCounts& event) { sink.on_cpu_counts(event.range, event.counts); }
inline void tell(AssemblySink& sink, const AssembledSequence& event) { sink.on_sequence(event); }
inline void tell(AssemblySink& sink, const AssembledNodeBegin& event) { sink.on_node_begin(event.node); }
inline void tell(AssemblySink& sink, const AssembledNode& event) { sink.on_node(event); }
inline void tell(AssemblySink& sink, const AssembledMemory& event) { sink.on_memory(event); }
inline void tell(AssemblySink& sink, const AssembledCollective& event) { sink.on_collective(event); }
inline void tell(AssemblySink& sink, const AssembledCollectivePhase& event) { sink.on_collective_phase(event); }
inline void tell(AssemblySink& sink, const AssembledStep& event) { sink.on_step(event); }
inline void tell(AssemblySink& sink, const AssembledStepItems& event) { sink.on_step_items(event.thread, event.items); }

/// Makes a value of all that it is told, and calls `pass(event)` of `Derived` with it.
template <typename Derived>
class AssemblyEvents : public AssemblySink {
 public:
  void on_begin(const AssembledRange& range) final { self().pass(AssembledBegin{range}); }
  void on_range(const AssembledRange& range) final { self().pass(range); }
  void on_not_resumed(std::uint64_t range) final { self().pass(AssembledNotResumed{range}); }
  void on_launch(const AssembledLaunch& launch) final { self().pass(launch); }
  void on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, std::uint32_t category) final {
    self().pass(AssembledMark{ticks, thread, name, category});
  }
  void on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, const AssembledValue& value) final {
    self().pass(AssembledCounter{ticks, thread, name, value});
  }
  void on_value(std::uint32_t thread, const AssembledValue& value) final {
    self().pass(AssembledValueOf{thread, value});
  }
  void on_operator(const AssembledOperator& facts) final { self().pass(facts); }
  void on_cpu_counts(std::uint64_t range, const CpuCounts& counts) final {
    self().pass(AssembledCpuCounts{range, counts});
  }
  void on_sequence(const AssembledSequence& sequence) final { self().pass(sequence); }
  void on_node_begin(const AssembledNode& node) final { self().pass(AssembledNodeBegin{node}); }
  void on_node(const AssembledNode& node) final { self().pass(node); }
  void on_memory(const AssembledMemory& memory) final { self().pass(memory); }
  void on_collective(const AssembledCollective& collective) final { self().pass(collective); }
  void on_collective_phase(const AssembledCollectivePhase& phase) final { self().pass(phase); }
  void on_step(const AssembledStep& step) final { self().pass(step); }
  void on_step_items(std::uint32_t thread, std::uint64_t items) final {
    self().pass(AssembledStepItems{items, thread});
  }

 private:
  Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

}  // namespace rangefinder::importer
