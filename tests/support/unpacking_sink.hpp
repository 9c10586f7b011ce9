// SPDX-License-Identifier: MIT
#pragma once

#include "source/source.hpp"

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace rangefinder::testing {

/// A sink that gets all rows by `write_rows`, those that come packed too.
class UnpackingSink : public source::RowSink {
 protected:
  void write_packed(format::FieldPacker& rows) noexcept final {
    const format::ChunkHeader header = rows.header();
    base::Compressor compressor;
    format::ColumnWriter columns(compressor);
    rows.finish(columns);
    base::Bytes payload;
    columns.finish(payload);
    format::ColumnReader in;
    std::vector<std::uint64_t> unpacked((header.rows * rows.row_bytes() + 7) / 8);
    if (!in.open(payload).ok() ||
        !format::unpack_fields(rows.fields(), in, unpacked.data(), rows.row_bytes(), header.rows).ok())
      std::abort();
    write_rows(static_cast<format::ChunkKind>(header.kind), unpacked.data(), rows.row_bytes(), header.rows,
               rows.fields());
  }
};

}  // namespace rangefinder::testing
