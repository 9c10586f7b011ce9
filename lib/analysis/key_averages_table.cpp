// SPDX-License-Identifier: MIT
#include "analysis/operator_flops.hpp"

#include <rangefinder/analysis/key_averages.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>

// The text of torch.profiler's tables: widths, headings and units are its own, and its readers' (checked against one by
// tests/analysis/key_averages_test.cpp).
namespace rangefinder {
namespace {

constexpr std::size_t kFigureWidth = 12;
constexpr std::size_t kMaxNameWidth = 55;
constexpr std::size_t kMaxShapesWidth = 80;

template <typename... Values>
std::string printed(const char* format, Values... values) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, format, values...);
  return {text, static_cast<std::size_t>(std::clamp<int>(size, 0, sizeof text - 1))};
}

std::string time_text(double ns) {
  if (ns >= 1e9) return printed("%.3fs", ns / 1e9);
  if (ns >= 1e6) return printed("%.3fms", ns / 1e6);
  return printed("%.3fus", ns / 1e3);
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "NaN" : printed("%.2f%%", static_cast<double>(part) * 100.0 / static_cast<double>(whole));
}

std::string time_text(std::int64_t ns) { return time_text(static_cast<double>(ns)); }

std::string mean_text(std::int64_t ns, std::uint64_t calls) {
  return time_text(static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(calls, 1)));
}

/// The unit of the smallest count that is any; nothing where none is.
struct FlopsUnit {
  double scale = 0;
  std::string_view name;
};

/// Of operators that torch.profiler counts.
std::uint64_t flops_of(const Timeline& timeline, const OperatorGroup& group) {
  return analysis::torch_profiler_counts(timeline.text(group.name)) ? group.flops : 0;
}

FlopsUnit unit_of_flops(const Timeline& timeline, const std::vector<const OperatorGroup*>& groups) {
  static constexpr std::string_view kNames[] = {"FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"};
  std::uint64_t least = 0;
  for (const OperatorGroup* group : groups) {
    const std::uint64_t flops = flops_of(timeline, *group);
    if (flops != 0 && (least == 0 || flops < least)) least = flops;
  }
  if (least == 0) return {};
  const int unit = std::clamp(static_cast<int>(std::log10(static_cast<double>(least)) / 3), 0, 5);
  return {std::pow(10.0, -3 * unit), kNames[unit]};
}

std::string bytes_text(std::int64_t bytes) {
  constexpr double kKilo = 1024;
  const double size = std::abs(static_cast<double>(bytes));
  if (size >= kKilo * kKilo * kKilo) return printed("%.2f GB", static_cast<double>(bytes) / (kKilo * kKilo * kKilo));
  if (size >= kKilo * kKilo) return printed("%.2f MB", static_cast<double>(bytes) / (kKilo * kKilo));
  if (size >= kKilo) return printed("%.2f KB", static_cast<double>(bytes) / kKilo);
  return std::to_string(bytes) + " B";
}

struct Column {
  std::string heading;
  std::size_t width;
  std::function<std::string(const OperatorGroup&)> cell;
};

std::string cut(std::string_view name) {
  if (name.size() < kMaxNameWidth - 3) return std::string(name);
  return std::string(name.substr(0, kMaxNameWidth - 3)) + "...";
}

/// As torch.profiler prints lists: "[[2, 3], []]".
std::string shapes_text(std::string_view shapes) {
  if (shapes.empty()) return "[]";
  std::string text;
  for (const char c : shapes) {
    text += c;
    if (c == ',') text += ' ';
  }
  return text;
}

/// Columns of every table, then those that depend on what there is.
class Columns {
 public:
  Columns(const Timeline& timeline, const KeyAverages& averages, const std::vector<const OperatorGroup*>& groups) {
    const auto width_of = [&](auto text, std::size_t most) {
      std::size_t longest = 0;
      for (const OperatorGroup* group : groups) longest = std::max(longest, text(*group).size());
      return std::min(longest + 4, most);
    };
    const auto any = [&](auto has) {
      return std::any_of(groups.begin(), groups.end(), [&](const OperatorGroup* group) { return has(*group); });
    };
    const auto name = [&timeline](const OperatorGroup& g) { return timeline.text(g.name); };
    const auto shapes = [&timeline](const OperatorGroup& g) { return shapes_text(timeline.text(g.shapes)); };
    list.push_back({"Name", width_of(name, kMaxNameWidth), [name](const OperatorGroup& g) { return cut(name(g)); }});
    add_cpu(averages.cpu_ns);
    has_device = any([](const OperatorGroup& g) { return g.device_self_ns > 0; });
    if (has_device) add_device(averages.device_ns);
    const bool has_device_memory = any([](const OperatorGroup& g) { return g.memory_total.device != 0; });
    if (has_device_memory || any([](const OperatorGroup& g) { return g.memory_total.host != 0; }))
      add_memory(has_device_memory);
    add("# of Calls", [](const OperatorGroup& g) { return std::to_string(g.calls); });
    if (any([](const OperatorGroup& g) { return g.shapes != StringId::kEmpty; })) {
      const std::size_t width = width_of(shapes, kMaxShapesWidth);
      list.push_back(
          {"Input Shapes", width, [shapes, width](const OperatorGroup& g) { return shapes(g).substr(0, width); }});
    }
    if (const FlopsUnit unit = unit_of_flops(timeline, groups); unit.scale != 0) {
      add("Total " + std::string(unit.name), [&timeline, unit](const OperatorGroup& g) {
        const std::uint64_t flops = flops_of(timeline, g);
        return flops == 0 ? "--" : printed("%8.3f", static_cast<double>(flops) * unit.scale);
      });
    }
  }

