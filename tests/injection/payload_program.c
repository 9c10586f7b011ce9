/* SPDX-License-Identifier: MIT
 * Payloads with schemas, names of threads and colours. What it leaves in a capture is checked by record_test.py beside
 * this. */
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
  int8_t x;
  double y;
} Point;

typedef struct {
  int32_t rank;
  float loss;
  uint64_t bytes;
  char host[8];
  Point at;
  int16_t dims[3];
  uint8_t mode;
  uint32_t flags;
  const void* buffer;
  uint16_t half;
  uint16_t bfloat;
  int hidden;
  const char* copied;
  const char* not_copied;
  Point corners[2];
  nvtxStringHandle_t string;
} Sample;

static const Sample kSample = {3,      0.5f,   1ull << 40,       "node-7", {-1, 2.25}, {4, -5, 6},
                               2,      0x15,   (void*)0xabcd0,   0x3e00,   0x4049,     99,
                               "text", "text", {{1, 1}, {2, 2}}, NULL};

static uint64_t schema_of(const char* name, uint64_t type, const nvtxPayloadSchemaEntry_t* entries, size_t count,
                          size_t size, uint64_t id) {
  nvtxPayloadSchemaAttr_t schema;
  memset(&schema, 0, sizeof schema);
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  schema.name = name;
  schema.type = type;
  schema.entries = entries;
  schema.numEntries = count;
  schema.payloadStaticSize = size;
  schema.schemaId = id;
  return nvtxPayloadSchemaRegister(NULL, &schema);
}

static uint64_t enum_of(const nvtxPayloadEnum_t* entries, size_t count, size_t size) {
  nvtxPayloadEnumAttr_t values;
  memset(&values, 0, sizeof values);
  values.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
  values.entries = entries;
  values.numEntries = count;
  values.sizeOfEnum = size;
  return nvtxPayloadEnumRegister(NULL, &values);
}

static nvtxEventAttributes_t event_of(const char* text, const nvtxPayloadData_t* payloads, int count) {
  nvtxEventAttributes_t event;
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  if (payloads == NULL) return event;
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.payload.ullValue = (uint64_t)(uintptr_t)payloads;
  event.reserved0 = count;
  return event;
}

static void push(const char* text, uint64_t schema, const void* payload, size_t size) {
  const nvtxPayloadData_t data = {schema, size, payload};
  const nvtxEventAttributes_t event = event_of(text, &data, 1);
  nvtxRangePushEx(&event);
  nvtxRangePop();
}

#define FIELD(member, type, flags, detail) \
  { flags, type, #member, NULL, detail, offsetof(Sample, member), NULL, NULL }

static void* work(void* unused) {
  (void)unused;
  nvtxRangePushA("before it has a name");
  nvtxRangePop();
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "loader with a long name");
  nvtxRangePushA("on the loader");
  nvtxRangePop();
  return NULL;
}

