// SPDX-License-Identifier: MIT
#include "session/capture_writer.hpp"

#include "session/session_fixture.hpp"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;
using format::ChunkKind;

namespace {

/// Takes chunks that are no larger than there is room; notes their kinds.
class SmallOutput final : public ChunkOutput {
 public:
  Status put(const format::ChunkHeader& header, base::ByteView chunk) override {
    if (chunk.size() > room) return Error(ErrorCode::kIo, "full");
    kinds.push_back(static_cast<ChunkKind>(header.kind));
    return {};
  }
  std::uint64_t next_sequence() const noexcept override { return kinds.size(); }
  Status read_since(OutputCursor&, const Use&) const override { return {}; }

  std::size_t room = 1 << 20;
  std::vector<ChunkKind> kinds;
};

struct Written {
  ManualClock clock;
  SmallOutput* output = nullptr;
  CaptureWriter writer;

  explicit Written(std::unique_ptr<SmallOutput> small = std::make_unique<SmallOutput>())
      : output(small.get()), writer(std::move(small), clock) {}
};

}  // namespace

TEST_CASE("counters are written when they have changed, and again where the output did not take them", "[session]") {
  Written written;
  CaptureHealth health;
  CHECK(written.writer.write_health(health));  // all are 0, as nothing said means
  CHECK(written.output->kinds.empty());
  health.dropped_events = 3;
  written.output->room = 0;
  CHECK_FALSE(written.writer.write_health(health));
  CHECK_FALSE(written.writer.write_health(health));
  written.output->room = 1 << 20;
  CHECK(written.writer.write_health(health));
  CHECK(written.writer.write_health(health));
  CHECK(written.output->kinds == std::vector<ChunkKind>{ChunkKind::kHealth});
  CHECK_FALSE(written.writer.status().ok());
  written.writer.write_end();
  health.dropped_events = 4;
  CHECK_FALSE(written.writer.write_health(health));  // after the end
}

TEST_CASE("a capture has no end where the output did not take the last counters", "[session]") {
  const ScratchFolder folder;
  const std::string capture = folder.file("a.rfcap");
  SessionOptions options = host_only(capture);
  options.flush_period = 10min;  // nothing is written but at the end
  Recording session(options);
  for (int i = 0; i < 10; ++i) mark("mark", i);
  // The file may not grow by as much as a chunk of counters takes, but an end has room.
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct sigaction ignore {
  }, old{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &ignore, &old);
  constexpr std::size_t kEnd = sizeof(format::ChunkHeader) + 8;
  const rlimit limit{std::filesystem::file_size(capture) + kEnd, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const Status status = session->stop();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::sigaction(SIGXFSZ, &old, nullptr);
  CHECK_FALSE(status.ok());
  const Timeline timeline = load(capture);
  CHECK(timeline.marks.size() + session->health().records_not_written / 2 >= 10);
  CHECK(timeline.health.chunks_not_written == session->health().chunks_not_written);
  CHECK(timeline.health.records_not_written == session->health().records_not_written);
  CHECK(session->health().chunks_not_written > 0);
}
