// SPDX-License-Identifier: MIT
#include "exporter/perfetto/render_stages.hpp"

#include "analysis/occupancy.hpp"
#include "exporter/perfetto/packets.hpp"

#include <cstring>
#include <type_traits>

namespace rangefinder::perfetto {
namespace {

using protozero::pbf_writer;

std::string dimensions(const std::uint32_t (&values)[3]) {
  return "[" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " + std::to_string(values[2]) + "]";
}

std::string in_words(const KernelDetail& detail) {
  std::string out = "grid " + dimensions(detail.grid) + ", block " + dimensions(detail.block);
  if (detail.cluster[0] > 1 || detail.cluster[1] > 1 || detail.cluster[2] > 1)
    out += ", cluster " + dimensions(detail.cluster);
  out += ", " + std::to_string(detail.registers_per_thread) + " registers per thread, shared memory " +
         std::to_string(detail.static_shared_bytes) + " bytes static, " + std::to_string(detail.dynamic_shared_bytes) +
         " bytes dynamic";
  return out;
}

/// Arguments of a launch, under the names by which Perfetto's GPU views look for them.
class LaunchArguments {
 public:
  LaunchArguments(std::string& out, Tag tag) noexcept : out_(out), tag_(tag) {}

  void number(std::string_view name, std::uint64_t value) {
    begin(name);
    pbf_writer(argument_).add_uint64(stage::kArgUnsigned, value);
    add_message(out_, tag_, argument_);
  }
  void ratio(std::string_view name, double value) {
    begin(name);
    pbf_writer(argument_).add_double(stage::kArgDouble, value);
    add_message(out_, tag_, argument_);
  }

 private:
  void begin(std::string_view name) {
    argument_.clear();
    pbf_writer(argument_).add_string(stage::kArgName, name.data(), name.size());
  }

  std::string& out_;
  Tag tag_;
  std::string argument_;
};

void add_arguments(std::string& out, Tag tag, const DeviceInfo& device, const KernelDetail& detail) {
  LaunchArguments arguments(out, tag);
  const std::uint64_t blocks = analysis::blocks_of(detail);
  const std::uint64_t threads = analysis::threads_of(detail);
  arguments.number("grid_size", blocks);
  arguments.number("workgroup_size", threads);
  std::uint64_t all = 0;
  if (!__builtin_mul_overflow(blocks, threads, &all)) arguments.number("thread_count", all);
  arguments.number("registers_per_thread", detail.registers_per_thread);
  // Each name stands in each event: that there is none of something is not worth its bytes.
  if (detail.static_shared_bytes != 0) arguments.number("shared_mem_static", detail.static_shared_bytes);
  if (detail.dynamic_shared_bytes != 0) arguments.number("shared_mem_dynamic", detail.dynamic_shared_bytes);
  if (detail.shared_executed_bytes != 0) arguments.number("shared_mem_config_size", detail.shared_executed_bytes);
  if (const auto hundredths = analysis::waves_of(device, detail))
    arguments.ratio("waves_per_multiprocessor", static_cast<double>(*hundredths) / 100);
}

void add_dimensions(std::string& out, Tag tag, const std::uint32_t (&values)[3]) {
  std::string sizes;
  pbf_writer writer(sizes);
  for (Tag axis = 1; axis <= 3; ++axis) writer.add_uint32(axis, values[axis - 1]);
  add_message(out, tag, sizes);
}

std::string launch_of(const DeviceInfo& device, const KernelDetail& detail) {
  std::string out;
  add_dimensions(out, stage::kGridSize, detail.grid);
  add_dimensions(out, stage::kWorkgroupSize, detail.block);
  add_arguments(out, stage::kLaunchArgs, device, detail);
  return out;
}

/// The launch is part of the kernel: an event then refers to both by one number.
std::string kernel_of(std::uint64_t iid, std::string_view name, const DeviceInfo& device, const KernelDetail& detail) {
  std::string out;
  pbf_writer writer(out);
  writer.add_uint64(interned::kIid, iid);
  add_text(out, interned::kName, name);
  if (device.compute_major != 0) {
    const std::string arch = "sm_" + std::to_string(device.compute_major) + std::to_string(device.compute_minor);
    writer.add_string(stage::kKernelArch, arch);
  }
  LaunchArguments sizes(out, stage::kKernelArgs);
  constexpr std::string_view kAxes[] = {"x", "y", "z"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    sizes.number("launch.grid_size." + std::string(kAxes[axis]), detail.grid[axis]);
    sizes.number("launch.workgroup_size." + std::string(kAxes[axis]), detail.block[axis]);
  }
  add_arguments(out, stage::kKernelArgs, device, detail);
  return out;
}

}  // namespace

const Specification& Specifications::of(const base::StringPool& names, std::uint32_t name, bool is_kernel,
                                        const DeviceInfo* device, const KernelDetail* detail) {
  static_assert(std::has_unique_object_representations_v<KernelDetail>, "compared byte by byte");
  Recent& recent = recent_[name % recent_.size()];
  const DeviceInfo* const on = detail != nullptr ? device : nullptr;
  const bool is_same = recent.specification != nullptr && recent.name == name && recent.is_kernel == is_kernel &&
                       recent.device == on &&
                       (detail == nullptr || std::memcmp(&recent.detail, detail, sizeof *detail) == 0);
  if (is_same) return *recent.specification;
  const Specification& found = find(names, name, is_kernel, device, detail);
  recent = {&found, name, is_kernel, on, detail != nullptr ? *detail : KernelDetail{}};
  return found;
}

const Specification& Specifications::find(const base::StringPool& names, std::uint32_t name, bool is_kernel,
                                          const DeviceInfo* device, const KernelDetail* detail) {
  key_.assign(reinterpret_cast<const char*>(&name), sizeof name);
  key_ += is_kernel ? 'k' : 'c';
  if (detail != nullptr) {
    key_.append(reinterpret_cast<const char*>(&device), sizeof(void*));
    key_.append(reinterpret_cast<const char*>(detail), sizeof *detail);
  }
  const auto [found, added] = known_.try_emplace(key_, nullptr);
  if (!added) return *found->second;
  Specification& out = all_.emplace_back();
  found->second = &out;
  out.number = static_cast<std::uint32_t>(all_.size() - 1);
  const std::string_view text = names.text(name);
  pbf_writer writer(out.specification);
  writer.add_uint64(interned::kIid, out.iid());
  add_text(out.specification, interned::kName, text);
  writer.add_enum(stage::kSpecificationCategory, is_kernel ? stage::kComputeStage : stage::kOtherStage);
  if (detail != nullptr) {
    writer.add_string(stage::kSpecificationDescription, in_words(*detail));
    add_message(out.launch, stage::kLaunch, launch_of(*device, *detail));
    out.kernel = kernel_of(out.iid(), text, *device, *detail);
  }
  return out;
}

}  // namespace rangefinder::perfetto
