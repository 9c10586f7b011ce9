// SPDX-License-Identifier: MIT
#include "source/cupti/cupti_api.hpp"

#include "cupti_fixture.hpp"

namespace rangefinder::source::testing {
TEST_CASE("the library that the environment names is opened, and asks for no driver", "[source]") {
  fakecupti_reset();
  const Environment chosen("RANGEFINDER_CUPTI_LIBRARY", FAKE_CUPTI_PATH);
  const auto api = cupti::load_cupti();
  REQUIRE(api.ok());
  CHECK(api->simulated);
  CHECK(api->version == CUPTI_API_VERSION);
  CHECK(api->path == FAKE_CUPTI_PATH);
  CHECK(api->driver_version == 0);
  CHECK(api->cuptiSubscribe_v2 != nullptr);
}

TEST_CASE("a library that is not there, or is none, is named in the error", "[source][fault]") {
  {
    const Environment chosen("RANGEFINDER_CUPTI_LIBRARY", "/nowhere/libcupti.so.13");
    const auto api = cupti::load_cupti();
    REQUIRE_FALSE(api.ok());
    CHECK(api.error().code() == ErrorCode::kNotFound);
    CHECK(api.error().message().find("RANGEFINDER_CUPTI_LIBRARY: /nowhere/libcupti.so.13") == 0);
  }
  {
    const Environment chosen("RANGEFINDER_CUPTI_LIBRARY", "libm.so.6");
    const auto api = cupti::load_cupti();
    REQUIRE_FALSE(api.ok());
    CHECK(api.error().code() == ErrorCode::kUnsupported);
    CHECK(api.error().message().find("has no cuptiGetVersion") != std::string::npos);
  }
}

TEST_CASE("without a driver CUPTI is not looked for", "[source]") {
  if (base::Library::open("libcuda.so.1")) RANGEFINDER_SKIP("this machine has an NVIDIA driver");
  const Environment chosen("RANGEFINDER_CUPTI_LIBRARY", nullptr);
  const auto api = cupti::load_cupti();
  REQUIRE_FALSE(api.ok());
  CHECK(api.error().code() == ErrorCode::kNotFound);
  CHECK(api.error().message().find("no NVIDIA driver") == 0);
  CHECK(api.error().message().find("libcuda.so.1") != std::string::npos);
  CHECK(api.error().message().find('\n') == std::string::npos);
}

TEST_CASE("a CUPTI older than CUDA 12.0 is refused", "[source][fault]") {
  fakecupti_reset();
  fakecupti_set_version(17);
  const auto library = base::Library::open(FAKE_CUPTI_PATH);
  REQUIRE(library.ok());
  const auto api = cupti::bind_cupti(*library);
  REQUIRE_FALSE(api.ok());
  CHECK(api.error().message().find("CUPTI older than 11.8 is too old") != std::string::npos);
  fakecupti_set_version(18);  // as CUDA 12.1 says, and 11.8
  CHECK(cupti::bind_cupti(*library).ok());
  fakecupti_fail("cuptiGetVersion", CUPTI_ERROR_UNKNOWN);
  const auto unknown = cupti::bind_cupti(*library);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message().find(": cuptiGetVersion: unknown reason; please report this") != std::string::npos);
}

TEST_CASE("versions are shown as people know them", "[source]") {
  CHECK(cupti::version_text(17) == "older than 11.8");
  CHECK(cupti::version_text(18) == "12.1 or 11.8");
  CHECK(cupti::version_text(19) == "12.0");
  CHECK(cupti::version_text(26) == "12.8");
  CHECK(cupti::version_text(28) == "12.9.1");
  CHECK(cupti::version_text(29) == "of API version 29");
  CHECK(cupti::version_text(130001) == "13.0.1");
  CHECK(cupti::version_text(130101) == "13.1.1");
}

TEST_CASE("NVIDIA's library binds, and says no to a subscription without a driver", "[source]") {
  if (real_cupti() == nullptr) RANGEFINDER_SKIP("NVIDIA's libcupti.so.13 is not beside the headers");
  CHECK_FALSE(real_cupti()->simulated);
  CHECK(real_cupti()->version >= 130000);
  if (base::Library::open("libcuda.so.1")) RANGEFINDER_SKIP("this machine has an NVIDIA driver");
  CuptiProcess process;
  KeepingSink sink;
  CuptiSeams seams = process.seams();
  seams.load = [] { return Result<CuptiApi>(*real_cupti()); };
  CuptiSource source(process.options, seams);
  const SourceState state = source.start(sink);
  CHECK_FALSE(state.working);
  CHECK(state.reason.find("CUPTI_ERROR_UNKNOWN, 999") != std::string::npos);
  CHECK(sink.counted(health::cupti_errors) == 1);
}

}  // namespace rangefinder::source::testing
