// SPDX-License-Identifier: MIT
#include "bench/code_names.hpp"

#include "base/file.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

namespace rangefinder::bench {
namespace {

struct Symbol {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::string_view name;
};

/// The functions of an ELF file of this machine, in order of address. The file is one that the loader accepted; what
/// does not lie within it is left out all the same. Only the tables are read: libraries have gigabytes.
class SymbolFile {
 public:
  explicit SymbolFile(const std::string& path) {
    Result<base::InputFile> file = base::InputFile::open(path);
    if (!file) return;
    const std::vector<ElfW(Ehdr)> header = array_of<ElfW(Ehdr)>(*file, 0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return;
    const std::vector<ElfW(Shdr)> sections = array_of<ElfW(Shdr)>(*file, header[0].e_shoff, header[0].e_shnum);
    // The full table where the file was not stripped of it.
    for (const unsigned type : {SHT_SYMTAB, SHT_DYNSYM}) {
      for (const ElfW(Shdr) & section : sections) {
        if (symbols_.empty() && section.sh_type == type && section.sh_link < sections.size())
          read(*file, section, sections[section.sh_link]);
      }
    }
    std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
  }

  std::optional<std::string_view> find(std::uintptr_t offset) const {
    auto after = std::upper_bound(symbols_.begin(), symbols_.end(), offset,
                                  [](std::uintptr_t value, const Symbol& symbol) { return value < symbol.begin; });
    if (after == symbols_.begin() || offset >= (--after)->end) return std::nullopt;
    return after->name;
  }

 private:
  /// Empty where so many do not lie within the file.
  template <typename T>
  static std::vector<T> array_of(base::InputFile& file, std::uint64_t offset, std::uint64_t count) {
    std::vector<T> out;
    if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return out;
    out.resize(count);
    if (!file.read_into(offset, std::as_writable_bytes(std::span(out))).ok()) out.clear();
    return out;
  }

  void read(base::InputFile& file, const ElfW(Shdr) & table, const ElfW(Shdr) & texts) {
    texts_ = array_of<char>(file, texts.sh_offset, texts.sh_size);
    for (const ElfW(Sym) & symbol : array_of<ElfW(Sym)>(file, table.sh_offset, table.sh_size / sizeof(ElfW(Sym)))) {
      const auto type = symbol.st_info & 0xF;
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 ||
          symbol.st_name >= texts_.size())
        continue;
      const char* const name = texts_.data() + symbol.st_name;
      symbols_.push_back(
          {symbol.st_value, symbol.st_value + symbol.st_size, {name, ::strnlen(name, texts_.size() - symbol.st_name)}});
    }
  }

  std::vector<char> texts_;
  std::vector<Symbol> symbols_;  // with names in texts_
};

bool starts(std::string_view text, std::size_t at, std::string_view what) {
  return text.compare(at, what.size(), what) == 0;
}

/// Length of an operator's name there, "operator<<", "operator()" or "operator bool"; 0 where none stands.
std::size_t operator_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kOperator = "operator", kSigns = "+-*/%^&|~!=<>,";
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (!starts(text, at, kOperator) || (at > 0 && is_name(text[at - 1]))) return 0;
  std::size_t end = at + kOperator.size();
  if (starts(text, end, "()") || starts(text, end, "[]")) return kOperator.size() + 2;
  if (starts(text, end, " ")) return text.find('(', end) == text.npos ? 0 : text.find('(', end) - at;
  while (end < text.size() && kSigns.find(text[end]) != kSigns.npos) ++end;
  return end - at > kOperator.size() ? end - at : 0;
}

/// The position behind the bracket that closes the one there.
std::size_t behind_group(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    if (const std::size_t length = operator_at(text, at); length != 0) {
      at += length;
      continue;
    }
    if (starts(text, at, "->")) {
      at += 2;
      continue;
    }
    const char c = text[at++];
    if (std::string_view("<([{").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(">)]}").find(c) != std::string_view::npos && --depth == 0) break;
  }
  return at;
}

}  // namespace

struct CodeNames::Module {
  struct Segment {
    std::uintptr_t begin;
    std::uintptr_t end;
  };

  std::string path;
  std::uintptr_t base = 0;
  std::vector<Segment> segments;
  std::optional<SymbolFile> symbols;  // read when first asked for

  bool holds(std::uintptr_t address) const {
    return std::any_of(segments.begin(), segments.end(),
                       [&](const Segment& segment) { return address >= segment.begin && address < segment.end; });
  }
};

CodeNames::CodeNames() {
  const auto add = [](dl_phdr_info* info, std::size_t, void* data) {
    auto module = std::make_unique<Module>();
    module->path = info->dlpi_name;
    module->base = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
      if (header.p_type == PT_LOAD) module->segments.push_back({begin, begin + header.p_memsz});
    }
    auto& modules = *static_cast<std::vector<std::unique_ptr<Module>>*>(data);
    if (module->path.empty() && modules.empty()) module->path = "/proc/self/exe";
    modules.push_back(std::move(module));
    return 0;
  };
  ::dl_iterate_phdr(add, &modules_);
}

CodeNames::~CodeNames() = default;

std::string CodeNames::of(std::uintptr_t address) {
  for (const std::unique_ptr<Module>& module : modules_) {
    if (!module->holds(address)) continue;
    if (!module->symbols) module->symbols.emplace(module->path);
    if (const auto symbol = module->symbols->find(address - module->base)) return function_name(*symbol);
    return "[" + module->path.substr(module->path.rfind('/') + 1) + "]";
  }
  return std::string(kUnknownFunction);
}

std::string function_name(std::string_view symbol) {
  // "memcpy@GLIBC_2.14"
  std::string mangled(symbol.substr(0, symbol.find('@')));
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return mangled;
  const std::string_view full = text.get();
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string out;
  for (std::size_t at = 0; at < full.size();) {
    std::size_t taken = operator_at(full, at);
    if (taken == 0 && starts(full, at, kAnonymous)) taken = kAnonymous.size();
    out += full.substr(at, taken);
    at += taken;
    if (taken != 0) continue;
    switch (full[at]) {
      case ' ':
        out.clear();
        ++at;  // what stood before was the return type
        break;
      case '<':
      case '[':
        at = behind_group(full, at);  // template arguments, [abi:cxx11]
        break;
      case '{':
        at = behind_group(full, at);
        out += "{lambda}";
        break;
      case '(':
        at = behind_group(full, at);
        // Parameters end a name, unless they are those of a function around it.
        if (starts(full, at, " const::")) at += std::string_view(" const").size();
        if (!starts(full, at, "::") && out != "decltype") return out;
        break;
      default:
        out += full[at++];
    }
  }
  return out.empty() ? std::string(full) : out;
}

}  // namespace rangefinder::bench
