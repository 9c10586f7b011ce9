// SPDX-License-Identifier: MIT
// docs/how-to/look-inside-cuda-graphs.md
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <map>
#include <string>
#include <vector>

// What the page leaves to its readers.
struct Graph {};
struct Tensor {};
struct Layer {
  std::string name;
  Tensor operator()(const Tensor& x) const;
};
struct Model {
  std::vector<Layer> layers;
};
static const int stream = 0;
static Model model;
static Tensor x;
static std::map<int, Graph> graphs;
void begin_capture(int stream);
Graph end_capture(int stream);
void serve(const std::map<int, Graph>& graphs);

int main() {
  rangefinder::prepare();  // first: before graphs are captured, and before CUDA is used
  for (int sequences : {8, 4, 2, 1}) {
    begin_capture(stream);
    {
      rangefinder::ProfileRange graph{"sequences." + std::to_string(sequences)};
      for (auto& layer : model.layers) {
        rangefinder::ProfileRange range{layer.name};
        x = layer(x);
      }
    }
    graphs[sequences] = end_capture(stream);
  }
  serve(graphs);
}
