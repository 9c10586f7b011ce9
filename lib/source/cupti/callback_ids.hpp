// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/cupti_api.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::source::cupti {

/// More than any CUPTI has: callback ids of a domain are below (807 and 523 in CUDA 13.0).
inline constexpr std::uint32_t kMaxCallbackIds = 8192;

/// True for a runtime or driver function that makes the device do something: launches of kernels and graphs, copies,
/// sets and prefetches. By name, so that what a newer CUDA adds is found without a list.
bool causes_device_work(std::string_view function) noexcept;

/// True for a function that adds a node to a CUDA graph by hand.
bool makes_graph_node(std::string_view function) noexcept;

/// True for a function that copies graphs, into others or into executable ones, and so announces their nodes.
bool copies_graph(std::string_view function) noexcept;

/// True for a function that gives the nodes of an executable graph what those of another graph do.
bool updates_graph(std::string_view function) noexcept;

/// True for a function that makes the handle of a conditional node, and names the graph.
bool makes_condition(std::string_view function) noexcept;

/// True for a function after which the work of a stream is captured into a CUDA graph, or is no longer.
bool begins_capture(std::string_view function) noexcept;
bool ends_capture(std::string_view function) noexcept;

/// True for a function that does no work and that libraries call all the time.
bool is_noisy(std::string_view function) noexcept;

/// The functions of one domain by callback id, as the CUPTI at hand names them; the texts live as long as it does.
class CallbackNames {
 public:
  CallbackNames() = default;
  CallbackNames(const CuptiApi& api, CUpti_CallbackDomain domain);

  /// Empty for an id that CUPTI has no name for.
  std::string_view name(std::uint32_t id) const noexcept {
    return id < names_.size() ? names_[id] : std::string_view();
  }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(names_.size()); }

  /// The ids whose names `wanted` accepts.
  std::vector<std::uint32_t> ids(bool (*wanted)(std::string_view) noexcept) const;

 private:
  std::vector<std::string_view> names_;
};

}  // namespace rangefinder::source::cupti
