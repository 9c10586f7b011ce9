// SPDX-License-Identifier: MIT
#include "base/cpu_key.hpp"

#include "support/catch.hpp"

using namespace rangefinder::base;

TEST_CASE("a machine's key is made of its model", "[base]") {
  CHECK(cpu_key("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", 2) == "cpu_intel_xeon_platinum_8481c_2t");
  CHECK(cpu_key("AMD EPYC 9654 96-Core Processor", 192) == "cpu_amd_epyc_9654_96_core_192t");
  CHECK(cpu_key("", 4) == "cpu_unnamed_4t");
  CHECK(cpu_key().rfind("cpu_", 0) == 0);
}
