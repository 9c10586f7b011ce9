// SPDX-License-Identifier: MIT
#pragma once

namespace bench {

/// What a benchmark of this folder measures, printed. bench_launch_cost: launches, graphs and the clock of a real device,
/// or that there is none. bench_launch_share: what of it is ours, on the launching thread and behind it, on a simulated
/// CUPTI.
void measure_launches(int rounds);

}  // namespace bench
