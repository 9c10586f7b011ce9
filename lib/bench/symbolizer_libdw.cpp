// SPDX-License-Identifier: MIT
#include "bench/function_name.hpp"
#include "bench/symbolizer.hpp"

#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

namespace rangefinder::bench {
namespace {

struct Function {
  std::uintptr_t begin;
  std::uintptr_t end;
  const char* name;  // of the Dwfl
};

/// In order of address: libdwfl's own look-up walks the whole table for each address, and LibTorch has a million
/// symbols.
std::vector<Function> functions_of(Dwfl_Module* module) {
  std::vector<Function> out;
  const int count = ::dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = SHN_UNDEF;
    const char* const name = ::dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
    if (name == nullptr || section == SHN_UNDEF || symbol.st_size == 0) continue;
    const auto type = GELF_ST_TYPE(symbol.st_info);
    if (type == STT_FUNC || type == STT_GNU_IFUNC) out.push_back({address, address + symbol.st_size, name});
  }
  std::stable_sort(out.begin(), out.end(), [](const Function& a, const Function& b) { return a.begin < b.begin; });
  return out;
}

const char* name_at(const std::vector<Function>& functions, std::uintptr_t address) {
  auto after = std::upper_bound(functions.begin(), functions.end(), address,
                                [](std::uintptr_t value, const Function& function) { return value < function.begin; });
  return after != functions.begin() && address < (--after)->end ? after->name : nullptr;
}

/// "[libm.so.6]" of its path, "[vdso]" of "[vdso: 1234]", which has the process in it.
std::string file_of(Dwfl_Module* module) {
  std::string_view name = ::dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  if (name.substr(0, 1) == "[") return std::string(name.substr(0, name.find_first_of(":]"))) + "]";
  return "[" + std::string(name.substr(name.rfind('/') + 1)) + "]";
}

/// The module that holds the address. dwfl_addrmodule also gives a module to addresses behind its end.
Dwfl_Module* module_at(Dwfl* modules, std::uintptr_t address) {
  Dwfl_Module* const module = modules != nullptr ? ::dwfl_addrmodule(modules, address) : nullptr;
  if (module == nullptr) return nullptr;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ::dwfl_module_info(module, nullptr, &begin, &end, nullptr, nullptr, nullptr, nullptr);
  return begin <= address && address < end ? module : nullptr;
}

}  // namespace

struct Symbolizer::Modules {
  // Separate debug files of this machine, by build id. The standard look-up would ask servers of DEBUGINFOD_URLS.
  Dwfl_Callbacks callbacks{::dwfl_linux_proc_find_elf, ::dwfl_build_id_find_debuginfo, nullptr, nullptr};
  std::unique_ptr<Dwfl, decltype(&::dwfl_end)> all{::dwfl_begin(&callbacks), &::dwfl_end};
  std::map<Dwfl_Module*, std::vector<Function>> functions;  // read when first asked for
};

Symbolizer::Symbolizer() : modules_(std::make_unique<Modules>()) {
  Dwfl* const all = modules_->all.get();
  if (all == nullptr) return;
  ::dwfl_report_begin(all);
  // What it cannot read has no module, and its code no name.
  (void)::dwfl_linux_proc_report(all, ::getpid());
  ::dwfl_report_end(all, nullptr, nullptr);
}

Symbolizer::~Symbolizer() = default;

std::string Symbolizer::function_at(std::uintptr_t address) {
  Dwfl_Module* const module = module_at(modules_->all.get(), address);
  if (module == nullptr) return std::string(kUnknownFunction);
  auto found = modules_->functions.find(module);
  if (found == modules_->functions.end()) found = modules_->functions.emplace(module, functions_of(module)).first;
  const char* const name = name_at(found->second, address);
  return name != nullptr ? function_name(name) : file_of(module);
}

}  // namespace rangefinder::bench
