// SPDX-License-Identifier: MIT
// What ProcessGroupGloo.hpp overrides of Gloo's store; names and types are those of Gloo's gloo/rendezvous/store.h. The
// real class has a base more. A virtual table made from this declaration could replace the one of the library, so none
// may be made: the destructor is never defined, and the test examples.gloo_symbols looks for it in our programs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gloo::rendezvous {

class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace gloo::rendezvous
