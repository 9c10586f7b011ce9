// SPDX-License-Identifier: MIT
//
// The range in which each node of a backward pass was made, as captures have it, against a reference that watches every
// operator of the forward pass.
#include "libtorch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

using Number = std::pair<std::uint64_t, std::int64_t>;  // thread that made it, sequence number

/// Watches every operator: what was numbered while it ran belongs to the range that was innermost then. And every node.
class Reference {
 public:
  Reference() {
    instance = this;
    operators_ = at::addGlobalCallback(at::RecordFunctionCallback(
                                           [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
                                             instance->note();
                                             return nullptr;
                                           },
                                           [](const at::RecordFunction&, at::ObserverContext*) { instance->note(); })
                                           .scopes({at::RecordScope::FUNCTION}));
    nodes_ = at::addGlobalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& node) -> std::unique_ptr<at::ObserverContext> {
          const std::lock_guard lock(instance->mutex_);
          instance->ran.push_back({node.forwardThreadId(), node.seqNr()});
          return nullptr;
        }).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  }
  ~Reference() {
    at::removeCallback(operators_);
    at::removeCallback(nodes_);
  }

  /// What was numbered since the last look was made in `innermost()`.
  void note() {
    const std::uint64_t next = at::sequence_number::peek();
    const std::lock_guard lock(mutex_);
    auto& seen = seen_[at::RecordFunction::currentThreadId()];
    if (!seen.has_value()) seen = next;
    for (; *seen < next; ++*seen)
      made_in[{at::RecordFunction::currentThreadId(), static_cast<std::int64_t>(*seen)}] =
          ranges.empty() ? std::string() : ranges.back();
  }

  static thread_local std::vector<std::string> ranges;
  std::map<Number, std::string> made_in;
  std::vector<Number> ran;

 private:
  static Reference* instance;
  std::mutex mutex_;
  std::map<std::uint64_t, std::optional<std::uint64_t>> seen_;
  at::CallbackHandle operators_ = 0;
  at::CallbackHandle nodes_ = 0;
};
thread_local std::vector<std::string> Reference::ranges;
Reference* Reference::instance = nullptr;

/// A range that the reference hears of.
class Marked {
 public:
  explicit Marked(const std::string& name) : range_(name) { Reference::ranges.push_back(name); }
  ~Marked() { Reference::ranges.pop_back(); }
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;

 private:
  ProfileRange range_;
};

/// Name of the innermost range that was open where and when the node was made; empty: none; "?": not known.
std::string made_in(const Timeline& timeline, std::size_t node) {
  const AutogradNodeTable& nodes = timeline.autograd_nodes;
  const RangeTable& ranges = timeline.ranges;
  if (nodes.forward_thread[node] == kNone) return "?";
  RangeIndex innermost = kNone;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if (ranges.thread[range] != nodes.forward_thread[node] || ranges.begin_ns[range] > nodes.forward_ns[node] ||
        ranges.end_ns[range] <= nodes.forward_ns[node])
      continue;
    if (innermost == kNone || ranges.begin_ns[range] >= ranges.begin_ns[innermost]) innermost = range;
  }
  return innermost == kNone ? "" : std::string(timeline.text(ranges.name[innermost]));
}

Timeline record(const std::string& path, const std::function<void()>& program) {
  SessionOptions options;
  options.output = path;
  options.cuda = false;
  Session session(options);
  REQUIRE(session.status().ok());
  program();
  REQUIRE(session.stop().ok());
  Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline.ok());
  return std::move(*timeline);
}

/// By sequence number, of the nodes that have one: each once, though it may have run more often.
std::map<std::int64_t, std::string> made_in_by_number(const Timeline& timeline) {
  std::map<std::int64_t, std::string> found;
  for (std::size_t node = 0; node < timeline.autograd_nodes.size(); ++node) {
    if (timeline.autograd_nodes.sequence[node] >= 0)
      found[timeline.autograd_nodes.sequence[node]] = made_in(timeline, node);
  }
  return found;
}

std::vector<std::string> values_of(const std::map<std::int64_t, std::string>& found) {
  std::vector<std::string> values;
  for (const auto& [number, name] : found) values.push_back(name);
  return values;
}

at::Tensor parameter(std::int64_t n = 4) { return at::rand({n, n}).requires_grad_(true); }

