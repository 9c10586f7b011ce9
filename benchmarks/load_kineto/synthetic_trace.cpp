// SPDX-License-Identifier: MIT
#include "synthetic_trace.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

namespace rangefinder::bench {
namespace {

constexpr int kProcess = 4242;
constexpr int kMainThread = 4242;
constexpr int kBackwardThread = 4310;
constexpr std::size_t kFlushAt = std::size_t{1} << 20;

/// Plain or gzip, by the file's name.
class TextFile {
 public:
  explicit TextFile(const std::string& path) {
    if (path.ends_with(".gz")) {
      packed_ = gzopen(path.c_str(), "wb4");
    } else {
      plain_ = std::fopen(path.c_str(), "wb");
    }
  }
  ~TextFile() {
    if (packed_ != nullptr) gzclose(packed_);
    if (plain_ != nullptr) std::fclose(plain_);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  bool open() const noexcept { return packed_ != nullptr || plain_ != nullptr; }
  void write(std::string_view text) {
    const auto size = static_cast<unsigned>(text.size());
    ok_ &= packed_ != nullptr ? gzwrite(packed_, text.data(), size) == static_cast<int>(size)
                              : std::fwrite(text.data(), 1, size, plain_) == size;
  }
  bool close() {
    if (packed_ != nullptr) ok_ &= gzclose(packed_) == Z_OK;
    if (plain_ != nullptr) ok_ &= std::fclose(plain_) == 0;
    packed_ = nullptr;
    plain_ = nullptr;
    return ok_;
  }

 private:
  gzFile packed_ = nullptr;
  std::FILE* plain_ = nullptr;
  bool ok_ = true;
};

struct OperatorKind {
  std::string_view outer;
  std::string_view inner;
  std::string_view kernel;
  std::string_view dims;
};

constexpr std::array<OperatorKind, 6> kOperators{{
    {"aten::linear", "aten::addmm", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
     "[[4096, 1024], [1024, 1024], [1024]]"},
    {"aten::layer_norm", "aten::native_layer_norm",
     "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*, "
     "float const*, float const*, float*, float*, float*)",
     "[[8, 512, 1024], [], [1024], [1024], []]"},
    {"aten::gelu", "aten::gelu",
     "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
     "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, "
     "std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType))",
     "[[8, 512, 4096]]"},
    {"aten::add", "aten::add",
     "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> "
     ">(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
     "[[8, 512, 1024], [8, 512, 1024], []]"},
    {"aten::matmul", "aten::bmm", "ampere_sgemm_128x64_nn", "[[128, 512, 64], [128, 64, 512]]"},
    {"aten::softmax", "aten::_softmax",
     "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*, float const*, "
     "int, "
     "int, int, bool const*, int, bool)",
     "[[8, 16, 512, 512], [], []]"},
}};

class Writer {
 public:
  explicit Writer(TextFile& file) : file_(file) {}

  std::uint64_t events() const noexcept { return events_; }

  void header() {
    text_ += R"json({
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    }
  ],
  "cupti_version": 28,
  "cuda_runtime_version": 13000,
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
  "record_shapes": 1,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1775078550000000000,
  "traceEvents": [
)json";
    describe("process_name", kProcess, 0, "python");
    describe("thread_name", kProcess, kMainThread, "thread 4242 (python)");
    describe("thread_name", kProcess, kBackwardThread, "thread 4310 (pt_autograd_0)");
    describe("process_name", 0, 0, "python");
    describe("thread_name", 0, 7, "stream 7 ");
    describe("thread_name", 0, 20, "stream 20 ");
  }

  void step(int number) {
    const std::int64_t begin = now_;
    annotation_at_end("ProfilerStep#" + std::to_string(number), kMainThread, begin, [&] {
      annotation_at_end("forward", kMainThread, now_, [&] {
        for (int layer = 0; layer < 12; ++layer)
          annotation_at_end("layer " + std::to_string(layer), kMainThread, now_, [&] { layer_work(true); });
      });
      copy();
      for (int layer = 0; layer < 12; ++layer) layer_work(false);
      annotation_at_end("Optimizer.step#AdamW.step", kMainThread, now_, [&] {
        for (int i = 0; i < 8; ++i) operation(kOperators[3], kMainThread, false, false);
      });
    });
  }

