// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/text_output.hpp"
#include "exporter/perfetto/fields.hpp"

#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::perfetto {

/// A trace is a list of packets, each with its length before it: what is cut off ends in the middle of one packet, and
/// all before it can be read.
class Packets {
 public:
  explicit Packets(chrome::TextOutput& out) noexcept : out_(out) {}

  void write(std::string_view packet);

 private:
  chrome::TextOutput& out_;
};

/// Appends a message as a field of another one.
inline void add_message(std::string& to, Tag tag, std::string_view message) {
  protozero::pbf_writer(to).add_message(tag, message.data(), message.size());
}

/// Appends a text as a field: UTF-8, with U+FFFD for each byte that is not.
void add_text(std::string& to, Tag tag, std::string_view text);

}  // namespace rangefinder::perfetto
