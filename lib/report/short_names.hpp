// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// How texts are shortened to the width of a column. Printable text only.
namespace rangefinder::report {

/// `text` in at most `width` columns: its head, an ellipsis, its tail.
std::string shortened(std::string_view text, std::size_t width, bool utf8);

/// A path of ranges: the outer ones go first, ".../forward/layer.0", and the last name loses its middle at most.
std::string short_path(std::string_view path, std::size_t width, bool utf8);

/// The name of a function in at most `width` columns. What says least goes first: return type and parameters, the
/// namespaces, the namespaces in the template's arguments, then arguments from the last to the first. The name of the
/// template stays, and loses its middle only where it is too long by itself.
///
///   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)
///   vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>
///   vectorized_elementwise_kernel<4, ...>
///
/// What is no function's name ("Memcpy HtoD (Pageable -> Device)") is shortened in its middle.
std::string short_kernel_name(std::string_view name, std::size_t width, bool utf8);

}  // namespace rangefinder::report