void backward(const at::Tensor& loss, bool keep = false, bool create = false) {
  torch::autograd::backward({loss}, {}, keep, create);
}

using Names = std::vector<std::string>;

/// y = x * x + x, by a function of its own.
struct Square : torch::autograd::Function<Square> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return x * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {2 * context->get_saved_variables()[0] * gradients[0]};
  }
};

}  // namespace

TEST_CASE("each node is in the range that made it", "[torch]") {
  const ScratchFolder folder;
  at::Tensor a = parameter(), b = parameter();
  SECTION("nested, one after the other, and in none") {
    const Timeline timeline = record(folder.file("a.rfcap"), [&] {
      at::Tensor x;
      {
        const ProfileRange outer{"outer"};
        x = a.mul(b);
        {
          const ProfileRange inner{"inner"};
          x = x.relu();
        }
        x = x.add(a);
      }
      x = x.sin();
      const ProfileRange rest{"rest"};
      x = x.sum();
      backward(x);
    });
    CHECK(values_of(made_in_by_number(timeline)) == Names{"outer", "inner", "outer", "", "rest"});
    std::size_t gradients = 0;
    const AutogradNodeTable& nodes = timeline.autograd_nodes;
    for (std::size_t node = 0; node < nodes.size(); ++node) gradients += nodes.sequence[node] < 0 ? 1 : 0;
    CHECK(gradients >= 2);
  }
  SECTION("views, and operators in place") {
    const Timeline timeline = record(folder.file("a.rfcap"), [&] {
      at::Tensor x, y;
      {
        const ProfileRange range{"clone"};
        x = a.clone();
      }
      {
        const ProfileRange range{"view"};
        y = x.view({-1}).slice(0, 0, 8);
      }
      {
        const ProfileRange range{"in place"};
        y.mul_(b.view({-1}).slice(0, 0, 8));
      }
      const ProfileRange range{"sum"};
      backward(x.sum());
    });
    const Names found = values_of(made_in_by_number(timeline));
    REQUIRE(!found.empty());
    CHECK(found.front() == "clone");
    CHECK(found.back() == "sum");
    CHECK(std::count(found.begin(), found.end(), "in place") >= 1);
    CHECK(std::count(found.begin(), found.end(), "?") == 0);
  }
  SECTION("a function of the program's own") {
    const Timeline timeline = record(folder.file("a.rfcap"), [&] {
      at::Tensor x;
      {
        const ProfileRange range{"square"};
        x = Square::apply(a);
      }
      const ProfileRange range{"sum"};
      backward(x.sum());
    });
    CHECK(values_of(made_in_by_number(timeline)) == Names{"square", "sum"});
  }
  SECTION("one graph, several times") {
    const Timeline timeline = record(folder.file("a.rfcap"), [&] {
      at::Tensor x;
      {
        const ProfileRange range{"forward"};
        x = a.mul(b).sum();
      }
      const ProfileRange range{"backward"};
      backward(x, true);
      backward(x);
    });
    CHECK(values_of(made_in_by_number(timeline)) == Names{"forward", "forward"});
    std::size_t numbered = 0;
    const AutogradNodeTable& nodes = timeline.autograd_nodes;
    for (std::size_t node = 0; node < nodes.size(); ++node) numbered += nodes.sequence[node] >= 0 ? 1 : 0;
    CHECK(numbered == 4);
  }
  SECTION("nodes that a backward pass makes") {
    const Timeline timeline = record(folder.file("a.rfcap"), [&] {
      at::Tensor x;
      {
        const ProfileRange range{"forward"};
        x = a.mul(a).sum();
      }
      at::Tensor gradient;
      {
        const ProfileRange range{"first"};
        gradient = torch::autograd::grad({x}, {a}, {}, true, true)[0];
      }
      const ProfileRange range{"second"};
      backward(gradient.sum());
    });
    // What the first pass made was made in its nodes, which count as made in "first": they ran there.
    const Names found = values_of(made_in_by_number(timeline));
    REQUIRE(found.size() > 3);
    CHECK(found[0] == "forward");
    CHECK(found[1] == "forward");
    CHECK(found.back() == "second");
    CHECK(std::count(found.begin(), found.end(), "first") + 3 == static_cast<std::ptrdiff_t>(found.size()));
  }
  SECTION("without gradients nothing is made") {
    const Timeline timeline = record(folder.file("a.rfcap"), [&] {
      const ProfileRange range{"forward"};
      const at::NoGradGuard guard;
      (void)a.mul(b).sum();
    });
    CHECK(timeline.autograd_nodes.size() == 0);
  }
  SECTION("what was made before the recording is not known") {
    const at::Tensor before = a.mul(b);
    const Timeline timeline = record(folder.file("a.rfcap"), [&] {
      const ProfileRange range{"step"};
      backward(before.sum());
    });
    CHECK(values_of(made_in_by_number(timeline)) == Names{"?", "step"});
  }
}

