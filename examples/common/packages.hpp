// SPDX-License-Identifier: MIT
#pragma once

#include "common/package_store.hpp"
#include "common/tensor_variant.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace torch::inductor {
class AOTIModelPackageLoader;
}

namespace examples {

/// Sizes of a compiled function: {{"batch", 8}, {"width", 32}}.
using PackageSizes = std::vector<std::pair<std::string, std::int64_t>>;

/// The name under which the exporter makes a package: what kind of function, for which device, type and sizes.
std::string package_name(const std::string& kind, torch::DeviceType device, torch::ScalarType type,
                         const PackageSizes& sizes);

/// The store of packages for this process and a device.
PackageStore package_store(torch::DeviceType device);

/// Packages that a benchmark wants at size smoke. The first benchmark that lacks one has those of all benchmarks made,
/// with one start of the exporter, which costs more than such a package does. Called while benchmarks are registered.
void add_smoke_packages(std::function<std::vector<std::string>(torch::DeviceType device)> names);

/// The packages `names`, made where they are missing; `again` as in PackageStore.
std::vector<StoredPackage> get_packages(const std::string& size, torch::DeviceType device,
                                        const std::vector<std::string>& names, bool again = false);

/// What a benchmark's `skip` answers when its packages are neither there nor can be made: "feature_not_built: " and
/// what to do about it; else empty. `again` as in PackageStore.
std::string skip_without_packages(torch::DeviceType device, const std::vector<std::string>& names, bool again = false);

/// A compiled function, loaded: runs without Python.
///
/// Errors:  c10::Error from LibTorch.
/// Threads: one at a time.
class Package {
 public:
  explicit Package(const StoredPackage& stored);
  ~Package();
  Package(Package&&) noexcept;
  Package& operator=(Package&&) noexcept;

  /// Nothing is recorded for a backward pass.
  std::vector<torch::Tensor> run(const std::vector<torch::Tensor>& inputs);
  std::int64_t runs() const noexcept { return runs_; }
  double compile_s() const noexcept { return compile_s_; }

 private:
  std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
  double compile_s_;
  std::int64_t runs_ = 0;
};

}  // namespace examples
