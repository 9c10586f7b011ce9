// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rangefinder::importer::kineto {

/// What an event is, by its `cat`.
enum class Category : std::uint8_t {
  kOperator,
  kAnnotation,
  kPythonFunction,
  kGpuAnnotation,
  kKernel,
  kMemcpy,
  kMemset,
  kRuntimeCall,
  kDriverCall,
  kSync,
  kCudaEvent,
  kOverhead,
  kSpan,
  kLaunchFlow,
  kForwardBackward,
  kOther,
};

struct Spelling {
  std::string_view text;
  Category category;
};

/// Every spelling since torch 1.9, the commonest first: the list is searched from its front. ROCm's calls come as
/// cuda_runtime; XPU's and other devices' have names of their own.
inline constexpr std::array<Spelling, 28> kSpellings{{
    {"cpu_op", Category::kOperator},
    {"cuda_runtime", Category::kRuntimeCall},
    {"ac2g", Category::kLaunchFlow},
    {"kernel", Category::kKernel},
    {"python_function", Category::kPythonFunction},
    {"user_annotation", Category::kAnnotation},
    {"fwdbwd", Category::kForwardBackward},
    {"cuda_driver", Category::kDriverCall},
    {"gpu_memcpy", Category::kMemcpy},
    {"gpu_memset", Category::kMemset},
    {"gpu_user_annotation", Category::kGpuAnnotation},
    {"cuda_sync", Category::kSync},
    {"cuda_event", Category::kCudaEvent},
    {"overhead", Category::kOverhead},
    {"Trace", Category::kSpan},
    {"async_cpu_to_gpu", Category::kLaunchFlow},
    {"Operator", Category::kOperator},
    {"Runtime", Category::kRuntimeCall},
    {"async", Category::kLaunchFlow},
    {"Kernel", Category::kKernel},
    {"Memcpy", Category::kMemcpy},
    {"Memset", Category::kMemset},
    {"xpu_runtime", Category::kRuntimeCall},
    {"xpu_driver", Category::kDriverCall},
    {"privateuse1_runtime", Category::kRuntimeCall},
    {"privateuse1_driver", Category::kDriverCall},
    {"hip_runtime", Category::kRuntimeCall},
    {"hip_driver", Category::kDriverCall},
}};
inline constexpr std::size_t kNoSpelling = kSpellings.size();

/// Position in kSpellings, or kNoSpelling.
inline std::size_t find_spelling(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at != kSpellings.size() && kSpellings[at].text != text) ++at;
  return at;
}

inline Category category_of(std::size_t spelling) noexcept {
  return spelling == kNoSpelling ? Category::kOther : kSpellings[spelling].category;
}

}  // namespace rangefinder::importer::kineto
