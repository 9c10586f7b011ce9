/* SPDX-License-Identifier: MIT
 * A tool of somebody else that listens to NVTX, and prints the ranges of domains. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

static nvtxDomainHandle_t NVTX_API domain_create(const char* name) { return (nvtxDomainHandle_t)strdup(name); }
static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t domain, const char* text) {
  (void)domain;
  return (nvtxStringHandle_t)strdup(text);
}
static int NVTX_API range_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  fprintf(stderr, "push %s:%s\n", (const char*)domain, (const char*)event->message.registered);
  return 0;
}
static int NVTX_API range_pop(nvtxDomainHandle_t domain) {
  (void)domain;
  fputs("pop\n", stderr);
  return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const NvtxExportTableCallbacks* callbacks = (const NvtxExportTableCallbacks*)get_export_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned int size;
  if (callbacks == NULL || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)domain_create;
  *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)range_push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)range_pop;
  return 1;
}
