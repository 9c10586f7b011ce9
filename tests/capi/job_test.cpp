// SPDX-License-Identifier: MIT
//
// Views of a job of several ranks, through the C interface.
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/c/rangefinder.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using rangefinder::testing::ScratchFolder;

std::string event(std::string_view category, std::string_view name, int thread, int begin_us, int end_us,
                  std::string_view arguments = {}) {
  return "{\"ph\": \"X\", \"cat\": \"" + std::string(category) + "\", \"name\": \"" + std::string(name) +
         "\", \"pid\": " + (category == "kernel" ? "0" : "1") + ", \"tid\": " + std::to_string(thread) +
         ", \"ts\": " + std::to_string(begin_us) + ", \"dur\": " + std::to_string(end_us - begin_us) + ", \"args\": {" +
         std::string(arguments) + "}}";
}

std::string all_reduce(int number, int begin_us, int end_us) {
  return event("cpu_op", "record_param_comms", 10, begin_us, end_us,
               "\"Collective name\": \"allreduce\", \"In msg nelems\": 1000, \"Out msg nelems\": 1000, \"dtype\": "
               "\"Float\", \"Group size\": 2, \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\", "
               "\"Seq\": " +
                   std::to_string(number));
}

/// The trace of a rank, whose host all ranks share.
std::string write_trace(const ScratchFolder& folder, int rank, const std::vector<std::string>& events) {
  const std::string path = folder.file("rank" + std::to_string(rank) + ".json");
  std::ofstream file(path);
  file << "{\"schemaVersion\": 1, \"host_name\": \"one\", \"baseTimeNanoseconds\": 1700000000000000000, "
          "\"distributedInfo\": {\"rank\": "
       << rank << ", \"world_size\": 2}, \"traceEvents\": [";
  for (std::size_t i = 0; i < events.size(); ++i) file << (i == 0 ? "" : ",") << "\n" << events[i];
  file << "]}\n";
  return path;
}

/// Rank 1 comes later than rank 0 to the first all-reduce, and never to the second.
std::vector<std::string> write_job(const ScratchFolder& folder) {
  return {
      write_trace(folder, 0,
                  {all_reduce(0, 100, 110), event("cpu_op", "gloo:all_reduce", 20, 120, 420), all_reduce(1, 500, 510),
                   event("cuda_runtime", "cudaLaunchKernel", 10, 550, 551, "\"correlation\": 1"),
                   event("kernel", "gemm", 7, 560, 660, "\"device\": 0, \"stream\": 7, \"correlation\": 1")}),
      write_trace(folder, 1,
                  {// Without an end.
                   R"({"ph": "B", "cat": "user_annotation", "name": "late", "pid": 1, "tid": 10, "ts": 0})",
                   all_reduce(0, 300, 310), event("cpu_op", "gloo:all_reduce", 20, 320, 420)})};
}

std::string view_of(const std::vector<std::string>& paths, const char* view, const char* columns,
                    const char* by = nullptr) {
  rf_report_options options;
  REQUIRE(rf_report_options_init(&options, sizeof options) == RF_STATUS_OK);
  options.view = view;
  options.format = RF_REPORT_CSV;
  options.columns = columns;
  options.by = by;
  std::vector<const char*> inputs;
  for (const std::string& path : paths) inputs.push_back(path.c_str());
  rf_text* report = nullptr;
  const rf_status status = rf_report_job(inputs.data(), inputs.size(), &options, &report);
  INFO(rf_last_error());
  REQUIRE(status == RF_STATUS_OK);
  const std::string text(rf_text_data(report), rf_text_size(report));
  rf_text_free(report);
  return text;
}

}  // namespace

TEST_CASE("collectives of a job, and each rank's part of them, are read through C", "[capi]") {
  const ScratchFolder folder;
  const std::vector<std::string> paths = write_job(folder);
  for (const std::vector<std::string>& inputs : {paths, std::vector<std::string>{folder.path()}}) {
    CHECK(view_of(inputs, "collectives", "collective,ranks,count,bytes,latency_avg_ns,skew_avg_ns,mostly_last")
              .find("\nall_reduce,2,2,4000,") != std::string::npos);
    CHECK(view_of(inputs, "collective_calls", "collective,rank,number,elements_in,type,call_ns,work_ns,range") ==
          "Collective,Rank,Number,Elements in,Type,Call (ns),Work (ns),Range\n"
          "all_reduce,0,0,1000,Float,10000,300000,\n"
          "all_reduce,0,1,1000,Float,10000,10000,\n"
          "all_reduce,1,0,1000,Float,10000,100000,late\n");
  }
}

TEST_CASE("a hang and a breakdown of a job are read through C", "[capi]") {
  const ScratchFolder folder;
  const std::vector<std::string> paths = write_job(folder);
  CHECK(view_of(paths, "hang", "rank,number,state,range") ==
        "Rank,Number,State,Range\n0,1,waits,\n1,1,never came,late\n");
  CHECK(view_of(paths, "breakdown", "device,computation_ns,total_ns")
            .find("Device,Computation (ns),Total (ns)\n0,100000,100000\n") == 0);
  CHECK(view_of(paths, "breakdown", "range,computation_ns", "range") ==
        "Range,Computation (ns)\n(outside any range),100000\n");
}

TEST_CASE("what of a job cannot be read together is unsupported", "[capi]") {
  const ScratchFolder folder;
  write_job(folder);
  const rf_status status =
      rf_export_chrome_trace(folder.path().c_str(), folder.file("both.json").c_str(), nullptr, nullptr);
  CHECK(status == RF_STATUS_UNSUPPORTED);
  CHECK(std::string(rf_last_error()).find("traces are exported one at a time") != std::string::npos);
}
