// SPDX-License-Identifier: MIT
// Values are encoded by column_encoder.cpp, several times as fast as Arrow C++ does; what is around them, from the
// header of a page to the end of the file, is Arrow's.
#include "exporter/parquet/parquet_writer.h"

#include "exporter/parquet/column_encoder.hpp"

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type_traits.h>
#include <arrow/util/base64.h>
#include <arrow/util/key_value_metadata.h>
#include <fcntl.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_page.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct rf_parquet_file {
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<arrow::io::FileOutputStream> output;
  std::shared_ptr<parquet::WriterProperties> properties;
  std::shared_ptr<parquet::SchemaDescriptor> parquet_schema;
  std::unique_ptr<parquet::FileMetaDataBuilder> metadata;
  rangefinder::parquet::ColumnEncoder encoder;
  std::shared_ptr<arrow::ResizableBuffer> compressed;
  std::int16_t groups = 0;
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

using rangefinder::parquet::EncodedColumn;
using rangefinder::parquet::Validity;

std::shared_ptr<parquet::WriterProperties> properties_of(const std::vector<parquet::SortingColumn>& order) {
  parquet::WriterProperties::Builder builder;
  builder.created_by("rangefinder");
  builder.version(parquet::ParquetVersion::PARQUET_2_6);
  builder.compression(parquet::Compression::ZSTD);
  if (!order.empty()) builder.set_sorting_columns(order);
  return builder.build();
}

arrow::Status open(int descriptor, ArrowSchema* schema, const std::vector<parquet::SortingColumn>& order,
                   rf_parquet_file& file) {
  ARROW_ASSIGN_OR_RAISE(file.schema, arrow::ImportSchema(schema));
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);  // Arrow closes what it is given
  if (own < 0) return arrow::Status::IOError("no file descriptor is left");
  ARROW_ASSIGN_OR_RAISE(file.output, arrow::io::FileOutputStream::Open(own));
  file.properties = properties_of(order);
  ARROW_RETURN_NOT_OK(parquet::arrow::ToParquetSchema(file.schema.get(), *file.properties, &file.parquet_schema));
  file.metadata = parquet::FileMetaDataBuilder::Make(file.parquet_schema.get(), file.properties);
  ARROW_ASSIGN_OR_RAISE(file.compressed, arrow::AllocateResizableBuffer(0));
  return file.output->Write("PAR1", 4);
}

// ---- a column of a row group ---------------------------------------------------------------------------------------

template <typename Array>
auto values_of(const arrow::Array& column) {
  const auto& typed = static_cast<const Array&>(column);
  return std::span(typed.raw_values(), static_cast<std::size_t>(typed.length()));
}

/// The distinct texts; they stay in the column.
std::vector<std::string_view> texts_of(const arrow::DictionaryArray& column) {
  const auto& texts = static_cast<const arrow::StringArray&>(*column.dictionary());
  std::vector<std::string_view> out;
  out.reserve(static_cast<std::size_t>(texts.length()));
  for (std::int64_t i = 0; i < texts.length(); ++i) out.push_back(texts.GetView(i));
  return out;
}

/// What RowFile makes; null for anything else.
const EncodedColumn* encode(rangefinder::parquet::ColumnEncoder& encoder, const arrow::Array& column, bool nullable) {
  if (column.offset() != 0) return nullptr;
  const Validity valid{column.null_bitmap_data(), nullable};
  switch (column.type_id()) {
    case arrow::Type::INT64:
      return &encoder.numbers(values_of<arrow::Int64Array>(column), valid);
    case arrow::Type::INT32:
      return &encoder.numbers(values_of<arrow::Int32Array>(column), valid);
    case arrow::Type::BOOL:
      if (nullable) return nullptr;
      return &encoder.flags(column.data()->buffers[1]->data(), static_cast<std::size_t>(column.length()));
    case arrow::Type::DICTIONARY: {
      const auto& texts = static_cast<const arrow::DictionaryArray&>(column);
      if (texts.indices()->type_id() != arrow::Type::INT32 || texts.dictionary()->type_id() != arrow::Type::STRING)
        return nullptr;
      return &encoder.texts(values_of<arrow::Int32Array>(*texts.indices()), texts_of(texts), valid);
    }
    default:
      return nullptr;
  }
}

