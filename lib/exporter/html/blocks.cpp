// SPDX-License-Identifier: MIT
#include "exporter/html/blocks.hpp"

#include "exporter/html/encode.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::html {

std::size_t Blocks::add(std::string_view bytes) {
  const std::string packed = gzip(bytes);
  const bool smaller = packed.size() < bytes.size();
  blocks_.push_back({base64(smaller ? std::string_view(packed) : bytes), bytes.size(), smaller});
  return blocks_.size() - 1;
}

std::string Blocks::json() const {
  std::string out = "[";
  for (const Block& block : blocks_) {
    out += out.size() == 1 ? "{" : ",{";
    out += "\"coding\":";
    out += block.packed ? "\"gzip\"" : "\"plain\"";
    out += ",\"bytes\":" + std::to_string(block.bytes) + "}";
  }
  return out + "]";
}

std::uint64_t Blocks::text_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.text.size();
  return bytes;
}

std::size_t TableData::add(std::string name, const char* type) {
  columns_.push_back({std::move(name), type, {}});
  return columns_.size() - 1;
}

void TableData::varint(std::size_t column, std::uint64_t value) { append_varint(columns_[column].bytes, value); }

void TableData::zigzag(std::size_t column, std::int64_t value) { append_zigzag(columns_[column].bytes, value); }

void TableData::delta(std::size_t column, std::int64_t value) {
  Column& one = columns_[column];
  value = std::clamp(value, std::int64_t{0}, kMostSigned - 1);
  append_zigzag(one.bytes, value - one.last);
  one.last = value;
}

void TableData::f64(std::size_t column, double value) { append_f64(columns_[column].bytes, value); }

std::string TableData::json(Blocks& blocks) const {
  std::string bytes;
  std::string columns;
  for (const Column& column : columns_) {
    columns += columns.empty() ? "{\"name\":" : ",{\"name\":";
    append_json(columns, column.name);
    columns.append(",\"type\":\"").append(column.type);
    columns += "\",\"bytes\":" + std::to_string(column.bytes.size()) + "}";
    bytes += column.bytes;
  }
  return "{\"block\":" + std::to_string(blocks.add(bytes)) + ",\"rows\":" + std::to_string(rows_) + ",\"columns\":[" +
         columns + "]}";
}

}  // namespace rangefinder::html
