// SPDX-License-Identifier: MIT
#pragma once

#include "support/replay/recorded_program.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace rangefinder::testing {

/// A program's side of NVTX: its calls go through NVTX's own headers to the functions of our injection.
class NvtxCalls {
 public:
  /// Makes the domain and the registered string that a text needs; before threads start.
  void announce(const RecordedText& text);

  void push(const RecordedText& text) const;
  void pop(const RecordedText& text) const;
  std::uint64_t start(const RecordedText& text) const;
  void end(const RecordedText& text, std::uint64_t id) const;
  void mark(const RecordedText& text) const;

 private:
  void* domain_of(const RecordedText& text) const;

  std::map<std::string, void*> domains_;
  std::map<std::pair<std::string, std::string>, void*> strings_;  // domain, text
};

}  // namespace rangefinder::testing
