// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/rangefinder.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Tables of recordings by Apache Arrow's C data interface, for programs that work with Arrow: pyarrow, pandas, Polars,
// DuckDB, R, Rust. No library of Arrow is needed. docs/reference/arrow.md lists the tables and their columns.
//
//   rf_timeline* timeline = NULL;
//   const char* const inputs[] = {"train.rfcap"};
//   if (rf_timeline_load(inputs, 1, 0, &timeline) != RF_STATUS_OK) return fail(rf_last_error());
//   struct ArrowArrayStream activities;
//   if (rf_timeline_table(timeline, "activities", &activities) == RF_STATUS_OK) import(&activities);
//   rf_timeline_free(timeline);  // what was imported keeps what it needs

#if defined(__cplusplus)
extern "C" {
#endif

// The structs as Arrow's specification gives them (arrow.apache.org/docs/format/CDataInterface.html). Other headers
// that declare them have the same guards.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif  // ARROW_C_STREAM_INTERFACE

/// A recording in memory: what rf_timeline_load read.
typedef struct rf_timeline rf_timeline;

/// Reads captures, folders of captures, traces of torch.profiler or an export of Nsight Systems; several are the
/// processes of one job. `max_memory_bytes`: input that needs more is refused (RF_STATUS_TOO_LARGE); 0: half of the
/// memory there is.
///
/// Cost: memory about 50 bytes an event.
RF_API rf_status rf_timeline_load(const char* const* inputs, size_t count, uint64_t max_memory_bytes,
                                  rf_timeline** timeline) RF_NOEXCEPT;
/// Tables that were taken from it stay valid: they hold the memory until they are released.
RF_API void rf_timeline_free(rf_timeline* timeline) RF_NOEXCEPT;

typedef struct rf_table_info {
  size_t struct_size;
  const char* name;         ///< "activities"; static
  const char* description;  ///< one sentence; static
} rf_table_info;

/// The tables that every timeline has.
RF_API size_t rf_table_count(void) RF_NOEXCEPT;
RF_API rf_status rf_table_at(size_t index, rf_table_info* table) RF_NOEXCEPT;

/// A table as a stream of one batch. Columns whose memory is laid out as Arrow wants it are not copied: the arrays
/// point into the timeline, which stays until the last of them is released. Names are dictionary arrays.
///
/// Units:   as the names of the columns say: `begin_ns` is nanoseconds on the timeline's clock.
/// Errors:  RF_STATUS_NOT_FOUND for a name that is none, with the nearest one. `table` is left alone then.
/// Threads: any; what is imported may be read by any number of threads.
/// Cost:    what is copied: a bit a row for columns that have nulls, columns that few inputs fill, and all names once.
RF_API rf_status rf_timeline_table(const rf_timeline* timeline, const char* name,
                                   struct ArrowArrayStream* table) RF_NOEXCEPT;
/// A view of rf_report_view_at, with its default options and all of its columns, as a stream of one batch. Numbers are
/// those of the view as JSON. A copy.
///
/// Errors: RF_STATUS_NOT_FOUND for a name that is none, with the nearest one.
RF_API rf_status rf_timeline_view(const rf_timeline* timeline, const char* name,
                                  struct ArrowArrayStream* table) RF_NOEXCEPT;

// ---- Parquet -------------------------------------------------------------------------------------------------------

/// A file of Parquet that is being written.
typedef struct rf_parquet_file rf_parquet_file;

/// What writes files of Parquet. Each function but the last returns null, or what went wrong: a text that is valid
/// until the calling thread's next call.
typedef struct rf_parquet_writer {
  size_t struct_size;
  /// Begins a file of rows of that schema, which it moves from, in the empty file of that descriptor, which stays the
  /// caller's and open until the file is closed or abandoned. `sorted_by`: positions of the columns by which the rows
  /// of each row group are in order, nulls first.
  const char* (*open)(int descriptor, struct ArrowSchema* schema, const int32_t* sorted_by, int32_t sorted_count,
                      rf_parquet_file** file);
  /// Writes a row group. Moves from `rows`, also where it fails.
  const char* (*write)(rf_parquet_file* file, struct ArrowArray* rows);
  /// Writes the end of the file and frees the handle, also where it fails.
  const char* (*close)(rf_parquet_file* file);
  /// Frees the handle of a file that is of no use.
  void (*abandon)(rf_parquet_file* file);
} rf_parquet_writer;

/// As ParquetExportOptions in parquet.hpp; rf_parquet_options_init sets the defaults.
typedef struct rf_parquet_options {
  size_t struct_size;
  const char* job;  ///< null: the default
  const char* run;  ///< null: the default
  uint64_t max_memory_bytes;
  uint32_t attribution;  ///< an rf_attribution
  bool replace;
  bool detail;
  bool reserved[2];
  const rf_parquet_writer* writer;  ///< null: the component librangefinder_parquet.so
} rf_parquet_options;

typedef struct rf_parquet_report {
  size_t struct_size;
  uint64_t recordings;
  uint64_t activities;
  uint64_t rows;  ///< of all tables
} rf_parquet_report;

RF_API rf_status rf_parquet_options_init(rf_parquet_options* options, size_t struct_size) RF_NOEXCEPT;
/// Writes recordings as Parquet into a folder: docs/reference/parquet-schema.md. `options` and `report` may be null.
///
/// Errors: as of rf_timeline_load; RF_STATUS_UNSUPPORTED where nothing writes Parquet; RF_STATUS_EXISTS, RF_STATUS_IO.
RF_API rf_status rf_export_parquet(const char* input, const char* folder, const rf_parquet_options* options,
                                   rf_parquet_report* report) RF_NOEXCEPT;

// ---- for bindings of other languages -------------------------------------------------------------------------------

/// Zeroed; null without memory. For functions of this library to fill.
RF_API struct ArrowArrayStream* rf_arrow_stream_new(void) RF_NOEXCEPT;
RF_API struct ArrowSchema* rf_arrow_schema_new(void) RF_NOEXCEPT;
/// Releases what is in it and has not been moved out, and frees it.
RF_API void rf_arrow_stream_free(struct ArrowArrayStream* stream) RF_NOEXCEPT;
RF_API void rf_arrow_schema_free(struct ArrowSchema* schema) RF_NOEXCEPT;

// Python hands tables over in capsules named "arrow_array_stream" and "arrow_schema". A capsule may be destroyed while
// an exception is on its way, when no code of Python can run: these are destructors for PyCapsule_New that free what
// the above made. `get_pointer` is PyCapsule_GetPointer, which this library does not link; the first one given holds.
typedef void* (*rf_capsule_pointer)(void* capsule, const char* name);
typedef void (*rf_capsule_destructor)(void* capsule);
RF_API rf_capsule_destructor rf_arrow_stream_destructor(rf_capsule_pointer get_pointer) RF_NOEXCEPT;
RF_API rf_capsule_destructor rf_arrow_schema_destructor(rf_capsule_pointer get_pointer) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
