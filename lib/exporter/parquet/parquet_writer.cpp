// SPDX-License-Identifier: MIT
#include "exporter/parquet/parquet_writer.h"

#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type_traits.h>
#include <fcntl.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

struct rf_parquet_file {
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<arrow::io::FileOutputStream> output;
  std::unique_ptr<parquet::arrow::FileWriter> writer;
};

namespace {

// A level of ZSTD that keeps up with reading captures; higher ones make files a few per cent smaller.
constexpr int kCompressionLevel = 1;

thread_local std::string last_message;

/// Runs `work`, which returns an arrow::Status. Parquet throws, too.
template <typename Work>
const char* run(Work work) noexcept {
  try {
    const arrow::Status status = work();
    if (status.ok()) return nullptr;
    last_message = status.message();
    return last_message.c_str();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& thrown) {
    try {
      last_message = thrown.what();
      return last_message.c_str();
    } catch (...) {
      return "out of memory";
    }
  } catch (...) {
    return "something unknown was thrown";
  }
}

std::shared_ptr<parquet::WriterProperties> properties_of(const arrow::Schema& schema,
                                                         const std::vector<parquet::SortingColumn>& order) {
  parquet::WriterProperties::Builder builder;
  builder.compression(parquet::Compression::ZSTD)->compression_level(kCompressionLevel);
  builder.created_by("rangefinder");
  builder.version(parquet::ParquetVersion::PARQUET_2_6);
  builder.max_row_group_length(std::int64_t{1} << 26);  // each write is a row group
  for (const std::shared_ptr<arrow::Field>& field : schema.fields()) {
    if (arrow::is_integer(field->type()->id())) {
      builder.disable_dictionary(field->name());
      builder.encoding(field->name(), parquet::Encoding::DELTA_BINARY_PACKED);
    } else {
      builder.disable_statistics(field->name());  // the least and the greatest name of a row group help no reader
    }
  }
  if (!order.empty()) builder.set_sorting_columns(order);
  return builder.build();
}

arrow::Status open(int descriptor, ArrowSchema* schema, const std::vector<parquet::SortingColumn>& order,
                   rf_parquet_file& file) {
  ARROW_ASSIGN_OR_RAISE(file.schema, arrow::ImportSchema(schema));
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);  // Arrow closes what it is given
  if (own < 0) return arrow::Status::IOError("no file descriptor is left");
  ARROW_ASSIGN_OR_RAISE(file.output, arrow::io::FileOutputStream::Open(own));
  parquet::ArrowWriterProperties::Builder arrow_properties;
  arrow_properties.store_schema();  // readers of Arrow get dictionaries back
  ARROW_ASSIGN_OR_RAISE(file.writer,
                        parquet::arrow::FileWriter::Open(*file.schema, arrow::default_memory_pool(), file.output,
                                                         properties_of(*file.schema, order), arrow_properties.build()));
  return arrow::Status::OK();
}

const char* open_file(int descriptor, struct ArrowSchema* schema, const int32_t* sorted_by, int32_t sorted_count,
                      rf_parquet_file** file) noexcept {
  *file = nullptr;
  return run([&] {
    std::vector<parquet::SortingColumn> order;
    for (int32_t i = 0; i < sorted_count; ++i) order.push_back({sorted_by[i], false, true});
    auto opened = std::make_unique<rf_parquet_file>();
    arrow::Status status = open(descriptor, schema, order, *opened);
    if (schema->release != nullptr) schema->release(schema);
    if (status.ok()) *file = opened.release();
    return status;
  });
}

const char* write_rows(rf_parquet_file* file, struct ArrowArray* rows) noexcept {
  return run([&] {
    const arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch = arrow::ImportRecordBatch(rows, file->schema);
    if (!batch.ok()) return batch.status();
    const arrow::Result<std::shared_ptr<arrow::Table>> table = arrow::Table::FromRecordBatches(file->schema, {*batch});
    if (!table.ok()) return table.status();
    return file->writer->WriteTable(**table, std::max<std::int64_t>((*batch)->num_rows(), 1));
  });
}

const char* close_file(rf_parquet_file* file) noexcept {
  const std::unique_ptr<rf_parquet_file> owned(file);
  return run([&] {
    const arrow::Status status = owned->writer->Close();
    return status.ok() ? owned->output->Close() : status;
  });
}

void abandon_file(rf_parquet_file* file) noexcept {
  (void)run([&] {
    delete file;
    return arrow::Status::OK();
  });
}

constexpr rf_parquet_writer kWriter = {sizeof(rf_parquet_writer), open_file, write_rows, close_file, abandon_file};

}  // namespace

uint32_t rf_parquet_abi_version(void) noexcept { return RF_PARQUET_ABI_VERSION; }

const rf_parquet_writer* rf_parquet_arrow_writer(void) noexcept { return &kWriter; }