  std::vector<Column> list;
  bool has_device = false;

 private:
  void add(std::string heading, std::function<std::string(const OperatorGroup&)> cell) {
    list.push_back({std::move(heading), kFigureWidth, std::move(cell)});
  }
  void add_cpu(std::int64_t all) {
    add("Self CPU %", [all](const OperatorGroup& g) { return share_text(g.cpu_self_ns, all); });
    add("Self CPU", [](const OperatorGroup& g) { return time_text(g.cpu_self_ns); });
    add("CPU total %", [all](const OperatorGroup& g) { return share_text(g.cpu_total_ns, all); });
    add("CPU total", [](const OperatorGroup& g) { return time_text(g.cpu_total_ns); });
    add("CPU time avg", [](const OperatorGroup& g) { return mean_text(g.cpu_total_ns, g.calls); });
  }
  void add_memory(bool of_device) {
    add("CPU Mem", [](const OperatorGroup& g) { return bytes_text(g.memory_total.host); });
    add("Self CPU Mem", [](const OperatorGroup& g) { return bytes_text(g.memory_self.host); });
    if (!of_device) return;
    add("CUDA Mem", [](const OperatorGroup& g) { return bytes_text(g.memory_total.device); });
    add("Self CUDA Mem", [](const OperatorGroup& g) { return bytes_text(g.memory_self.device); });
  }
  void add_device(std::int64_t all) {
    add("Self CUDA", [](const OperatorGroup& g) { return time_text(g.device_self_ns); });
    add("Self CUDA %", [all](const OperatorGroup& g) { return share_text(g.device_self_ns, all); });
    add("CUDA total", [](const OperatorGroup& g) { return time_text(g.device_total_ns); });
    add("CUDA time avg", [](const OperatorGroup& g) { return mean_text(g.device_total_ns, g.calls); });
  }
};

std::vector<const OperatorGroup*> sorted(const Timeline& timeline, const KeyAverages& averages,
                                         KeyAveragesOrder order) {
  std::vector<const OperatorGroup*> groups;
  for (const OperatorGroup& group : averages.groups) groups.push_back(&group);
  const auto key = [&](const OperatorGroup& group) -> std::uint64_t {
    const auto time = [](std::int64_t ns) { return static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)); };
    switch (order) {
      case KeyAveragesOrder::kFirst:
        break;
      case KeyAveragesOrder::kCpuTotal:
        return time(group.cpu_total_ns);
      case KeyAveragesOrder::kCpuSelf:
        return time(group.cpu_self_ns);
      case KeyAveragesOrder::kDeviceTotal:
        return time(group.device_total_ns);
      case KeyAveragesOrder::kDeviceSelf:
        return time(group.device_self_ns);
      case KeyAveragesOrder::kCalls:
        return group.calls;
      case KeyAveragesOrder::kFlops:
        return flops_of(timeline, group);
    }
    return 0;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const OperatorGroup* a, const OperatorGroup* b) { return key(*a) > key(*b); });
  return groups;
}

template <typename Cell>
void append_line(std::string& text, const std::vector<Column>& columns, Cell cell) {
  for (const Column& column : columns) {
    const std::string content = cell(column);
    text.append(column.width > content.size() ? column.width - content.size() : 0, ' ');
    text += content + "  ";
  }
  text += '\n';
}

}  // namespace

std::string key_averages_table(const Timeline& timeline, const KeyAverages& averages, KeyAveragesOrder order,
                               std::size_t row_limit) {
  if (averages.groups.empty()) return {};
  const std::vector<const OperatorGroup*> groups = sorted(timeline, averages, order);
  const Columns columns(timeline, averages, groups);
  const auto rule = [](const Column& column) { return std::string(column.width, '-'); };
  std::string text;
  append_line(text, columns.list, rule);
  append_line(text, columns.list, [](const Column& column) { return column.heading; });
  append_line(text, columns.list, rule);
  for (std::size_t i = 0; i < std::min(groups.size(), row_limit); ++i)
    append_line(text, columns.list, [&](const Column& column) { return column.cell(*groups[i]); });
  append_line(text, columns.list, rule);
  text += "Self CPU time total: " + time_text(averages.cpu_ns) + "\n";
  if (columns.has_device) text += "Self CUDA time total: " + time_text(averages.device_ns) + "\n";
  return text;
}

}  // namespace rangefinder
