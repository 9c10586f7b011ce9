// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rangefinder::chrome {

/// Where text goes, in pieces and in order. After a failure nothing more is taken.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status write(std::string_view bytes) = 0;
  /// Everything is written; makes it last. Without it, an output file never appears.
  virtual Status finish() = 0;
};

/// A file that appears when it is whole. What is no regular file (a pipe, /dev/null) is written to as it is, and "-"
/// stands for standard output.
Result<std::unique_ptr<ByteSink>> open_output(const std::string& path, bool replace);

/// gzip: one member, no name and no time in its header, so that the same text gives the same bytes.
std::unique_ptr<ByteSink> gzip_into(std::unique_ptr<ByteSink> sink);

/// Breaks compact JSON into indented lines. Takes strict JSON only.
std::unique_ptr<ByteSink> indent_into(std::unique_ptr<ByteSink> sink);

/// Counts what passes.
std::unique_ptr<ByteSink> count_into(std::unique_ptr<ByteSink> sink, std::uint64_t& bytes);

}  // namespace rangefinder::chrome
