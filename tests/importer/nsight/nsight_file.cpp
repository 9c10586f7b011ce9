// SPDX-License-Identifier: MIT
#include "importer/nsight/nsight_file.hpp"

#include "support/files.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <stdexcept>

namespace rangefinder::testing {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER, cuDevice INTEGER,
  threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER,
  computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER NOT NULL, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
  registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
  blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER,
  graphNodeId INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
  copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER,
  bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
  overheadType INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
  int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
)";

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string list(std::initializer_list<std::int64_t> values) {
  std::string out;
  for (const std::int64_t value : values) out += (out.empty() ? "" : ", ") + std::to_string(value);
  return out;
}

}  // namespace

NsightFile::NsightFile(Tables tables) {
  if (sqlite3_open(":memory:", &handle_) != SQLITE_OK) throw std::runtime_error("no SQLite");
  // Small pages: a short file has a tree of them. An empty database has no bytes.
  run("PRAGMA page_size=512; CREATE TABLE unrelated (x)");
  if (tables == Tables::kAll) run(kTables);
}

NsightFile::~NsightFile() { sqlite3_close(handle_); }

NsightFile& NsightFile::run(const std::string& sql) {
  char* message = nullptr;
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return *this;
  const std::string text = message == nullptr ? "" : message;
  sqlite3_free(message);
  throw std::runtime_error(sql + ": " + text);
}

std::int64_t NsightFile::string(std::string_view text) {
  const auto found = strings_.find(text);
  if (found != strings_.end()) return found->second;
  const auto id = static_cast<std::int64_t>(strings_.size()) + 1;
  run("INSERT INTO StringIds VALUES (" + std::to_string(id) + ", " + literal(text) + ")");
  strings_.emplace(text, id);
  return id;
}

NsightFile& NsightFile::range(std::string_view name, std::int64_t start, std::int64_t end, int tid, int type) {
  return run("INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, domainId, text) VALUES (" +
             list({start, end, type, kGlobalPid | tid, 0}) + ", " + literal(name) + ")");
}

NsightFile& NsightFile::launch(std::string_view kernel, std::int64_t call_start, std::int64_t call_end,
                               std::int64_t start, std::int64_t end, int correlation, int tid) {
  run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue) "
      "VALUES (" +
      list({call_start, call_end, 0, kGlobalPid | tid, correlation, string("cudaLaunchKernel_v7000"), 0}) + ")");
  const std::int64_t full = string("void " + std::string(kernel) + "<float>(float *)");
  const std::int64_t mangled = string("_Z" + std::string(kernel));
  return run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
      "demangledName, shortName, mangledName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
      "staticSharedMemory, dynamicSharedMemory, localMemoryPerThread) VALUES (" +
      list({start, end, 0, 1, 7,   correlation, kGlobalPid, full, string(kernel), mangled,
            32,    4,   2, 1, 128, 1,           1,          16,   1024,           8}) +
      ")");
}

base::Bytes NsightFile::image() const {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(handle_, "main", &size, 0);
  if (bytes == nullptr) throw std::runtime_error("cannot serialize");
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  base::Bytes out(first, first + size);
  sqlite3_free(bytes);
  return out;
}

bool has_note(const Timeline& timeline, std::string_view text) {
  return std::any_of(timeline.notes.begin(), timeline.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TemporaryFile::TemporaryFile(const std::string& name, base::ByteView content) : path_(folder_.file(name)) {
  write_file(path_, {reinterpret_cast<const char*>(content.data()), content.size()});
}

}  // namespace rangefinder::testing
