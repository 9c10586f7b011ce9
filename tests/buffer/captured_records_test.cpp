// SPDX-License-Identifier: MIT
#include "buffer/captured_records.hpp"

#include "format/node_note.hpp"
#include "support/catch.hpp"

#include <vector>

using namespace rangefinder;
using namespace rangefinder::buffer;
using detail::ExtraKind;
using detail::make_word;
using detail::Record;
using detail::RecordKind;

namespace rangefinder::detail {
static bool operator==(const Record& a, const Record& b) { return a.ticks == b.ticks && a.word == b.word; }
}  // namespace rangefinder::detail

namespace {

Record begin(std::uint64_t ticks, std::uint32_t name, std::uint32_t aux = 0) {
  return {ticks, make_word(RecordKind::kBegin, name, aux)};
}
Record end(std::uint64_t ticks, std::uint32_t name, std::uint32_t aux = 0) {
  return {ticks, make_word(RecordKind::kEnd, name, aux)};
}
Record note(std::uint64_t ticks, std::uint32_t number) {
  return {ticks, make_word(RecordKind::kLaunch, number, format::kNodeNote)};
}
Record launch(std::uint64_t ticks, std::uint32_t id) { return {ticks, make_word(RecordKind::kLaunch, id, 211)}; }
Record number(std::uint64_t next, bool unknown_before = false) {
  return {next, make_word(RecordKind::kSequence, unknown_before ? 1 : 0, 7)};
}
Record extra(std::uint64_t value) {
  return {value, make_word(RecordKind::kExtra, 0, static_cast<std::uint32_t>(ExtraKind::kUnsigned))};
}

/// One thread, from 100 to 200 captured.
class OfCapture {
 public:
  using Records = std::vector<Record>;
  Records take(const Records& records, std::uint32_t thread = 0) {
    const CaptureSpan span{100, 200};
    format::HostRun& run = runs_[thread];
    run.thread = thread;
    Records taken = captured.take(run, records, std::span(&span, 1));
    run.first_record += static_cast<std::uint32_t>(records.size());
    return taken;
  }
  CapturedRecords captured;

 private:
  format::HostRun runs_[2];
};
using Records = OfCapture::Records;

}  // namespace

TEST_CASE("of a capture ranges and notes are taken, whenever they end, and nothing else", "[buffer]") {
  OfCapture of;
  const Record mark{130, make_word(RecordKind::kMark, 9)};
  CHECK(of.take({begin(90, 1), begin(110, 2), launch(115, 77), note(116, 1), mark, extra(5), begin(140, 3), extra(6),
                 end(150, 3), end(199, 2), begin(201, 4), note(202, 2), end(203, 4), end(204, 1)}) ==
        Records{begin(110, 2), note(116, 1), begin(140, 3), extra(6), end(150, 3), end(199, 2)});
  CHECK_FALSE(of.captured.any_open());
  CHECK(of.take({begin(120, 2), begin(190, 3)}) == Records{begin(120, 2), begin(190, 3)});
  CHECK(of.captured.any_open(0));
  // One of the same name, opened later, is another.
  CHECK(of.take({begin(210, 3), end(220, 3), end(230, 3), end(240, 2)}) == Records{end(230, 3), end(240, 2)});
  CHECK_FALSE(of.captured.any_open());
}

TEST_CASE("ends that stand for several, or for ranges of another thread, close what was taken", "[buffer]") {
  OfCapture of;
  SECTION("ends that were lost") {
    const auto lost = [](std::uint64_t ticks, std::uint32_t n) {
      return Record{ticks, make_word(RecordKind::kLostEnds, n)};
    };
    CHECK(of.take({begin(50, 1), begin(110, 2), begin(120, 3), begin(210, 4), lost(220, 2), lost(230, 5)}) ==
          Records{begin(110, 2), begin(120, 3), lost(220, 1), lost(230, 1)});
  }
  SECTION("an end that another thread records") {
    const Record foreign{150, make_word(RecordKind::kForeignEnd, 2)};
    CHECK(of.take({begin(110, 2), begin(120, 3)}) == Records{begin(110, 2), begin(120, 3)});
    CHECK(of.take({foreign, extra(0), foreign, extra(0)}, 1) == Records{foreign, extra(0)});
    CHECK(of.take({end(160, 3)}) == Records{end(160, 3)});
  }
  SECTION("an end with ranges inside that are not closed") {
    CHECK(of.take({begin(110, 2), begin(120, 3), end(130, 2), end(140, 3)}) ==
          Records{begin(110, 2), begin(120, 3), end(130, 2)});
  }
  SECTION("start/end ranges, by their handles") {
    const Record start{110, make_word(RecordKind::kAsyncBegin, 5)};
    const Record before{90, make_word(RecordKind::kAsyncBegin, 5)};
    const Record stop{250, make_word(RecordKind::kAsyncEnd, 0)};
    CHECK(of.take({before, extra(1), start, extra(2), extra(44)}) == Records{start, extra(2), extra(44)});
    CHECK(of.take({stop, extra(1), stop, extra(2)}, 1) == Records{stop, extra(2)});
  }
  CHECK_FALSE(of.captured.any_open());
}

TEST_CASE("numbers of autograd stay those of the thread", "[buffer]") {
  OfCapture of;
  constexpr std::uint32_t kTook = detail::kTookOneNumber;
  // 40, then one by an end that is not taken, then one by an end that is, then as the thread says.
  CHECK(of.take({number(40), begin(80, 1), end(90, 1, kTook), begin(110, 2), end(120, 2, kTook), begin(130, 3),
                 number(50), end(140, 3)}) ==
        Records{number(41, true), begin(110, 2), end(120, 2, kTook), begin(130, 3), number(50), end(140, 3)});
  // Known in the next run of the same block, said again.
  CHECK(of.take({begin(150, 2), end(160, 2)}) == Records{number(50, true), begin(150, 2), end(160, 2)});
  // What is numbered outside is ignored.
  CHECK(of.take({begin(170, 2), begin(210, 3), number(60), end(220, 3), end(230, 2)}) ==
        Records{number(50, true), begin(170, 2), number(60, true), end(230, 2)});
}

TEST_CASE("nodes of autograd are taken with their ends", "[buffer]") {
  OfCapture of;
  const auto node = [](std::uint64_t ticks) { return Record{ticks, make_word(RecordKind::kNodeBegin, 8, 1)}; };
  const auto done = [](std::uint64_t ticks, std::uint32_t n) {
    return Record{ticks, make_word(RecordKind::kNodeEnd, n)};
  };
  CHECK(of.take({node(50), extra(3), node(110), extra(4), note(115, 1), node(210), extra(5), done(220, 2),
                 done(230, 1)}) == Records{node(110), extra(4), note(115, 1), done(220, 1)});
  CHECK_FALSE(of.captured.any_open());
}

TEST_CASE("with a recording ends what is open", "[buffer]") {
  OfCapture of;
  (void)of.take({begin(110, 2, 5), begin(120, 3), {130, make_word(RecordKind::kAsyncBegin, 5)}, extra(2)});
  const std::vector<CapturedRecords::Ends> ends = of.captured.close(300);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].run.first_record == 4);
  CHECK(ends[0].records == Records{end(300, 3), end(300, 2, 5), {300, make_word(RecordKind::kAsyncEnd, 0)}, extra(2)});
  CHECK(of.captured.close(400).empty());
}
