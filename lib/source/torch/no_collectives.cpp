// SPDX-License-Identifier: MIT
//
// Instead of collectives.cpp, with a LibTorch that was built without c10d.
#include <rangefinder/torch/collectives.hpp>

#include <string>

namespace rangefinder::torch {

CollectiveRecording::CollectiveRecording(const CollectiveOptions& options) : options_(options) {}
CollectiveRecording::~CollectiveRecording() = default;

const std::string& CollectiveRecording::state() const noexcept {
  static const std::string& reason = *new std::string("this LibTorch was built without c10d, its distributed part");
  return reason;
}

CalledCollective::CalledCollective() noexcept : handle_(0) {}
WaitForCollective::WaitForCollective(const CalledCollective& called) noexcept : handle_(called.handle_) {}
WaitForCollective::~WaitForCollective() = default;

}  // namespace rangefinder::torch
