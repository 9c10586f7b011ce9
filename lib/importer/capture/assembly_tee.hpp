// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/host_assembler.hpp"

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace rangefinder::importer {

/// Tells two sinks the same. What ends because the recording does can be held back from the first one.
class AssemblyTee final : public AssemblySink {
 public:
  AssemblyTee(AssemblySink& first, AssemblySink& second) noexcept : first_(first), second_(second) {}

  /// From now on, of HostAssembler::finish.
  void hold_back() noexcept { holds_back_ = true; }
  /// Tells the first sink what was held back.
  void give_out() {
    holds_back_ = false;
    for (const Held& each : held_) std::visit([this](const auto& event) { tell(first_, event); }, each);
    held_.clear();
  }

  void on_begin(const AssembledRange& range) override {
    first_.on_begin(range);
    second_.on_begin(range);
  }
  void on_range(const AssembledRange& range) override { pass(range); }
  void on_not_resumed(std::uint64_t range) override { pass(NotResumed{range}); }
  void on_launch(const AssembledLaunch& launch) override {
    first_.on_launch(launch);
    second_.on_launch(launch);
  }
  void on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, std::uint32_t category) override {
    first_.on_mark(thread, ticks, name, category);
    second_.on_mark(thread, ticks, name, category);
  }
  void on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, const AssembledValue& value) override {
    first_.on_counter(thread, ticks, name, value);
    second_.on_counter(thread, ticks, name, value);
  }
  void on_value(std::uint32_t thread, const AssembledValue& value) override {
    first_.on_value(thread, value);
    second_.on_value(thread, value);
  }
  void on_operator(const AssembledOperator& facts) override {
    first_.on_operator(facts);
    second_.on_operator(facts);
  }
  void on_cpu_counts(std::uint64_t range, const CpuCounts& counts) override {
    first_.on_cpu_counts(range, counts);
    second_.on_cpu_counts(range, counts);
  }
  void on_sequence(const AssembledSequence& sequence) override { pass(sequence); }
  void on_node_begin(const AssembledNode& node) override {
    first_.on_node_begin(node);
    second_.on_node_begin(node);
  }
  void on_node(const AssembledNode& node) override { pass(node); }
  void on_memory(const AssembledMemory& memory) override { pass(memory); }
  void on_step(const AssembledStep& step) override {
    first_.on_step(step);
    second_.on_step(step);
  }
  void on_step_items(std::uint32_t thread, std::uint64_t items) override {
    first_.on_step_items(thread, items);
    second_.on_step_items(thread, items);
  }

 private:
  struct NotResumed {
    std::uint64_t range;
  };
  using Held = std::variant<AssembledRange, NotResumed, AssembledSequence, AssembledNode, AssembledMemory>;

  static void tell(AssemblySink& sink, const AssembledRange& range) { sink.on_range(range); }
  static void tell(AssemblySink& sink, const NotResumed& event) { sink.on_not_resumed(event.range); }
  static void tell(AssemblySink& sink, const AssembledSequence& sequence) { sink.on_sequence(sequence); }
  static void tell(AssemblySink& sink, const AssembledNode& node) { sink.on_node(node); }
  static void tell(AssemblySink& sink, const AssembledMemory& memory) { sink.on_memory(memory); }
  template <typename Event>
  void pass(const Event& event) {
    if (holds_back_)
      held_.emplace_back(event);
    else
      tell(first_, event);
    tell(second_, event);
  }

  AssemblySink& first_;
  AssemblySink& second_;
  bool holds_back_ = false;
  std::vector<Held> held_;
};

}  // namespace rangefinder::importer