  bool finish() {
    span();
    text_ += "\n  ],\n  \"traceName\": \"synthetic.pt.trace.json\"\n}\n";
    file_.write(text_);
    return file_.close();
  }

 private:
  std::uint32_t random(std::uint32_t below) noexcept {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return static_cast<std::uint32_t>(state_ >> 32) % below;
  }

  template <typename... Values>
  void event(fmt::format_string<Values...> format, Values&&... values) {
    text_ += events_++ == 0 ? "  {\n    " : ",\n  {\n    ";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += "\n  }";
    if (text_.size() < kFlushAt) return;
    file_.write(text_);
    text_.clear();
  }

  static std::string micros(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  void describe(std::string_view what, int pid, int tid, std::string_view name) {
    event(R"json("name": "{}", "ph": "M", "ts": {}, "pid": {}, "tid": {},
    "args": {{
      "name": "{}"
    }})json",
          what, micros(now_), pid, tid, name);
  }

  template <typename Body>
  void annotation_at_end(const std::string& name, int thread, std::int64_t begin, Body&& body) {
    now_ += 800 + random(2000);
    const std::uint64_t id = ++external_id_;
    body();
    now_ += 500 + random(1000);
    event(R"json("ph": "X", "cat": "user_annotation", "name": "{}", "pid": {}, "tid": {},
    "ts": {}, "dur": {},
    "args": {{
      "External id": {},"Record function id": 0, "Ev Idx": {}
    }})json",
          name, kProcess, thread, micros(begin), micros(now_ - begin), id, id - 1);
  }

  void layer_work(bool forward) {
    const int thread = forward ? kMainThread : kBackwardThread;
    for (const OperatorKind& kind : kOperators) operation(kind, thread, forward, !forward);
  }

