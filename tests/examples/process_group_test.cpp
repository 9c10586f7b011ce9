// SPDX-License-Identifier: MIT
//
// Process groups of several processes: what collectives come to, and that bytes are counted as the documentation
// defines them. A benchmark of several processes shows neither a wrong count of its own formula nor which call is
// wrong.
#include "common/process_group.hpp"

#include "common/gradient_buckets.hpp"
#include "common/sharded_block.hpp"

#undef CHECK  // LibTorch's, which ends the program
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using examples::Communication;
using examples::ProcessGroup;
using examples::Traffic;

namespace {

/// Runs a function for each rank, each in a process of its own: LibTorch keeps maps of a process's groups that no lock
/// guards, so that ranks cannot be threads. Throws what one of them has thrown.
void on_ranks(int ranks, const std::function<void(ProcessGroup&)>& work) {
  const rangefinder::testing::ScratchFolder folder;
  const std::string store = folder.file("store");
  const auto failure = [&](int rank) { return folder.file("failure-" + std::to_string(rank)); };
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    try {
      ProcessGroup group(store, rank, ranks, torch::kCPU);
      work(group);
      group.barrier();
    } catch (const std::exception& error) {
      std::ofstream(failure(rank)) << error.what();
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status == 0) continue;
    std::string reason;
    for (int rank = 0; rank < ranks && reason.empty(); ++rank) std::getline(std::ifstream(failure(rank)), reason, '\0');
    throw std::runtime_error(reason.empty() ? "a rank ended with wait status " + std::to_string(status) : reason);
  }
}

void expect(bool right, const std::string& what) {
  if (!right) throw std::runtime_error(what);
}

/// rank, rank + 1, ... in a row.
torch::Tensor numbers(std::int64_t first, std::int64_t count) {
  return torch::arange(first, first + count, torch::kFloat);
}

}  // namespace

TEST_CASE("collectives of a process group give what their names say", "[examples]") {
  if (const std::string missing = ProcessGroup::missing("cpu", 2); !missing.empty()) RANGEFINDER_SKIP(missing);
  const int ranks = GENERATE(2, 3, 4);
  on_ranks(ranks, [&](ProcessGroup& group) {
    const std::int64_t me = group.rank(), all = ranks * (ranks - 1) / 2;
    const torch::Tensor reduced = torch::full({3}, static_cast<double>(me));
    group.all_reduce(reduced).wait();
    expect(reduced.equal(torch::full({3}, static_cast<double>(all))), "all_reduce");

    const torch::Tensor whole = torch::empty({2 * ranks});
    group.all_gather(whole, numbers(2 * me, 2)).wait();
    expect(whole.equal(numbers(0, 2 * ranks)), "all_gather");

    const torch::Tensor part = torch::empty({2});
    group.reduce_scatter(part, numbers(0, 2 * ranks)).wait();
    expect(part.equal(ranks * numbers(2 * me, 2)), "reduce_scatter");

    // To rank r go r + 1 rows, each with the sender's number.
    std::vector<std::int64_t> to, from(static_cast<std::size_t>(ranks), me + 1);
    for (std::int64_t rank = 0; rank < ranks; ++rank) to.push_back(rank + 1);
    const torch::Tensor rows = torch::full({ranks * (ranks + 1) / 2, 2}, static_cast<double>(me));
    const torch::Tensor got = torch::empty({ranks * (me + 1), 2});
    group.all_to_all(got, rows, from, to).wait();
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      expect(got.narrow(0, rank * (me + 1), me + 1).eq(static_cast<double>(rank)).all().item<bool>(), "all_to_all");

    const int next = (group.rank() + 1) % ranks, last = (group.rank() + ranks - 1) % ranks;
    const torch::Tensor arrives = torch::empty({4});
    for (examples::Pending& pending : group.exchange({{numbers(me, 4), next, 7}}, {{arrives, last, 7}})) pending.wait();
    expect(arrives.equal(numbers(last, 4)), "exchange");
    expect(group.wait_ns() > 0, "waiting takes time");
  });
}

TEST_CASE("bytes of collectives are those that a rank gives", "[examples]") {
  if (const std::string missing = ProcessGroup::missing("cpu", 2); !missing.empty()) RANGEFINDER_SKIP(missing);
  on_ranks(2, [](ProcessGroup& group) {
    group.all_reduce(torch::zeros({10})).wait();
    group.all_reduce(torch::zeros({5}, torch::kDouble)).wait();
    group.all_gather(torch::empty({6}), torch::zeros({3})).wait();
    group.reduce_scatter(torch::empty({4}), torch::zeros({8})).wait();
    // One row stays, two go to the other.
    const std::vector<std::int64_t> rows =
        group.rank() == 0 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{2, 1};
    group.all_to_all(torch::empty({3, 2}), torch::zeros({3, 2}), rows, rows).wait();
    std::vector<examples::Pending> pending =
        group.exchange({{torch::zeros({7}), 1 - group.rank()}}, {{torch::empty({7}), 1 - group.rank()}});
    for (examples::Pending& one : pending) one.wait();
    group.barrier();

    Traffic expected;
    expected[Communication::kAllReduce] = {2, 10 * 4 + 5 * 8};
    expected[Communication::kAllGather] = {1, 3 * 4};
    expected[Communication::kReduceScatter] = {1, 8 * 4};
    expected[Communication::kAllToAll] = {1, 6 * 4};
    expected[Communication::kSend] = {1, 7 * 4};
    expected.own_bytes = 8;
    expect(group.traffic() == expected, "counted " + to_string(group.traffic()));
    group.reset_counts();
    expect(group.traffic() == Traffic{}, "counts begin anew");
  });
}