template <typename Number>
std::string bytes_of(std::int64_t value) {
  const auto number = static_cast<Number>(value);
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

/// Of numbers alone: the least and the greatest name help no reader.
void put_statistics(const EncodedColumn& column, arrow::Type::type type, parquet::ColumnChunkMetaDataBuilder& chunk) {
  if (!arrow::is_integer(type)) return;
  parquet::EncodedStatistics statistics;
  statistics.set_is_signed(true);
  statistics.set_null_count(static_cast<std::int64_t>(column.missing));
  if (column.has_range) {
    const auto bytes = type == arrow::Type::INT64 ? bytes_of<std::int64_t> : bytes_of<std::int32_t>;
    statistics.set_min(bytes(column.least));
    statistics.set_max(bytes(column.greatest));
  }
  chunk.SetStatistics(statistics);
}

parquet::Encoding::type encoding_of(EncodedColumn::Encoding encoding) noexcept {
  switch (encoding) {
    case EncodedColumn::Encoding::kDictionary:
      return parquet::Encoding::RLE_DICTIONARY;
    case EncodedColumn::Encoding::kDelta:
      return parquet::Encoding::DELTA_BINARY_PACKED;
    default:
      return parquet::Encoding::PLAIN;
  }
}

std::shared_ptr<arrow::Buffer> buffer_of(const std::vector<std::uint8_t>& bytes) {
  return std::make_shared<arrow::Buffer>(bytes.data(), static_cast<std::int64_t>(bytes.size()));
}

/// Returns how many bytes it takes before compression.
std::int64_t write_pages(rf_parquet_file& file, const EncodedColumn& column, std::int32_t rows,
                         parquet::PageWriter& pages) {
  const bool has_dictionary = column.encoding == EncodedColumn::Encoding::kDictionary;
  std::int64_t written = 0;
  if (has_dictionary)
    written += pages.WriteDictionaryPage(parquet::DictionaryPage(
        buffer_of(column.dictionary), static_cast<std::int32_t>(column.dictionary_values), parquet::Encoding::PLAIN));
  const std::shared_ptr<arrow::Buffer> plain = buffer_of(column.page);
  pages.Compress(*plain, file.compressed.get());
  written += pages.WriteDataPage(parquet::DataPageV1(file.compressed, rows, encoding_of(column.encoding),
                                                     parquet::Encoding::RLE, parquet::Encoding::RLE, plain->size()));
  pages.Close(has_dictionary, false);
  return written;
}

arrow::Status write_group(rf_parquet_file& file, const arrow::RecordBatch& rows) {
  constexpr std::size_t most_bytes = std::numeric_limits<std::int32_t>::max();  // of a page, which tells its length
  if (rows.num_rows() > std::int64_t{1} << 26) return arrow::Status::Invalid("a row group has 2^26 rows at most");
  parquet::RowGroupMetaDataBuilder& group = *file.metadata->AppendRowGroup();
  group.set_num_rows(rows.num_rows());
  std::int64_t written = 0;
  for (int i = 0; i < rows.num_columns(); ++i) {
    const arrow::Field& field = *file.schema->field(i);
    const EncodedColumn* const column = encode(file.encoder, *rows.column(i), field.nullable());
    if (column == nullptr) return arrow::Status::NotImplemented("column ", field.ToString());
    if (column->page.size() > most_bytes || column->dictionary.size() > most_bytes)
      return arrow::Status::Invalid("column ", field.name(), " takes more than 2 GiB in a row group");
    parquet::ColumnChunkMetaDataBuilder& chunk = *group.NextColumnChunk();
    put_statistics(*column, field.type()->id(), chunk);
    const std::unique_ptr<parquet::PageWriter> pages =
        parquet::PageWriter::Open(file.output, parquet::Compression::ZSTD, &chunk, file.groups,
                                  static_cast<std::int16_t>(i), arrow::default_memory_pool(), false, nullptr, nullptr,
                                  false, nullptr, nullptr, parquet::CodecOptions(kCompressionLevel));
    written += write_pages(file, *column, static_cast<std::int32_t>(rows.num_rows()), *pages);
  }
  group.Finish(written, file.groups++);
  return arrow::Status::OK();
}

/// With the schema as Arrow has it, from which its readers give dictionaries back.
arrow::Status finish(rf_parquet_file& file) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> schema, arrow::ipc::SerializeSchema(*file.schema));
  const std::string text = arrow::util::base64_encode(std::string_view(*schema));
  const std::unique_ptr<parquet::FileMetaData> metadata =
      file.metadata->Finish(arrow::key_value_metadata({"ARROW:schema"}, {text}));
  parquet::WriteFileMetaData(*metadata, file.output.get());
  return file.output->Close();
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
    return batch.ok() ? write_group(*file, **batch) : batch.status();
  });
}

const char* close_file(rf_parquet_file* file) noexcept {
  const std::unique_ptr<rf_parquet_file> owned(file);
  return run([&] { return finish(*owned); });
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
