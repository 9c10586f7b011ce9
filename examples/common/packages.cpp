// SPDX-License-Identifier: MIT
#include "common/packages.hpp"

#include "common/libtorch_worker.hpp"

#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/version.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace examples {
namespace {

/// As the exporter's language names them: "float32".
std::string name_of(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat:
      return "float32";
    case torch::kHalf:
      return "float16";
    case torch::kBFloat16:
      return "bfloat16";
    default:
      throw std::invalid_argument(std::string("no packages of ") + torch::toString(type));
  }
}

using SmokePackages = std::function<std::vector<std::string>(torch::DeviceType)>;

std::vector<SmokePackages>& smoke_packages() {
  static std::vector<SmokePackages> all;
  return all;
}

/// A package's library names libtorch.so, which programs need not have been linked with, and does not say where it is:
/// beside the library that this program has loaded.
void load_libtorch() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &here) == 0 || here.dli_fname == nullptr) return;
  const std::string path = here.dli_fname;
  // Where it is not, loading the package says what is missing.
  [[maybe_unused]] static void* const loaded =
      ::dlopen((path.substr(0, path.rfind('/') + 1) + "libtorch.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
}

std::unique_ptr<torch::inductor::AOTIModelPackageLoader> load(const std::string& path) {
  load_libtorch();
  return std::make_unique<torch::inductor::AOTIModelPackageLoader>(path);
}

}  // namespace

std::string package_name(const std::string& kind, torch::DeviceType device, torch::ScalarType type,
                         const PackageSizes& sizes) {
  std::string name = kind + (device == torch::kCUDA ? "-cuda-" : "-cpu-") + name_of(type);
  for (const auto& [what, size] : sizes) name += "-" + what + std::to_string(size);
  return name;
}

PackageStore package_store(torch::DeviceType device) {
  std::string accelerator;
  if (device == torch::kCUDA) accelerator = "sm_" + std::to_string(libtorch_hooks().cuda().capability);
  const std::string version = TORCH_VERSION;  // "2.11.0+cu130" or without what follows the plus
  return PackageStore(PackageStoreOptions::from_environment(version.substr(0, version.find('+')), accelerator));
}

void add_smoke_packages(std::function<std::vector<std::string>(torch::DeviceType)> names) {
  smoke_packages().push_back(std::move(names));
}

std::vector<StoredPackage> get_packages(const std::string& size, torch::DeviceType device,
                                        const std::vector<std::string>& names, bool again) {
  const PackageStore store = package_store(device);
  if (size != "smoke" || std::all_of(names.begin(), names.end(), [&](const auto& name) { return store.has(name); }))
    return store.get(names, again);
  std::vector<std::string> wanted = names;
  for (const SmokePackages& each : smoke_packages()) {
    const std::vector<std::string> more = each(device);
    wanted.insert(wanted.end(), more.begin(), more.end());
  }
  std::vector<StoredPackage> made = store.get(wanted);
  made.resize(names.size());
  return made;
}

std::string skip_without_packages(torch::DeviceType device, const std::vector<std::string>& names, bool again) {
  const std::string obstacle = package_store(device).obstacle(names, again);
  return obstacle.empty() ? obstacle : "feature_not_built: " + obstacle;
}

Package::Package(const StoredPackage& stored) : loader_(load(stored.path)), compile_s_(stored.compile_s) {}
Package::~Package() = default;
Package::Package(Package&&) noexcept = default;
Package& Package::operator=(Package&&) noexcept = default;

std::vector<torch::Tensor> Package::run(const std::vector<torch::Tensor>& inputs) {
  const torch::NoGradGuard no_grad;
  ++runs_;
  return loader_->run(inputs);
}

}  // namespace examples
