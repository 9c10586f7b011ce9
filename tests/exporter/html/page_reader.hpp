// SPDX-License-Identifier: MIT
#pragma once

#include "support/json_value.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/timeline.hpp>

#include <zlib.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::testing {

/// A column of a table: numbers that are integers in the file, or doubles.
struct PageColumn {
  std::string type;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
};
using PageTable = std::map<std::string, PageColumn>;

/// A slice of the timeline, with times of the recording since its begin.
struct PageSlice {
  std::string track;
  std::string name;
  std::size_t depth = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t category = -1;  ///< -1: the track has no such column
  std::int64_t cause = 0;      ///< number of a slice, plus 1
};

/// A page, taken apart by lib/exporter/html/README.md and by nothing of the exporter. Throws for what does not keep to
/// it.
class PageReader {
 public:
  explicit PageReader(std::string html) : html_(std::move(html)), index_(JsonValue::parse(element("index"))) {
    names_ = read_names();
  }

  static PageReader of(const Timeline& timeline, const HtmlExportOptions& options = {},
                       HtmlExportReport* report = nullptr) {
    const ScratchFolder folder;
    export_html(timeline, folder.file("page.html"), options, report).value();
    return PageReader(read_file(folder.file("page.html")));
  }
  static std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  const std::string& html() const noexcept { return html_; }
  const JsonValue& index() const noexcept { return index_; }
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// The text of the element with that id.
  std::string_view element(const std::string& id) const {
    const std::string tag = " id=\"" + id + "\">";
    const std::size_t at = html_.find(tag);
    if (at == std::string::npos) throw std::runtime_error("page: no element " + id);
    const std::size_t begin = at + tag.size(), end = html_.find("</script>", begin);
    return std::string_view(html_).substr(begin, end - begin);
  }

  std::string block(std::int64_t number) const {
    const JsonValue& entry = index_["blocks"][static_cast<std::size_t>(number)];
    std::string bytes = from_base64(element("block-" + std::to_string(number)));
    if (entry["coding"].text() == "gzip") bytes = unpacked(bytes, static_cast<std::size_t>(entry["bytes"].integer()));
    if (bytes.size() != static_cast<std::size_t>(entry["bytes"].integer()))
      throw std::runtime_error("page: a block of another size than the index says");
    return bytes;
  }

  PageTable table(const JsonValue& descriptor) const {
    const std::string bytes = block(descriptor["block"].integer());
    const auto rows = static_cast<std::size_t>(descriptor["rows"].integer());
    PageTable out;
    std::size_t at = 0;
    for (const JsonValue& column : descriptor["columns"].items()) {
      const std::size_t end = at + static_cast<std::size_t>(column["bytes"].integer());
      if (end > bytes.size()) throw std::runtime_error("page: a column is longer than its block");
      PageColumn read = read_column(std::string_view(bytes).substr(at, end - at), column["type"].text(), rows);
      out[column["name"].text()] = std::move(read);
      at = end;
    }
    if (at != bytes.size()) throw std::runtime_error("page: a block has something behind its columns");
    return out;
  }

  /// Of all tracks but counters, in the order of their numbers.
  std::vector<PageSlice> slices() const {
    std::vector<PageSlice> out;
    if (!index_.has("timeline")) return out;
    for (const JsonValue& track : index_["timeline"]["tracks"].items())
      if (track["kind"].text() != "counter") add_slices(track, out);
    return out;
  }
  /// The only one of that name and track.
  static const PageSlice& find(const std::vector<PageSlice>& slices, std::string_view track, std::string_view name) {
    const PageSlice* found = nullptr;
    for (const PageSlice& slice : slices) {
      if (slice.track != track || slice.name != name) continue;
      if (found != nullptr) throw std::runtime_error("page: two slices " + std::string(name));
      found = &slice;
    }
    if (found == nullptr) throw std::runtime_error("page: no slice " + std::string(name) + " on " + std::string(track));
    return *found;
  }

  static std::string from_base64(std::string_view text) {
    std::string out;
    std::uint32_t group = 0;
    int bits = 0;
    for (const char c : text) {
      if (c == '=') break;
      group = group << 6 | digit(c);
      bits += 6;
      if (bits >= 8) {
        bits -= 8;
        out += static_cast<char>(group >> bits & 255);
      }
    }
    return out;
  }

