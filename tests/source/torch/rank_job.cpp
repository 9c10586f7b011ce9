// SPDX-License-Identifier: MIT
//
// A job of Gloo: `rank_job FOLDER RANKS PLAN`. Forks its ranks, each of which records itself into FOLDER and writes
// what it calls into a file of its own. With a planted hang, all ranks are killed once they stand.
#include "rank_job.hpp"

#include "common/process_group_backends.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/torch/collectives.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace rangefinder::testing;
using rangefinder::ProfileRange;
using rangefinder::torch::CalledCollective;
using rangefinder::torch::WaitForCollective;
using Numbers = std::vector<std::int64_t>;
using Work = c10::intrusive_ptr<c10d::Work>;

struct Group {
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  std::string name;
  Numbers ranks;           // of the job
  std::int64_t calls = 0;  // of collectives
  int size() const { return static_cast<int>(ranks.size()); }
};

Group make_group(const c10::intrusive_ptr<c10d::Store>& store, const std::string& name, const Numbers& ranks,
                 int rank) {
  using Type = c10d::ProcessGroup::BackendType;
  const auto position = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  const auto size = static_cast<int>(ranks.size());
  const c10::intrusive_ptr<c10d::Store> own = c10::make_intrusive<c10d::PrefixStore>(name, store);
  auto backend = examples::make_gloo({own, position, size, std::chrono::milliseconds(60'000)});
  if (name != "0")  // as torch.distributed does: the default group has all ranks, and says none
    backend->getBackendOptions()->global_ranks_in_group.assign(ranks.begin(), ranks.end());
  auto group = c10::make_intrusive<c10d::ProcessGroup>(own, position, size);
  group->setBackend(c10::DeviceType::CPU, Type::GLOO, backend);
  group->setDefaultBackend(Type::GLOO);
  group->setGroupName(name);
  group->setGroupDesc(name == "0" ? "default_pg" : "pair");
  return {std::move(group), name, ranks};
}

std::string text_of(const Numbers& parts) {
  std::string text;
  for (const std::int64_t part : parts) text += (text.empty() ? "[" : ",") + std::to_string(part);
  return text.empty() ? "-" : text + "]";
}

/// What a call is, as the program that makes it knows: its own arguments.
struct Told {
  std::string kind;
  std::int64_t in = -1, out = -1;
  std::string dtype = "Float";
  int peer = -1;
  Numbers in_splits, out_splits;
};

class Rank {
 public:
  /// `arrived`: a pipe into which a byte goes when the rank is where the hang is planted.
  Rank(std::string folder, int rank, int ranks, int arrived)
      : folder_(std::move(folder)), rank_(rank), ranks_(ranks), arrived_(arrived) {
    calls_ = std::fopen(calls_file(folder_, rank).c_str(), "w");
  }

  void run(const std::string& plan) {
    rangefinder::SessionOptions options;
    options.output = capture_file(folder_, rank_);
    options.cuda = false;
    const rangefinder::Session session(options);
    const rangefinder::torch::CollectiveRecording recording;
    if (!session.status().ok() || recording.state() != "recorded") std::_Exit(3);
    const c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::FileStore>(folder_ + "/store", ranks_);
    Numbers all;
    for (int rank = 0; rank < ranks_; ++rank) all.push_back(rank);
    Group world = make_group(store, "0", all, rank_);
    if (plan != kAllKinds) return run_into_hang(world, plan);
    std::optional<Group> pair;
    if (ranks_ == 4) pair = make_group(store, rank_ % 2 == 0 ? "even" : "odd", {rank_ % 2, rank_ % 2 + 2}, rank_);
    for (int round = 0; round < 2; ++round) {
      all_kinds(world, round);
      if (pair) all_kinds(*pair, round);
    }
    std::fclose(calls_);
  }

 private:
  // ---- one call
  /// Calls in one range and waits in another.
  void call(Group& group, const Told& told, const std::function<Work()>& make) {
    const std::string number = std::to_string(ranges_++);
    Work work;
    const CalledCollective called = [&] {
      const ProfileRange range("call " + number);
      note(group, told, number);
      work = make();
      return CalledCollective();
    }();
    const ProfileRange range("wait " + number);
    const WaitForCollective waiting(called);
    work->wait();
  }
  void note(Group& group, const Told& told, const std::string& range) {
    const bool is_message = told.kind == "send" || told.kind == "receive";
    std::fprintf(calls_, "%s %lld %s %lld %lld %s %d %s %s %s\n", group.name.c_str(),
                 static_cast<long long>(is_message ? -1 : group.calls++), told.kind.c_str(),
                 static_cast<long long>(told.in), static_cast<long long>(told.out), told.dtype.c_str(), told.peer,
                 text_of(told.in_splits).c_str(), text_of(told.out_splits).c_str(), range.c_str());
    std::fflush(calls_);
  }

  // ---- all kinds
  void all_kinds(Group& group, int round) {
    const int size = group.size(), me = group.group->getRank(), root = round % size;
    const std::int64_t n = 24 * (round + 1);
    reductions(group, n, root);
    gathers(group, n, me, root);
    exchanges(group, n, me);
    call(group, {"barrier", -1, -1, "-"}, [&] { return group.group->barrier(); });
  }
  void reductions(Group& group, std::int64_t n, int root) {
    std::vector<at::Tensor> one{at::ones({n})}, two{at::ones({n}), at::ones({3})}, wide{at::ones({n}, at::kDouble)};
    call(group, {"all_reduce", n, n}, [&] { return group.group->allreduce(one); });
    call(group, {"all_reduce", n, n, "Double"}, [&] { return group.group->allreduce(wide); });
    call(group, {"all_reduce", n + 3, n + 3}, [&] { return group.group->allreduce_coalesced(two); });
    c10d::ReduceOptions reduce;
    reduce.rootRank = root;
    call(group, {"reduce", n, n, "Float", root}, [&] { return group.group->reduce(one, reduce); });
    c10d::BroadcastOptions broadcast;
    broadcast.rootRank = root;
    std::vector<at::Tensor> whole{at::ones({n}, at::kLong)};
    call(group, {"broadcast", n, n, "Long", root}, [&] { return group.group->broadcast(whole, broadcast); });
    at::Tensor all = at::ones({n * group.size()}), part = at::empty({n});
    call(group, {"reduce_scatter", n * group.size(), n}, [&] { return group.group->_reduce_scatter_base(part, all); });
    std::vector<std::vector<at::Tensor>> parts{all.chunk(group.size())};
    std::vector<at::Tensor> own{part};
    call(group, {"reduce_scatter", n * group.size(), n}, [&] { return group.group->reduce_scatter(own, parts); });
    std::vector<at::Tensor> wholes{all, all.clone()}, owns{part, at::empty({n})};
    call(group, {"reduce_scatter", 2 * n * group.size(), 2 * n},
         [&] { return group.group->reduce_scatter_tensor_coalesced(owns, wholes); });
  }
  void gathers(Group& group, std::int64_t n, int me, int root) {
    const std::int64_t size = group.size();
    at::Tensor part = at::ones({n}), whole = at::empty({n * size});
    std::vector<at::Tensor> parts{part};
    std::vector<std::vector<at::Tensor>> wholes{whole.chunk(size)};
    call(group, {"all_gather", n, n * size}, [&] { return group.group->allgather(wholes, parts); });
    call(group, {"all_gather", n, n * size}, [&] { return group.group->_allgather_base(whole, part); });
    std::vector<at::Tensor> two_parts{part, at::ones({5})}, two_wholes{whole, at::empty({5 * size})};
    call(group, {"all_gather", n + 5, (n + 5) * size},
         [&] { return group.group->allgather_into_tensor_coalesced(two_wholes, two_parts); });
    std::vector<std::vector<at::Tensor>> lists;
    for (std::int64_t rank = 0; rank < size; ++rank) lists.push_back({at::empty({n}), at::empty({5})});
    call(group, {"all_gather", n + 5, (n + 5) * size},
         [&] { return group.group->allgather_coalesced(lists, two_parts); });
    const bool is_root = me == root;
    std::vector<std::vector<at::Tensor>> at_root, none;
    if (is_root) at_root.push_back(whole.chunk(size));
    c10d::GatherOptions gather;
    gather.rootRank = root;
    call(group, {"gather", n, is_root ? n * size : 0, "Float", root},
         [&] { return group.group->gather(is_root ? at_root : none, parts, gather); });
    c10d::ScatterOptions scatter;
    scatter.rootRank = root;
    call(group, {"scatter", is_root ? n * size : 0, n, "Float", root},
         [&] { return group.group->scatter(parts, is_root ? at_root : none, scatter); });
  }
  void exchanges(Group& group, std::int64_t n, int me) {
    const int size = group.size();
    at::Tensor in = at::ones({n * size}), out = at::empty({n * size});
    Numbers none;
    call(group, {"all_to_all", n * size, n * size}, [&] { return group.group->alltoall_base(out, in, none, none); });
    // To rank r go r + 1 rows; of this rank's come me + 1 from each.
    Numbers to, from(static_cast<std::size_t>(size), me + 1);
    for (int rank = 0; rank < size; ++rank) to.push_back(rank + 1);
    at::Tensor rows = at::ones({size * (size + 1) / 2, 2}), got = at::empty({size * (me + 1), 2});
    call(group, {"all_to_all", rows.numel(), got.numel(), "Float", -1, to, from},
         [&] { return group.group->alltoall_base(got, rows, from, to); });
    // Around the ring, one rank at a time: sends of Gloo need a receiver.
    const int next = (me + 1) % size, last = (me + size - 1) % size;
    std::vector<at::Tensor> message{at::ones({n + me})}, arrives{at::empty({n + last})};
    const Told sent{"send", n + me, -1, "Float", next}, received{"receive", -1, n + last, "Float", last};
    if (me == 0) call(group, sent, [&] { return group.group->send(message, next, 7); });
    call(group, received, [&] { return group.group->recv(arrives, last, 7); });
    if (me != 0) call(group, sent, [&] { return group.group->send(message, next, 7); });
    // Not all ranks send as often: numbers of collectives must not depend on it.
    if (me == 1) call(group, {"send", n, -1, "Float", 0}, [&] { return group.group->send(first(message, n), 0, 8); });
    std::vector<at::Tensor> any{at::empty({n})};
    if (me == 0) call(group, {"receive", -1, n}, [&] { return group.group->recvAnysource(any, 8); });
  }
  std::vector<at::Tensor>& first(std::vector<at::Tensor>& tensors, std::int64_t n) {
    tensors[0] = tensors[0].narrow(0, 0, n).contiguous();
    return tensors;
  }

  // ---- planted hangs
  /// Three steps that are right, and one in which a rank goes wrong at the second of four collectives.
  void run_into_hang(Group& world, const std::string& plan) {
    std::vector<at::Tensor> gradients{at::ones({1000})};
    std::vector<at::Tensor> loss{at::ones({1})};
    for (int step = 0;; ++step) {
      const ProfileRange of_step("step");
      const bool goes_wrong = step == 3 && rank_ == kPlantedRank;
      reduce(world, gradients, "forward");
      if (step == 3 && ::write(arrived_, "", 1) != 1) std::_Exit(5);
      if (goes_wrong) go_wrong(world, plan);
      reduce(world, gradients, "backward");
      reduce(world, loss, "loss");
    }
  }
  void reduce(Group& world, std::vector<at::Tensor>& tensors, const char* where) {
    const ProfileRange range(where);
    const std::int64_t n = tensors[0].numel();
    note(world, {"all_reduce", n, n}, where);
    wait_or_stand(world.group->allreduce(tensors));
  }
  /// A job whose ranks do not end by themselves when one of them is gone.
  static void wait_or_stand(const Work& work) {
    try {
      work->wait();
    } catch (const std::exception&) {
      stand();
    }
  }
  void go_wrong(Group& world, const std::string& plan) {
    if (plan == "dies") {
      const ProfileRange range("load batch");
      std::raise(SIGKILL);
    }
    if (plan == "sleeps") {
      const ProfileRange range("load batch");
      stand();
    }
    if (plan == "skips") {  // it is through with the step, and does something that has no collectives
      const ProfileRange range("evaluate");
      stand();
    }
    const ProfileRange range(plan == "kind" ? "broadcast weights" : "wrong batch");
    if (plan == "kind") {
      std::vector<at::Tensor> weights{at::ones({1000})};
      note(world, {"broadcast", 1000, 1000, "Float", kPlantedRank}, "broadcast weights");
      c10d::BroadcastOptions from_here;
      from_here.rootRank = (kPlantedRank + 1) % ranks_;
      wait_or_stand(world.group->broadcast(weights, from_here));
    } else {
      std::vector<at::Tensor> other{at::ones({10})};
      note(world, {"all_reduce", 10, 10}, "wrong batch");
      wait_or_stand(world.group->allreduce(other));
    }
  }
  [[noreturn]] static void stand() {
    while (true) ::pause();
  }

  std::string folder_;
  int rank_, ranks_, arrived_;
  std::FILE* calls_;
  int ranges_ = 0;
};

[[noreturn]] void run_rank(const std::string& folder, int rank, int ranks, const std::string& plan, int arrived) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);  // ranks of a hang may end by abort
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  try {
    Rank(folder, rank, ranks, arrived).run(plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    std::_Exit(4);
  }
  std::exit(0);
}

/// A second after all ranks are where the hang is planted.
bool wait_until_standing(int arrived, int ranks) {
  char byte = 0;
  for (int i = 0; i < ranks; ++i)
    if (::read(arrived, &byte, 1) != 1) return false;  // a rank has ended before
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const std::string folder = arguments[1], plan = arguments[3];
  const int ranks = std::atoi(arguments[2]);
  std::vector<pid_t> pids;
  int arrived[2];
  if (::pipe(arrived) != 0) return 2;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = ::fork();  // LibTorch has started no thread yet
    if (pid == 0) run_rank(folder, rank, ranks, plan, arrived[1]);
    pids.push_back(pid);
  }
  ::close(arrived[1]);
  int bad = 0;
  if (plan != kAllKinds) {
    if (!wait_until_standing(arrived[0], ranks)) ++bad;
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  }
  for (const pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (plan == kAllKinds && status != 0) ++bad;
  }
  return bad == 0 ? 0 : 1;
}
