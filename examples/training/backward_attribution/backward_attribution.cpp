// SPDX-License-Identifier: MIT
// Which layer is the expensive one? Three ways to ask, three answers.
//
//   backward_attribution [--device cpu|cuda] [--size smoke|cpu|gpu] [--out FOLDER]
//
// `prepare` works on the host alone, `embed` has a cheap forward and a dear backward pass, `body` is the usual product
// of matrices, `head` runs without gradients. Exits with 1 where the views do not tell these apart.
#include "layer_views.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/torch/operators.hpp>

#include <torch/cuda.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using rangefinder::ProfileRange;

struct Size {
  std::int64_t words;
  std::int64_t width;
  std::int64_t batch;
  int steps;
};

Size size_named(const std::string& name) {
  if (name == "smoke") return {20'000, 32, 512, 4};
  if (name == "cpu") return {100'000, 64, 4'096, 10};
  if (name == "gpu") return {400'000, 512, 65'536, 30};
  throw std::runtime_error("--size " + name + ": smoke, cpu or gpu");
}

struct Arguments {
  std::string device = torch::cuda::is_available() ? "cuda" : "cpu";
  std::string size;
  std::string out = ".";
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 >= argc) throw std::runtime_error(option + ": needs a value");
    std::string* const to = option == "--device" ? &arguments.device
                            : option == "--size" ? &arguments.size
                            : option == "--out"  ? &arguments.out
                                                 : nullptr;
    if (to == nullptr) throw std::runtime_error("unknown option " + option);
    *to = argv[i + 1];
  }
  if (arguments.size.empty()) arguments.size = arguments.device == "cpu" ? "cpu" : "gpu";
  return arguments;
}

/// Host work without an operator: what a tokenizer does.
std::vector<std::int64_t> tokens_of(const Size& size, int step) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(size.batch));
  std::uint64_t state = static_cast<std::uint64_t>(step) + 1;
  for (std::int64_t& token : tokens) {
    for (int round = 0; round < 200; ++round) state = state * 6364136223846793005u + 1442695040888963407u;
    token = static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(size.words));
  }
  return tokens;
}

void train(const Arguments& arguments, const std::string& capture) {
  const Size size = size_named(arguments.size);
  const torch::Device device(arguments.device);
  torch::manual_seed(42);
  torch::nn::Embedding embed(size.words, size.width);
  torch::nn::Linear body(size.width, size.width);
  torch::nn::Linear head(size.width, size.width);
  for (torch::nn::Module* module : std::initializer_list<torch::nn::Module*>{embed.get(), body.get(), head.get()})
    module->to(device);

  rangefinder::SessionOptions options;
  options.output = capture;
  rangefinder::Session session(options);
  if (!session.status().ok()) throw std::runtime_error(session.status().error().message());
  rangefinder::torch::OperatorRecording operators;
  for (int step = 0; step < size.steps; ++step) {
    torch::Tensor tokens, x;
    {
      ProfileRange range{"prepare"};
      const std::vector<std::int64_t> made = tokens_of(size, step);
      tokens = torch::tensor(made).to(device);
    }
    {
      ProfileRange range{"embed"};
      x = embed(tokens);
    }
    {
      ProfileRange range{"body"};
      x = torch::relu(body(x));
    }
    {
      ProfileRange range{"head"};
      torch::NoGradGuard frozen;
      (void)head(x);
    }
    const torch::Tensor loss = x.square().mean();
    {
      ProfileRange range{"backward"};
      loss.backward();
    }
    embed->zero_grad();
    body->zero_grad();
    session.step();
  }
  if (rangefinder::Status status = session.stop(); !status.ok()) throw std::runtime_error(status.error().message());
}

const examples::LayerViews& row(const std::vector<examples::LayerViews>& rows, const std::string& layer) {
  for (const examples::LayerViews& each : rows)
    if (each.layer == layer) return each;
  throw std::runtime_error("no layer " + layer);
}

int show(const std::string& capture) {
  const rangefinder::Result<rangefinder::Timeline> timeline = rangefinder::load_timeline(capture);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  const std::vector<examples::LayerViews> rows =
      examples::layer_views(*timeline, {"prepare", "embed", "body", "head", "backward"});
  if (timeline->activities.size() == 0)
    std::printf("Nothing ran on a device: work is the time that operators and nodes of autograd took on the host.\n\n");
  std::printf("%-10s %12s %12s %12s\n", "layer", "clock, us", "launched, us", "forward, us");
  for (const examples::LayerViews& each : rows)
    std::printf("%-10s %12.1f %12.1f %12.1f\n", each.layer.c_str(), static_cast<double>(each.host_ns) * 1e-3,
                static_cast<double>(each.launch_ns) * 1e-3, static_cast<double>(each.forward_ns) * 1e-3);
  const bool told_apart = row(rows, "prepare").launch_ns < row(rows, "prepare").host_ns &&
                          row(rows, "embed").forward_ns > row(rows, "embed").launch_ns &&
                          row(rows, "body").forward_ns > row(rows, "body").launch_ns &&
                          row(rows, "head").launch_ns > 0 &&
                          row(rows, "head").forward_ns == row(rows, "head").launch_ns;
  if (!told_apart) std::fprintf(stderr, "backward_attribution: the views do not differ as they should\n");
  return told_apart ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    std::filesystem::create_directories(arguments.out);
    const std::string capture = arguments.out + "/backward_attribution.rfcap";
    train(arguments, capture);
    return show(capture);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backward_attribution: %s\n", error.what());
    return 2;
  }
}