 private:
  static std::uint32_t digit(char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a' + 26);
    if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0' + 52);
    if (c == '+') return 62;
    if (c == '/') return 63;
    throw std::runtime_error("page: no base64");
  }

  static std::string unpacked(const std::string& packed, std::size_t size) {
    std::string out(size, '\0');
    z_stream stream{};
    if (::inflateInit2(&stream, 15 + 16) != Z_OK) throw std::runtime_error("page: inflateInit2");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = ::inflate(&stream, Z_FINISH);
    ::inflateEnd(&stream);
    if (result != Z_STREAM_END || stream.avail_out != 0 || stream.avail_in != 0)
      throw std::runtime_error("page: a block is not a gzip stream of the size that the index says");
    return out;
  }

  static std::uint64_t take_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 56; shift += 7) {
      if (bytes.empty()) throw std::runtime_error("page: a varint is cut");
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    throw std::runtime_error("page: a varint of more than 8 bytes");
  }
  static std::int64_t signed_of(std::uint64_t value) {
    const auto half = static_cast<std::int64_t>(value / 2);
    return value % 2 == 0 ? half : -half - 1;
  }

  static PageColumn read_column(std::string_view bytes, const std::string& type, std::size_t rows) {
    PageColumn column{type, {}, {}};
    std::int64_t last = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      if (type == "u8") {
        column.integers.push_back(static_cast<unsigned char>(bytes.at(0)));
        bytes.remove_prefix(1);
      } else if (type == "f64") {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < 8; ++i) bits |= std::uint64_t{static_cast<unsigned char>(bytes.at(i))} << 8 * i;
        bytes.remove_prefix(8);
        column.reals.push_back(std::bit_cast<double>(bits));
      } else {
        const std::uint64_t value = take_varint(bytes);
        if (type == "varint") column.integers.push_back(static_cast<std::int64_t>(value));
        if (type == "zigzag") column.integers.push_back(signed_of(value));
        if (type == "delta") column.integers.push_back(last += signed_of(value));
        if (type != "varint" && type != "zigzag" && type != "delta") throw std::runtime_error("page: type " + type);
      }
    }
    if (!bytes.empty()) throw std::runtime_error("page: a column has something behind its rows");
    return column;
  }

  std::vector<std::string> read_names() const {
    const JsonValue& descriptor = index_["names"];
    const std::string text = block(descriptor["block"].integer());
    std::string_view bytes = text;
    std::vector<std::string> names;
    while (!bytes.empty()) {
      const std::uint64_t size = take_varint(bytes);
      names.emplace_back(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    if (names.size() != static_cast<std::size_t>(descriptor["count"].integer()))
      throw std::runtime_error("page: another number of names than the index says");
    return names;
  }

  void add_slices(const JsonValue& track, std::vector<PageSlice>& out) const {
    if (out.size() != static_cast<std::size_t>(track["first_slice"].integer()))
      throw std::runtime_error("page: slices are not numbered in order");
    const PageTable columns = table(track["table"]);
    std::size_t row = 0;
    for (std::size_t depth = 0; depth < track["depths"].size(); ++depth) {
      std::int64_t at = 0;
      for (std::int64_t left = track["depths"][depth].integer(); left > 0; --left, ++row) {
        PageSlice slice{track["label"].text(),
                        names_.at(static_cast<std::size_t>(columns.at("name").integers.at(row)))};
        slice.depth = depth;
        slice.begin_ns = at + columns.at("gap_ns").integers.at(row);
        slice.end_ns = at = slice.begin_ns + columns.at("duration_ns").integers.at(row);
        if (columns.count("category") != 0) slice.category = columns.at("category").integers.at(row);
        if (columns.count("cause") != 0) slice.cause = columns.at("cause").integers.at(row);
        out.push_back(slice);
      }
    }
    if (row != static_cast<std::size_t>(track["slices"].integer()))
      throw std::runtime_error("page: depths have another number of slices than the track");
  }

  std::string html_;
  JsonValue index_;
  std::vector<std::string> names_;
};

}  // namespace rangefinder::testing
