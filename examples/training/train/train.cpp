// SPDX-License-Identifier: MIT
// Trains a small transformer on a text file and learns where the time went.
//
//   train [--device cpu|cuda] [--size smoke|cpu|gpu] [--steps N] [--text FILE] [--out FOLDER]
//
// Leaves FOLDER/train.rfcap (the capture) and FOLDER/train.pt.trace.json.gz (for chrome://tracing, Perfetto,
// TensorBoard).
#include "common/byte_corpus.hpp"
#include "common/transformer.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/torch/operators.hpp>

#include <torch/cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

namespace {

using rangefinder::ProfileRange;

struct Arguments {
  std::string device = torch::cuda::is_available() ? "cuda" : "cpu";
  std::string size;
  std::string text = TRAIN_CORPUS;
  std::string out = ".";
  int steps = 0;
};

struct Size {
  examples::TransformerOptions model;
  std::int64_t batch;
  int steps;
};

constexpr const char* kUsage =
    "train [--device cpu|cuda] [--size smoke|cpu|gpu] [--steps N] [--text FILE] [--out FOLDER]\n"
    "Trains a small transformer on bytes of a text; leaves train.rfcap and train.pt.trace.json.gz in FOLDER.\n";

Size size_named(const std::string& name) {
  if (name == "smoke") return {{256, 32, 2, 2, 32}, 4, 12};
  if (name == "cpu") return {{256, 96, 3, 4, 64}, 8, 60};
  if (name == "gpu") return {{256, 768, 12, 12, 512}, 32, 100};
  throw std::runtime_error("--size " + name + ": smoke, cpu or gpu");
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 >= argc) throw std::runtime_error(option + ": needs a value");
    const char* value = argv[++i];
    if (option == "--device")
      arguments.device = value;
    else if (option == "--size")
      arguments.size = value;
    else if (option == "--steps")
      arguments.steps = std::atoi(value);
    else if (option == "--text")
      arguments.text = value;
    else if (option == "--out")
      arguments.out = value;
    else
      throw std::runtime_error("unknown option " + option);
  }
  if (arguments.size.empty()) arguments.size = arguments.device == "cpu" ? "cpu" : "gpu";
  return arguments;
}

void train(const Arguments& arguments) {
  Size size = size_named(arguments.size);
  if (arguments.steps > 0) size.steps = arguments.steps;
  torch::manual_seed(42);
  const torch::Device device(arguments.device);
  examples::ByteCorpus corpus(arguments.text, size.model.sequence_length, 42);
  examples::Transformer model(size.model);
  model->to(device);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(3e-3));
  std::printf("training %lld parameters on %s: %d steps of %lld x %lld bytes\n",
              static_cast<long long>(model->parameter_count()), arguments.device.c_str(), size.steps,
              static_cast<long long>(size.batch), static_cast<long long>(size.model.sequence_length));

  std::filesystem::create_directories(arguments.out);
  rangefinder::SessionOptions options;
  options.output = arguments.out + "/train.rfcap";
  rangefinder::Session session(options);
  if (!session.status().ok()) std::fprintf(stderr, "not recording: %s\n", session.status().error().message().c_str());
  rangefinder::torch::OperatorRecording operators;

  for (int i = 0; i < size.steps; ++i) {
    ProfileRange step{"step"};
    torch::Tensor tokens, next, loss;
    {
      ProfileRange range{"data"};
      std::tie(tokens, next) = corpus.batch(size.batch);
      tokens = tokens.to(device);
      next = next.to(device);
    }
    {
      ProfileRange range{"forward"};
      const torch::Tensor logits = model(tokens);
      ProfileRange inner{"loss"};
      loss = torch::nn::functional::cross_entropy(logits.view({-1, size.model.vocabulary}), next.view({-1}));
    }
    {
      ProfileRange range{"backward"};
      optimizer.zero_grad();
      loss.backward();
    }
    {
      ProfileRange range{"optimizer"};
      optimizer.step();
    }
    // Reading the loss waits for the device: every tenth step is enough to see it fall.
    if (i % 10 == 0 || i + 1 == size.steps) {
      ProfileRange range{"log"};
      const double value = loss.item<double>();
      rangefinder::counter("loss", value);
      std::printf("step %3d  loss %.3f\n", i, value);
    }
    session.step();
  }
  if (rangefinder::Status status = session.stop(); !status.ok())
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
}

int show(const Arguments& arguments) {
  const std::string capture = arguments.out + "/train.rfcap";
  const std::string trace = arguments.out + "/train.pt.trace.json.gz";
  rangefinder::ReportOptions report;
  report.view = "tree";
  const rangefinder::Result<std::string> text = rangefinder::render_report(capture, report);
  if (!text) return std::fprintf(stderr, "%s\n", text.error().message().c_str()), 1;
  std::printf("\n%s\n", text->c_str());
  rangefinder::ChromeExportOptions chrome;
  chrome.replace = true;
  if (rangefinder::Status status = rangefinder::export_chrome_trace(capture, trace, chrome); !status.ok())
    return std::fprintf(stderr, "%s\n", status.error().message().c_str()), 1;
  std::printf("capture: %s\ntrace:   %s\n", capture.c_str(), trace.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--help") return std::printf("%s", kUsage) < 0 ? 1 : 0;
  }
  try {
    const Arguments arguments = parse(argc, argv);
    train(arguments);
    return show(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 2;
  }
}
