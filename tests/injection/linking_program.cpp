// SPDX-License-Identifier: MIT
//
// A program that links the library, and marks itself with NVTX too:
// linking_program before|after|never|steps|steps_after|callback.
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

void mark(const char* nvtx, const char* ours) {
  nvtxRangePushA(nvtx);
  { const rangefinder::ProfileRange range{std::string_view(ours)}; }
  nvtxRangePop();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view own = argc > 1 ? argv[1] : "never";
  if (own == "callback") {
    rangefinder::SessionOptions options;
    options.on_capture_ready = [](const rangefinder::CaptureReady&) {};
    const rangefinder::Session session{options};
    const rangefinder::ProfileRange range{"ours"};
    return 0;
  }
  if (own == "after" || own == "steps_after") mark("early", "ours early");
  if (own == "steps" || own == "steps_after") {
    rangefinder::SessionOptions options;
    options.metadata.emplace_back("model", "resnet50");
    rangefinder::Session session{options};
    for (int step = 0; step < 4; ++step) {
      { const rangefinder::ProfileRange range{"ours " + std::to_string(step)}; }
      session.step();
    }
    return 0;
  }
  if (own != "never") {
    rangefinder::SessionOptions options;
    options.output = "own.rfcap";
    const rangefinder::Session session{options};
    std::printf("%s\n", session.status().ok() ? "own session" : "recorded already");
    mark("inside", "ours inside");
  }
  mark("late", "ours late");
  return 0;
}
