// SPDX-License-Identifier: MIT
#include "importer/kineto/autograd.hpp"

#include "timeline/autograd_names.hpp"

namespace rangefinder::importer::kineto {

void Autograd::add(const EventArguments& arguments, std::string_view name) {
  using F = EventArguments;
  const RangeTable& ranges = timeline_.ranges;
  const auto row = static_cast<RangeIndex>(ranges.size() - 1);
  const bool numbered = arguments.has(F::kSequence) && arguments.sequence >= 0 && ranges.begin_ns[row] != kNoTime;
  if (arguments.has(F::kForwardTime)) {
    const bool is_made = arguments.forward_time.usable() && arguments.has(F::kForwardThread);
    const std::int64_t made_ns = is_made ? arguments.forward_time.ns : kNoTime;
    makers_.add_known_node(row, numbered ? arguments.sequence : -1, arguments.forward_thread, made_ns);
  } else if (numbered && arguments.has(F::kForwardThread) && arguments.forward_thread != 0) {
    makers_.add_node(row, arguments.sequence, arguments.forward_thread);
  } else if (numbered) {
    makers_.add_operator(row, arguments.sequence);
  } else if (name.starts_with(timeline::kEvaluateNode) || timeline::is_gradient_accumulation(name)) {
    makers_.add_node(row, -1, timeline::NodeMakers::kNotSaid);
  }
}

}  // namespace rangefinder::importer::kineto