TEST_CASE("what must be sent at least follows from the ranks", "[examples]") {
  Traffic traffic;
  traffic[Communication::kAllReduce] = {1, 1200};
  CHECK(traffic.least_sent_bytes(2) == 1200);
  CHECK(traffic.least_sent_bytes(3) == 1600);
  CHECK(traffic.least_sent_bytes(4) == 1800);
  Traffic sharded;  // twice all weights, once all gradients: one and a half times an all-reduce of them
  sharded[Communication::kAllGather] = {2, 2 * 300};
  sharded[Communication::kReduceScatter] = {1, 1200};
  CHECK(sharded.least_sent_bytes(4) == 1.5 * traffic.least_sent_bytes(4));
  Traffic messages;
  messages[Communication::kSend] = {3, 30};
  messages[Communication::kAllToAll] = {1, 100};
  messages.own_bytes = 40;
  CHECK(messages.least_sent_bytes(4) == 90);
}

TEST_CASE("a process alone has no collectives", "[examples]") {
  ProcessGroup group;
  CHECK(group.rank() == 0);
  CHECK(group.size() == 1);
  CHECK_THROWS(group.all_reduce(torch::zeros({1})));
  CHECK(ProcessGroup::missing("cpu", 1).empty());
}

TEST_CASE("buckets average gradients, and with no_sync add them up on each rank", "[examples]") {
  if (const std::string missing = ProcessGroup::missing("cpu", 2); !missing.empty()) RANGEFINDER_SKIP(missing);
  const bool behind_backward = GENERATE(false, true);
  on_ranks(2, [&](ProcessGroup& group) {
    std::vector<torch::Tensor> parameters;
    for (int i = 0; i < 3; ++i) parameters.push_back(torch::ones({4}, torch::TensorOptions().requires_grad(true)));
    examples::GradientBuckets buckets(group, parameters, 20, behind_backward);
    expect(buckets.count() == 2, "a bucket ends when it has 20 bytes");
    expect(buckets.bytes() == 48, "all of them");
    const auto backward = [&](double factor) {
      ((parameters[0] + 2 * parameters[1] + 3 * parameters[2]) * factor).sum().backward();
    };
    buckets.zero();
    buckets.synchronize_next(false);
    backward(group.rank() + 1);
    buckets.finish();
    expect(group.traffic() == Traffic{}, "no_sync sends nothing");
    expect(parameters[2].grad().equal(torch::full({4}, 3.0 * (group.rank() + 1))), "gradients stay on their rank");
    buckets.synchronize_next(true);
    backward(10 * (group.rank() + 1));
    buckets.finish();
    for (int i = 0; i < 3; ++i)  // factors 11 and 22
      expect(parameters[static_cast<std::size_t>(i)].grad().equal(torch::full({4}, (i + 1) * 16.5)), "the mean");
  });
}

TEST_CASE("a sharded block has memory for its weights only while it runs", "[examples]") {
  if (const std::string missing = ProcessGroup::missing("cpu", 2); !missing.empty()) RANGEFINDER_SKIP(missing);
  on_ranks(2, [](ProcessGroup& group) {
    examples::ShardedBlocks blocks(group, {});
    const torch::Tensor weight = numbers(1, 9).view({3, 3}), bias = numbers(-1, 3);
    blocks.add({weight, bias});
    blocks.add({2 * weight, bias});
    const auto body = [](const torch::Tensor& x, const std::vector<torch::Tensor>& weights) {
      return torch::linear(x, weights[0], weights[1]);
    };
    blocks.begin_step();
    const torch::Tensor x = numbers(group.rank(), 6).view({2, 3});
    torch::Tensor y = blocks.forward(1, blocks.forward(0, x, body), body);
    const torch::Tensor plain = torch::linear(torch::linear(x, weight, bias), 2 * weight, bias);
    expect(y.equal(plain), "the same as with whole weights");
    y.sum().backward();
    blocks.finish_backward();
    // The second block's bias has the gradient 2, one for each row; its 12 numbers are 6 on each rank.
    const torch::Tensor gradient = blocks.shards()[1].grad();
    if (group.rank() == 1) expect(gradient.narrow(0, 3, 3).equal(torch::full({3}, 2.0)), "the mean over ranks");
    expect(blocks.bytes().parameters == 2 * 24 && blocks.bytes().gradients == 2 * 24, "half of 2 x 48 bytes");
    expect(blocks.bytes().most_gathered == 48, "one block at a time");
    expect(blocks.gather_weights(1)[0].equal(2 * weight), "weights as they were");
  });
}
