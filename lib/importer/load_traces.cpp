// SPDX-License-Identifier: MIT
#include "importer/load_traces.hpp"

#include "importer/capture/job.hpp"
#include "importer/kineto/kineto_importer.hpp"
#include "timeline/append.hpp"
#include "timeline/finish.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace rangefinder::importer {
namespace {

std::string host_of(const Timeline& trace, const std::string& path) {
  const std::string& named = trace.processes.front().host;
  return named.empty() ? std::filesystem::path(path).filename().string() : named;
}

/// Adds what a trace has by the wall clock of its host, which `hosts` learns of.
void add_trace(Timeline& job, Timeline trace, const std::string& path, JobHosts& hosts) {
  const std::size_t first = job.processes.size();
  for (std::size_t process = 0; process < trace.processes.size(); ++process)
    hosts.add(host_of(trace, path), {}, trace.realtime_offset_ns == kNoTime ? 0 : trace.realtime_offset_ns);
  const HostShift& shift = hosts.shift_of_process(first);
  if (first == 0) {
    // The first one's clock is the job's.
    job = std::move(trace);
    job.sources = {path};
    return;
  }
  timeline::append(job, trace, [&](std::int64_t time_ns) {
    std::int64_t moved = 0;
    return __builtin_add_overflow(time_ns, shift.at(time_ns), &moved) ? time_ns : moved;
  });
  job.sources.push_back(path);
  const std::string name = std::filesystem::path(path).filename().string();
  for (const std::string& note : trace.notes) job.notes.push_back(name + ": " + note);
}

Result<Timeline> read_traces(const std::vector<std::string>& paths, const LoadOptions& options, JobHosts& hosts) {
  Timeline job;
  for (const std::string& path : paths) {
    Result<Timeline> trace = kineto::import_kineto(path, options);
    if (!trace) return std::move(trace).error();
    if (trace->processes.empty()) return Error(ErrorCode::kUnreadable, path + ": no process in this trace");
    add_trace(job, std::move(*trace), path, hosts);
    hosts.note_rows(job);
  }
  return job;
}

}  // namespace

Result<Timeline> load_traces(const std::vector<std::string>& paths, const LoadOptions& options) {
  if (options.keep_arguments)
    return Error(ErrorCode::kUnsupported,
                 paths.front() + " ...: " + std::to_string(paths.size()) +
                     " traces; traces are exported one at a time, and read together by reports alone");
  JobHosts hosts;
  Result<Timeline> read = read_traces(paths, options, hosts);
  if (!read) return std::move(read).error();
  Timeline job = std::move(*read);
  if (options.align_hosts) hosts.align(job);
  hosts.describe(job);
  note_ranks(job);
  timeline::sort_metrics(job);
  timeline::measure_extent(job);
  return job;
}

}  // namespace rangefinder::importer
