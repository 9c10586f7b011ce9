// SPDX-License-Identifier: MIT
#include "base/cpu_key.hpp"

#include "support/catch.hpp"

using namespace rangefinder::base;

TEST_CASE("a machine's key is made of its model", "[base]") {
  CHECK(cpu_key("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", 2) == "cpu_intel_xeon_platinum_8481c_2t");
  CHECK(cpu_key("AMD EPYC 9654 96-Core Processor", 192) == "cpu_amd_epyc_9654_96_core_192t");
  CHECK(cpu_model("cpu_amd_epyc_9654_96_core_192t") == "cpu_amd_epyc_9654_96_core");
  CHECK(cpu_key("", 4) == "cpu_unnamed_4t");
  CHECK(cpu_key().rfind("cpu_", 0) == 0);
}

TEST_CASE("a processor's family is its architecture and the vectors that kernels are chosen by", "[base]") {
  const std::string wide = "fpu avx avx2 fma avx512f avx512dq avx512cd avx512bw avx512vl";
  CHECK(cpu_family("x86_64", wide) == "cpu_x86_64_avx512");
  CHECK(cpu_family("x86_64", "fma avx512f avx2 avx512er") == "cpu_x86_64_avx2");  // a part of AVX-512 is not enough
  CHECK(cpu_family("x86_64", "fpu avx2 bmi2 fma") == "cpu_x86_64_avx2");
  CHECK(cpu_family("x86_64", "fpu avx fma4 avx2x") == "cpu_x86_64");
  CHECK(cpu_family("aarch64", "fp asimd sve") == "cpu_aarch64");
  CHECK(cpu_family().rfind("cpu_", 0) == 0);
}
