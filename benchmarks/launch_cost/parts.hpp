// SPDX-License-Identifier: MIT
#pragma once

namespace bench {

/// Needs a GPU: launches, graphs and the clock of a real device.
void device_cost(int rounds);
/// On a simulated CUPTI: what of it is ours, on the launching thread and behind it.
void own_share(int rounds);

}  // namespace bench