static void payloads(void) {
  const nvtxPayloadSchemaEntry_t of_point[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT8, "x", NULL, 0, 0, NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "y", NULL, 0, 0, NULL, NULL}}; /* where C puts it */
  const uint64_t point = schema_of("point", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, of_point, 2, 0, 0);
  const nvtxPayloadEnum_t of_mode[] = {{"SLOW", 1, 0}, {"FAST", 2, 0}};
  const uint64_t mode = enum_of(of_mode, 2, 1);
  const nvtxPayloadEnum_t of_flags[] = {{"READ", 1, 1}, {"WRITE", 4, 1}};
  const uint64_t flags = enum_of(of_flags, 2, 4);
  const nvtxPayloadSchemaEntry_t of_sample[] = {
      FIELD(rank, NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0, 0),
      FIELD(loss, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, 0, 0),
      FIELD(bytes, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, 0, 0),
      FIELD(host, NVTX_PAYLOAD_ENTRY_TYPE_CHAR, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 8),
      FIELD(at, point, 0, 0),
      FIELD(dims, NVTX_PAYLOAD_ENTRY_TYPE_INT16, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 3),
      FIELD(mode, mode, 0, 0),
      FIELD(flags, flags, 0, 0),
      FIELD(buffer, NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, 0, 0),
      FIELD(half, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16, 0, 0),
      FIELD(bfloat, NVTX_PAYLOAD_ENTRY_TYPE_BF16, 0, 0),
      FIELD(hidden, NVTX_PAYLOAD_ENTRY_TYPE_INT, NVTX_PAYLOAD_ENTRY_FLAG_HIDE, 0),
      FIELD(copied, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
            NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY, 0),
      FIELD(corners, point, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 2),
      FIELD(string, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, 0, 0)};
  const size_t fields = sizeof of_sample / sizeof *of_sample;
  const uint64_t id = schema_of("sample", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, of_sample, fields, sizeof(Sample), 1 << 24);
  Sample sample = kSample;
  sample.string = nvtxDomainRegisterStringA(NULL, "registered");
  push("sample", id, &sample, sizeof sample);
  push("size unknown", id, &sample, SIZE_MAX);

  /* What the program says may be wrong. */
  push("cut in loss", id, &sample, 6);
  push("no bytes", id, &sample, 0);
  push("nowhere", id, NULL, sizeof sample);
  push("unknown schema", 4711, &sample.bytes, 8);
  push("raw", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, "\1\2\3", 3);
  const nvtxPayloadSchemaEntry_t of_not_copied[] = {
      FIELD(not_copied, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, NVTX_PAYLOAD_ENTRY_FLAG_POINTER, 0)};
  sample.not_copied = (const char*)16; /* must not be followed */
  push("not copied", schema_of("pointer", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, of_not_copied, 1, 0, 0), &sample,
       sizeof sample);
  const nvtxPayloadSchemaEntry_t of_array[] = {
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_INT, "ones", NULL, 1u << 30, 0, NULL, NULL}};
  int ones[100];
  for (int i = 0; i < 100; ++i) ones[i] = 1;
  const uint64_t array = schema_of("array", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, of_array, 1, 0, 0);
  push("many ones", array, ones, sizeof ones);
  push("few ones", array, ones, 8);
  push("dynamic", schema_of("dynamic", NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC, of_array, 1, 0, 0), ones, 40);
  if (schema_of("none", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, of_array, (size_t)1 << 60, 0, 0) != 0) exit(3);
  if (schema_of("none", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, NULL, 1, 0, 0) != 0) exit(3);

  /* More than one of them. */
  push("two points", point, sample.corners, sizeof sample.corners);
  push("three numbers", NVTX_PAYLOAD_ENTRY_TYPE_INT16, sample.dims, sizeof sample.dims);

  /* Other ways to say it. */
  const int64_t number = -5;
  const nvtxPayloadData_t both[] = {{NVTX_PAYLOAD_ENTRY_TYPE_INT64, 8, &number}, {point, sizeof(Point), &sample.at}};
  nvtxEventAttributes_t event = event_of("two of them", both, 2);
  nvtxMarkEx(&event);
  event.message.ascii = "start/end";
  nvtxRangeEnd(nvtxRangeStartEx(&event));
  event.message.ascii = "start/end, a number";
  event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  event.payload.llValue = -7;
  nvtxRangeEnd(nvtxRangeStartEx(&event));

  const nvtxPayloadSchemaEntry_t of_message[] = {
      {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", NULL, 16, 0, NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "count", NULL, 0, 0, NULL, NULL}};
  struct {
    char text[16];
    int count;
  } told = {"told by payload", 42};
  const nvtxPayloadData_t data = {schema_of("told", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, of_message, 2, 0, 0), sizeof told,
                                  &told};
  if (nvtxRangePushPayload(NULL, &data, 1) != 0 || nvtxRangePopPayload(NULL, NULL, 0) != 0) exit(3);
  nvtxRangeEndPayload(NULL, nvtxRangeStartPayload(NULL, &data, 1), NULL, 0);
  nvtxMarkPayload(NULL, &data, 1);
}

static void colours(void) {
  nvtxDomainHandle_t library = nvtxDomainCreateA("library");
  nvtxDomainNameCategoryA(library, 7, "io");
  nvtxEventAttributes_t event = event_of("green", NULL, 0);
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff76b900;
  nvtxRangePushEx(&event);
  nvtxRangePop();
  event.category = 7;
  nvtxDomainRangePushEx(library, &event);
  nvtxDomainRangePop(library);
  nvtxDomainMarkEx(library, &event);
  event.color = 0;
  event.message.ascii = "black";
  nvtxDomainRangePushEx(library, &event);
  nvtxDomainRangePop(library);
}

int main(void) {
  if (nvtxDomainIsEnabled(NULL) != 1) return 3;
  payloads();
  colours();
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 3;
  pthread_join(thread, NULL);
  return 0;
}
