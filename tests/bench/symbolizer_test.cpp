// SPDX-License-Identifier: MIT
#include "bench/symbolizer.hpp"

#include "bench/function_name.hpp"
#include "support/catch.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

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

/// Where the mappings of this process end.
std::vector<std::uintptr_t> ends_of_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::vector<std::uintptr_t> ends;
  for (std::string line; std::getline(maps, line);)
    ends.push_back(std::stoull(line.substr(line.find('-') + 1), nullptr, 16));
  return ends;
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
  CHECK(Symbolizer().function_at(1) == "[unknown]");
  // A page behind each file of this process where there is room for one: it belongs to none of them.
  std::vector<std::uintptr_t> pages;
  for (const std::uintptr_t end : ends_of_mappings()) {
    void* const page = reinterpret_cast<void*>(end);
    void* const mapped = ::mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped == page)
      pages.push_back(end);
    else if (mapped != MAP_FAILED)
      ::munmap(mapped, 4096);
  }
  REQUIRE_FALSE(pages.empty());
  Symbolizer symbolizer;
  for (const std::uintptr_t page : pages) {
    CHECK(symbolizer.function_at(page + 16) == "[unknown]");
    ::munmap(reinterpret_cast<void*>(page), 4096);
  }
  // The first bytes of a file are its header.
  Dl_info file{};
  REQUIRE(::dladdr(reinterpret_cast<void*>(&std::abort), &file) != 0);
  CHECK(starts(symbolizer.function_at(reinterpret_cast<std::uintptr_t>(file.dli_fbase) + 16), "[libc.so"));
  if (const auto vdso = ::getauxval(AT_SYSINFO_EHDR); vdso != 0) {
    const std::string name = symbolizer.function_at(vdso + 16);
    CHECK((starts(name, "[vdso]") || starts(name, "[linux-vdso.so")));
  }
}
