// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace examples {

/// A compiled package on disk.
struct StoredPackage {
  std::string path;
  double compile_s = 0;  ///< seconds that exporting and compiling took when it was made
};

/// What a store looks for, and how it makes what is not there.
struct PackageStoreOptions {
  std::string folder;         ///< of all packages, whatever they are for
  std::string python;         ///< an interpreter with torch
  std::string script;         ///< examples/workloads/export_packages.py
  std::string torch_version;  ///< "2.11.0"
  std::string accelerator{};  ///< what code for a device is made for, "sm_90"; empty: packages are for the CPU alone

  /// The folder is RANGEFINDER_PACKAGES, else rangefinder/packages in XDG_CACHE_HOME or ~/.cache; the interpreter is
  /// RANGEFINDER_TORCH_PYTHON, else the one beside the LibTorch that was built against.
  static PackageStoreOptions from_environment(const std::string& torch_version, const std::string& accelerator = {});
};

/// Packages of compiled functions. They hold code for one version of LibTorch and one kind of processor, so they are
/// made where they run, when they are first wanted, and kept for the next time.
///
///   PackageStore store(PackageStoreOptions::from_environment("2.11.0"));
///   const auto packages = store.get({"ffn-cpu-float32-inner64-width32"});
///
/// A package is kept under a key: the version, the processor's instructions, the accelerator, the script. Another
/// torch, processor or script finds nothing and makes its own.
///
/// Errors:  std::runtime_error says what could not be made.
/// Threads: any, and any processes: one makes what is missing, the others wait; a package appears whole or not at all.
class PackageStore {
 public:
  explicit PackageStore(PackageStoreOptions options);

  /// Why some of `names` are neither there nor can be made, and what to do; empty: they are, or can. `again`: that they
  /// are there is not enough.
  std::string obstacle(const std::vector<std::string>& names, bool again = false) const;
  /// Whether a package is there.
  bool has(const std::string& name) const;
  /// The packages, in order; makes those that are missing, with one start of the interpreter. `again`: makes all.
  std::vector<StoredPackage> get(const std::vector<std::string>& names, bool again = false) const;

  const std::string& key() const noexcept { return key_; }

 private:
  std::string file(const std::string& name, const char* suffix) const;
  void make(const std::vector<std::string>& names, int lock) const;

  PackageStoreOptions options_;
  std::string key_, folder_;
};

}  // namespace examples
