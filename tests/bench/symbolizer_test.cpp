// SPDX-License-Identifier: MIT
#include "bench/symbolizer.hpp"

#include "bench/function_name.hpp"
#include "support/catch.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstdlib>

using rangefinder::bench::function_name;
using rangefinder::bench::Symbolizer;

namespace {

std::uintptr_t address_of_function_name() { return reinterpret_cast<std::uintptr_t>(&function_name); }

/// A function that only the full symbol table has.
[[gnu::noinline]] std::uintptr_t hidden_function() {
  static volatile std::uintptr_t value = 0;
  value = value + 1;
  return value;
}

bool starts(const std::string& text, const std::string& what) { return text.rfind(what, 0) == 0; }

}  // namespace

TEST_CASE("code of this process has the names of its functions", "[bench]") {
  if (!RANGEFINDER_HAS_LIBDW) RANGEFINDER_SKIP("built without libdw: stacks have addresses only");
  Symbolizer symbolizer;
  CHECK(symbolizer.function_at(address_of_function_name()) == "rangefinder::bench::function_name");
  CHECK(symbolizer.function_at(address_of_function_name() + 4) == "rangefinder::bench::function_name");
  hidden_function();
  CHECK(symbolizer.function_at(reinterpret_cast<std::uintptr_t>(&hidden_function)) ==
        "(anonymous namespace)::hidden_function");
  // A name that the C library exports, though its file is stripped.
  CHECK(symbolizer.function_at(reinterpret_cast<std::uintptr_t>(&std::abort)).find("abort") != std::string::npos);
}

#if !RANGEFINDER_HAS_LIBDW
TEST_CASE("without libdw code has its file and offset", "[bench]") {
  const auto base = [] {
    Dl_info file{};
    ::dladdr(reinterpret_cast<void*>(&std::abort), &file);
    return reinterpret_cast<std::uintptr_t>(file.dli_fbase);
  };
  CHECK(starts(Symbolizer().function_at(base() + 0x1234), "[libc.so"));
  CHECK(Symbolizer().function_at(base() + 0x1234).find("+0x1234]") != std::string::npos);
}
#endif

TEST_CASE("code that has no function has its file, code in no file is unknown", "[bench]") {
  Symbolizer symbolizer;
  CHECK(symbolizer.function_at(1) == "[unknown]");
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  CHECK(Symbolizer().function_at(reinterpret_cast<std::uintptr_t>(page) + 16) == "[unknown]");
  ::munmap(page, 4096);
  // The first bytes of a file are its header.
  Dl_info file{};
  REQUIRE(::dladdr(reinterpret_cast<void*>(&std::abort), &file) != 0);
  CHECK(starts(symbolizer.function_at(reinterpret_cast<std::uintptr_t>(file.dli_fbase) + 16), "[libc.so"));
  if (const auto vdso = ::getauxval(AT_SYSINFO_EHDR); vdso != 0) {
    const std::string name = symbolizer.function_at(vdso + 16);
    CHECK((starts(name, "[vdso]") || starts(name, "[linux-vdso.so")));
  }
}
