// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "exporter/chrome/byte_sink.hpp"
#include "exporter/chrome/capture_feed.hpp"
#include "exporter/chrome/export_run.hpp"
#include "exporter/chrome/timeline_feed.hpp"
#include "projection/split_graph_launches.hpp"

#include <rangefinder/exporters.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <optional>

namespace rangefinder {
namespace {

using chrome::ByteSink;

bool wants_gzip(const std::string& output, ExportCompression compression) noexcept {
  return compression == ExportCompression::kGzip ||
         (compression == ExportCompression::kBySuffix && output.ends_with(".gz"));
}

/// The chain that text goes through: lines, count, gzip, count, file.
Result<std::unique_ptr<ByteSink>> open_chain(const std::string& output, const ChromeExportOptions& options,
                                             ChromeExportReport& report) {
  Result<std::unique_ptr<ByteSink>> sink = chrome::open_output(output, options.replace);
  if (!sink) return std::move(sink).error();
  std::unique_ptr<ByteSink> chain = chrome::count_into(std::move(*sink), report.output_bytes);
  if (wants_gzip(output, options.compression)) chain = chrome::gzip_into(std::move(chain));
  chain = chrome::count_into(std::move(chain), report.json_bytes);
  if (options.pretty) chain = chrome::indent_into(std::move(chain));
  return chain;
}

/// Thrown through the work that the program's progress function ends.
struct Ended {};

template <typename Write>
Status export_with(const std::string& output, const ChromeExportOptions& options, ChromeExportReport* report,
                   Write write) {
  ChromeExportReport mine;
  ChromeExportReport& said = report != nullptr ? *report : mine;
  said = {};
  Result<std::unique_ptr<ByteSink>> sink = open_chain(output, options, said);
  if (!sink) return std::move(sink).error().with_context("export");
  chrome::TextOutput out(**sink);
  chrome::ExportNotes notes;
  try {
    if (Status written = write(out, notes, said.events); !written)
      return std::move(written).error().with_context("export");
  } catch (const Ended&) {
    return Error(ErrorCode::kIncomplete, "export: ended by the progress function; nothing was written to " + output);
  }
  out.flush();
  Status status = out.status().ok() ? (*sink)->finish() : out.status();
  if (!status.ok()) return std::move(status).error().with_context("export");
  said.overlapping = notes.count(chrome::ExportNotes::kOverlapping);
  said.left_out = notes.left_out();
  said.notes = notes.texts();
  return {};
}

chrome::Progress progress_of(const ChromeExportOptions& options) {
  return [&options](std::uint64_t done, std::uint64_t total) {
    if (options.progress != nullptr && !options.progress(options.progress_user, done, total)) throw Ended{};
  };
}

/// One capture, or what is left of it: read in windows of time. Anything else is loaded.
bool is_capture(const std::string& path) {
  if (base::is_directory(path) || base::is_special(path)) return false;
  Result<base::Fd> fd = base::open_for_reading(path);
  if (!fd) return false;
  std::array<std::byte, 8> first{};
  const Result<std::size_t> size = base::read_at(*fd, first, 0, path);
  return size.ok() && *size == first.size() &&
         (std::memcmp(first.data(), format::kFileMagic.data(), first.size()) == 0 ||
          std::memcmp(first.data(), format::kLiveMagic.data(), first.size()) == 0);
}

std::unique_ptr<chrome::EventTarget> target_of(const chrome::MakeTarget& make_target, chrome::TextOutput& out) {
  return make_target ? make_target(out) : nullptr;
}

/// Launches of graphs are divided already.
Status export_divided(const Timeline& timeline, const std::string& output, const ChromeExportOptions& options,
                      ChromeExportReport* report, const chrome::MakeTarget& make_target) {
  return export_with(
      output, options, report, [&](chrome::TextOutput& out, chrome::ExportNotes& notes, std::uint64_t& events) {
        const std::unique_ptr<chrome::EventTarget> target = target_of(make_target, out);
        events = chrome::write_timeline(timeline, options, out, notes, progress_of(options), target.get());
        return Status();
      });
}

ProjectionOptions projection_of(const ChromeExportOptions& options) { return {options.attribution, true, false}; }

}  // namespace

namespace chrome {

Status export_timeline(const Timeline& timeline, const std::string& output, const ChromeExportOptions& options,
                       ChromeExportReport* report, const MakeTarget& make_target) {
  const std::optional<Timeline> divided = projection::with_split_graph_launches(timeline, projection_of(options));
  return export_divided(divided ? *divided : timeline, output, options, report, make_target);
}

Status export_file(const std::string& input, const std::string& output, const ChromeExportOptions& options,
                   ChromeExportReport* report, const MakeTarget& make_target) {
  if (is_capture(input)) {
    Result<capture::CaptureReader> reader = capture::CaptureReader::open(input);
    if (!reader) return std::move(reader).error().with_context("export");
    return export_with(output, options, report, [&](TextOutput& out, ExportNotes& notes, std::uint64_t& events) {
      const std::unique_ptr<EventTarget> target = target_of(make_target, out);
      events = write_capture(*reader, options, out, notes, progress_of(options), CaptureWork::of_this_machine(),
                             target.get());
      return reader->file_status();
    });
  }
  LoadOptions load;
  load.keep_arguments = true;
  load.max_memory_bytes = options.max_memory_bytes;
  Result<Timeline> timeline = load_timeline(input, load);
  if (!timeline) return std::move(timeline).error().with_context("export");
  (void)split_graph_launches(*timeline, projection_of(options));
  return export_divided(*timeline, output, options, report, make_target);
}

}  // namespace chrome

Status export_chrome_trace(const Timeline& timeline, const std::string& output, const ChromeExportOptions& options,
                           ChromeExportReport* report) {
  return chrome::export_timeline(timeline, output, options, report);
}

Status export_chrome_trace(const std::string& input, const std::string& output, const ChromeExportOptions& options,
                           ChromeExportReport* report) {
  return chrome::export_file(input, output, options, report);
}

}  // namespace rangefinder