TEST_CASE("nodes are not recorded unless they are wanted", "[torch]") {
  const ScratchFolder folder;
  SessionOptions options;
  options.output = folder.file("a.rfcap");
  options.cuda = options.autograd = false;
  Session session(options);
  {
    const ProfileRange range{"step"};
    backward(parameter().sum());
  }
  REQUIRE(session.stop().ok());
  const Result<Timeline> timeline = load_timeline(options.output);
  REQUIRE(timeline.ok());
  CHECK(timeline->ranges.size() == 1);
  CHECK(timeline->autograd_nodes.size() == 0);
}

TEST_CASE("the owner of every node is that of a reference which watches every operator", "[torch][property]") {
  const std::uint64_t first = property_seed("autograd");
  const ScratchFolder folder;
  Reference reference;
  const auto program = [&reference](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<at::Tensor> leaves, values;
    for (int i = 0; i < 3; ++i) leaves.push_back(parameter());
    values = leaves;
    const auto any = [&]() -> at::Tensor& { return values[below(random, values.size())]; };
    const std::function<void(int)> block = [&](int depth) {
      for (std::uint64_t n = 1 + below(random, 4); n > 0; --n) {
        if (depth < 4 && below(random, 3) == 0) {
          const Marked range("range " + std::to_string(seed) + "." + std::to_string(random() % 1000));
          block(depth + 1);
          continue;
        }
        switch (below(random, 7)) {
          case 0:
            values.push_back(any().mul(any()));
            break;
          case 1:
            values.push_back(any().matmul(any()).tanh());
            break;
          case 2:
            values.push_back(any().t().contiguous());
            break;
          case 3:
            values.push_back(any().clone().mul_(0.5).add_(any()));
            break;
          case 4:
            values.push_back(Square::apply(any()));
            break;
          case 5: {
            const at::NoGradGuard guard;
            values.push_back(any().add(1));
            break;
          }
          default:
            values.push_back(any().slice(0, 0, 2).repeat({2, 1}));
        }
      }
      reference.note();
    };
    for (int step = 0; step < 5; ++step) {
      {
        const Marked range("forward " + std::to_string(step));
        block(0);
      }
      at::Tensor loss = values.back().sum();
      for (int i = 0; i < 3; ++i) loss = loss + any().sum() + leaves[static_cast<std::size_t>(i)].sum();
      reference.note();
      const Marked range("backward");
      backward(loss, true);
      if (below(random, 2) == 0) backward(loss);
      reference.note();
      values = leaves;
    }
  };
  const Timeline timeline = record(folder.file("a.rfcap"), [&] {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        const ProfileRange thread("thread " + std::to_string(i));
        Reference::ranges.push_back("thread " + std::to_string(i));
        program(first + i);
      });
    for (std::thread& thread : threads) thread.join();
  });
  // How often a node of each number ran, and where it was made.
  std::map<std::pair<std::int64_t, std::string>, int> expected, found;
  std::size_t gradients = 0;
  for (const Number& number : reference.ran) {
    if (number.second < 0)
      ++gradients;
    else
      ++expected[{number.second, reference.made_in.at(number)}];
  }
  for (std::size_t node = 0; node < timeline.autograd_nodes.size(); ++node) {
    if (timeline.autograd_nodes.sequence[node] < 0)
      --gradients;
    else
      ++found[{timeline.autograd_nodes.sequence[node], made_in(timeline, node)}];
  }
  CHECK(gradients == 0);
  CHECK(expected.size() > 100);
  CHECK(found == expected);
}
