/* SPDX-License-Identifier: MIT
 * A library with a copy of NVTX of its own. */
#include <nvtx3/nvToolsExt.h>

void mark_from_module(void);
void mark_from_module(void) {
  nvtxRangePushA("in the module");
  nvtxRangePop();
}