  void operator_row(std::string_view name, int thread, std::int64_t begin, std::uint64_t id, std::string_view dims) {
    event(R"json("ph": "X", "cat": "cpu_op", "name": "{}", "pid": {}, "tid": {},
    "ts": {}, "dur": {},
    "args": {{
      "External id": {},"Sequence number": {}, "Fwd thread id": {}, "Record function id": 0, "Concrete Inputs": ["", "", ""], "Input type": ["float", "float", "float"], "Input Strides": {}, "Input Dims": {}, "Ev Idx": {}
    }})json",
          name, kProcess, thread, micros(begin), micros(now_ - begin), id, sequence_, thread == kMainThread ? 0 : 1,
          dims, dims, id - 1);
  }

  /// An operator, the one inside it, its launch, its kernel and their flows.
  void operation(const OperatorKind& kind, int thread, bool forward, bool backward) {
    const std::int64_t begin = now_;
    const std::uint64_t outer = ++external_id_;
    const std::uint64_t inner = ++external_id_;
    const std::uint64_t sequence = ++sequence_;
    now_ += 1200 + random(3000);
    const std::int64_t inner_begin = now_;
    now_ += 900 + random(2500);
    memory(thread);
    launch(kind, thread, inner);
    now_ += 600 + random(1500);
    operator_row(kind.inner, thread, inner_begin, inner, kind.dims);
    query(thread, outer);
    now_ += 700 + random(1500);
    operator_row(kind.outer, thread, begin, outer, kind.dims);
    if (forward) flow("s", "fwdbwd", sequence, kProcess, thread, begin, "");
    if (backward) flow("f", "fwdbwd", sequence, kProcess, thread, begin, ", \"bp\": \"e\"");
  }

  void flow(std::string_view phase, std::string_view name, std::uint64_t id, int pid, int tid, std::int64_t time,
            std::string_view bind) {
    event(R"json("ph": "{}", "id": {}, "pid": {}, "tid": {}, "ts": {},
    "cat": "{}", "name": "{}"{})json",
          phase, id, pid, tid, micros(time), name, name, bind);
  }

  void call(std::string_view name, int cbid, int thread, std::int64_t begin, std::uint64_t op, std::uint64_t id) {
    event(R"json("ph": "X", "cat": "cuda_runtime", "name": "{}", "pid": {}, "tid": {},
    "ts": {}, "dur": {},
    "args": {{
      "External id": {}, "cbid": {}, "correlation": {}
    }})json",
          name, kProcess, thread, micros(begin), micros(now_ - begin), op, cbid, id);
  }

  void launch(const OperatorKind& kind, int thread, std::uint64_t op) {
    const std::uint64_t id = ++correlation_;
    const std::int64_t begin = now_;
    now_ += 3500 + random(4000);
    call("cudaLaunchKernel", 211, thread, begin, op, id);
    flow("s", "ac2g", id, kProcess, thread, begin, "");
    const int stream = random(8) == 0 ? 20 : 7;
    std::int64_t& free_at = stream == 7 ? stream_7_free_ : stream_20_free_;
    const std::int64_t start = std::max(free_at, begin + 4000 + random(3000));
    const std::int64_t length = 1500 + random(60'000);
    free_at = start + length + 700;
    const std::uint32_t blocks = 1 + random(4096);
    event(R"json("ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": {},
    "ts": {}, "dur": {},
    "args": {{
      "External id": {}, "queued": 0, "device": 0, "context": 1,
      "stream": {}, "correlation": {},
      "registers per thread": {},
      "shared memory": {},
      "blocks per SM": {:.6f},
      "warps per SM": {:.6f},
      "grid": [{}, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %": {}
    }})json",
          kind.kernel, stream, micros(start), micros(length), op, stream, id, 32 + 8 * random(4), 1024 * random(3),
          blocks / 132.0, blocks / 33.0, blocks, random(101));
    flow("f", "ac2g", id, 0, stream, start, ", \"bp\": \"e\"");
  }

  /// A call that launches nothing, with the flow end without a start that Kineto writes for it.
  void query(int thread, std::uint64_t op) {
    if (random(2) != 0) return;
    const std::uint64_t id = ++correlation_;
    const std::int64_t begin = now_;
    now_ += 400 + random(500);
    call("cudaStreamIsCapturing", 317, thread, begin, op, id);
    flow("f", "ac2g", id, kProcess, thread, begin, ", \"bp\": \"e\"");
  }

  void copy() {
    const std::uint64_t id = ++correlation_;
    const std::int64_t begin = now_;
    now_ += 9000;
    call("cudaMemcpyAsync", 41, kMainThread, begin, external_id_, id);
    event(R"json("ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 0, "tid": 7,
    "ts": {}, "dur": 1.984,
    "args": {{
      "External id": {}, "device": 0, "context": 1,
      "stream": 7, "correlation": {},
      "bytes": 4, "memory bandwidth (GB/s)": 0.0020161290322580645
    }})json",
          micros(stream_7_free_), external_id_, id);
    stream_7_free_ += 3000;
  }

  void memory(int thread) {
    if (random(3) != 0) return;
    event(R"json("ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
    "pid": {}, "tid": {},
    "ts": {},
    "args": {{
      "Total Reserved": 2629828608, "Total Allocated": {}, "Bytes": {}, "Addr": 137877174353920, "Device Id": 0, "Device Type": 1, "Ev Idx": {}
    }})json",
          kProcess, thread, micros(now_), 1'000'000'000 + random(100'000'000), 512 * (1 + random(4096)), external_id_);
  }

  void span() {
    event(R"json("ph": "X", "cat": "Trace", "ts": {}, "dur": {},
    "pid": "Spans", "tid": "PyTorch Profiler",
    "name": "PyTorch Profiler (0)",
    "args": {{
      "Op count": 0
    }})json",
          micros(kStart), micros(now_ - kStart));
    event(R"json("name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": {})json",
          micros(now_));
  }

  static constexpr std::int64_t kStart = 1'000'000'000'000;

  TextFile& file_;
  std::string text_;
  std::uint64_t state_ = 0x9E3779B97F4A7C15u;
  std::uint64_t events_ = 0;
  std::uint64_t external_id_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t correlation_ = 0;
  std::int64_t now_ = kStart;
  std::int64_t stream_7_free_ = kStart;
  std::int64_t stream_20_free_ = kStart;
};

}  // namespace

Status write_synthetic_trace(const std::string& path, std::uint64_t events) {
  TextFile file(path);
  if (!file.open()) return Error(ErrorCode::kIo, "create " + path + ": refused");
  Writer writer(file);
  writer.header();
  for (int step = 0; writer.events() < events; ++step) writer.step(step);
  if (!writer.finish()) return Error(ErrorCode::kIo, "write " + path + ": the file is not whole");
  return {};
}

}  // namespace rangefinder::bench
