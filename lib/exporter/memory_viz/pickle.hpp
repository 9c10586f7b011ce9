// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::memory_viz {

/// Writes Python objects as a pickle of protocol 2, from left to right: plain numbers, texts, lists, dictionaries and
/// pairs of numbers, no objects that a reader would have to call anything for.
class Pickle {
 public:
  Pickle() : bytes_("\x80\x02") {}

  void number(std::uint64_t value) {
    bytes_ += '\x8a';  // LONG1, with a byte for the sign
    bytes_ += '\x09';
    put(value, 8);
    bytes_ += '\0';
  }
  void text(std::string_view value) {
    bytes_ += 'X';
    put(value.size(), 4);
    bytes_.append(value);
  }
  void boolean(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  void pair(std::uint64_t first, std::uint64_t second) {
    number(first);
    number(second);
    bytes_ += '\x86';
  }
  /// What is put in between, one after the other.
  void open_list() { bytes_ += "]("; }
  void close_list() { bytes_ += 'e'; }
  /// Key, value, key, value.
  void open_dictionary() { bytes_ += "}("; }
  void close_dictionary() { bytes_ += 'u'; }
  /// The object put last has this number from now on ...
  void remember(std::uint32_t number) {
    bytes_ += 'r';
    put(number, 4);
  }
  /// ... and stands here again.
  void again(std::uint32_t number) {
    bytes_ += 'j';
    put(number, 4);
  }

  std::string finish() && {
    bytes_ += '.';
    return std::move(bytes_);
  }

 private:
  void put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }

  std::string bytes_;
};

}  // namespace rangefinder::memory_viz
