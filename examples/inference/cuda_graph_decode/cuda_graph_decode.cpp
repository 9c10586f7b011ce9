// SPDX-License-Identifier: MIT
// A decoder that replays CUDA graphs, as servers do: which layer takes the time, inside of a launch that knows none?
//
//   cuda_graph_decode [--size smoke|gpu] [--out FOLDER]
//
// A graph is captured for each number of sequences, largest first, all in one pool of memory, before any session runs:
// `prepare` makes their ranges known to those that come. Then a session records replays. The report has the layers of
// each graph, and by attribution `launch` nothing but the replay. Exits with 1 where it does not; with 0, and a line
// that says why, on a machine without CUDA.
#include "workloads/graphs/captured_work.hpp"
#include "workloads/graphs/fixed_decoder.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <torch/cuda.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using rangefinder::ProfileRange;

// Largest first: what a graph makes on its way fits into what a larger one has left.
constexpr int kSequences[] = {8, 4, 2, 1};

examples::FixedDecoderOptions size_named(const std::string& name) {
  if (name == "smoke") return {512, 64, 2, 4, 32, 8};
  if (name == "gpu") return {32'000, 1'024, 8, 16, 256, 8};
  throw std::runtime_error("--size " + name + ": smoke or gpu");
}

struct Arguments {
  std::string size = "gpu";
  std::string out = ".";
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    std::string* const to = option == "--size" ? &arguments.size : option == "--out" ? &arguments.out : nullptr;
    if (to == nullptr) throw std::runtime_error("unknown option " + option);
    if (i + 1 >= argc) throw std::runtime_error(option + ": needs a value");
    *to = argv[i + 1];
  }
  return arguments;
}

void decode(const Arguments& arguments, const std::string& capture) {
  torch::manual_seed(42);
  const examples::FixedDecoderOptions options = size_named(arguments.size);
  examples::FixedDecoder decoder(options, torch::kCUDA);

  const examples::GraphPool pool;
  std::vector<examples::CapturedWork> graphs;
  for (const int sequences : kSequences) {
    decoder.restart();
    graphs.emplace_back(
        [&] {
          const ProfileRange range{"sequences." + std::to_string(sequences)};
          decoder.step(sequences);
        },
        pool);
  }

  rangefinder::SessionOptions session_options;
  session_options.output = capture;
  rangefinder::Session session(session_options);
  if (!session.status().ok()) throw std::runtime_error(session.status().error().message());
  for (examples::CapturedWork& graph : graphs) {
    decoder.clear();
    for (std::int64_t token = 0; token < options.length; ++token) {
      const ProfileRange range{"replay"};
      graph.replay();
      session.step(1);
    }
    torch::cuda::synchronize();
  }
  if (rangefinder::Status status = session.stop(); !status.ok()) throw std::runtime_error(status.error().message());
}

/// Device operations of all ranges of that name.
std::uint64_t operations_in(const rangefinder::Timeline& timeline, rangefinder::Attribution attribution,
                            std::string_view name) {
  const rangefinder::Projection projection = rangefinder::project(timeline, {attribution, true, false});
  std::uint64_t operations = 0;
  for (rangefinder::RangeIndex range{0}; range < timeline.ranges.size(); ++range)
    if (timeline.text(timeline.ranges.name[range]) == name) operations += projection.inclusive[range].gpu_ops;
  return operations;
}

int show(const std::string& capture) {
  using rangefinder::Attribution;
  rangefinder::ReportOptions options;
  options.view = "tree";
  const rangefinder::Result<std::string> report = rangefinder::render_report(capture, options);
  if (!report) throw std::runtime_error(report.error().message());
  std::fputs(report->c_str(), stdout);
  const rangefinder::Result<rangefinder::Timeline> timeline = rangefinder::load_timeline(capture);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  const bool told_apart = operations_in(*timeline, Attribution::kCapture, "layer.0") > 0 &&
                          operations_in(*timeline, Attribution::kCapture, "head") > 0 &&
                          operations_in(*timeline, Attribution::kLaunch, "layer.0") == 0 &&
                          operations_in(*timeline, Attribution::kLaunch, "replay") > 0;
  if (!told_apart) std::fprintf(stderr, "cuda_graph_decode: the replays do not show their layers\n");
  return told_apart ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const rangefinder::DeviceState device = rangefinder::prepare();
    const Arguments arguments = parse(argc, argv);
    (void)size_named(arguments.size);
    if (!torch::cuda::is_available() || !examples::graphs_built()) {
      std::printf("cuda_graph_decode: nothing to do: %s\n",
                  examples::graphs_built() ? "no CUDA device" : "built without a CUDA toolkit");
      return 0;
    }
    if (!device.full) std::fprintf(stderr, "cuda_graph_decode: %s\n", device.reason.c_str());
    std::filesystem::create_directories(arguments.out);
    const std::string capture = arguments.out + "/cuda_graph_decode.rfcap";
    decode(arguments, capture);
    return show(capture);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_graph_decode: %s\n", error.what());
    return 2;
  }
}
