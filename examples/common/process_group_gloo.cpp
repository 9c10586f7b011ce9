// SPDX-License-Identifier: MIT
// The one file that sees the declarations of gloo_declarations/.
#define USE_C10D_GLOO

#include "common/process_group_backends.hpp"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace examples {

bool has_gloo() noexcept { return true; }

c10::intrusive_ptr<c10d::Backend> make_gloo(const BackendOptions& options) {
  auto gloo = c10d::ProcessGroupGloo::Options::create(options.timeout);
  // The ranks of a benchmark are on one machine. By default Gloo listens at the address of the machine's name, which
  // need not have one.
  gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(options.store, options.rank, options.ranks, gloo);
}

}  // namespace examples
