// SPDX-License-Identifier: MIT
#include "injection/payload_text.hpp"

#include "injection/nvtx_domain.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

// What a program registers and hands over is its own; nothing beyond it may be read, whatever it says. Payloads lie in
// memory of exactly their size, so that a sanitizer sees who does.

using namespace rangefinder::injection;

namespace {

using Entries = std::vector<nvtxPayloadSchemaEntry_t>;

nvtxPayloadSchemaEntry_t entry(std::uint64_t type, const char* name, std::uint64_t detail = 0, std::uint64_t flags = 0,
                               std::uint64_t offset = 0) {
  nvtxPayloadSchemaEntry_t out{};
  out.flags = flags;
  out.type = type;
  out.name = name;
  out.arrayOrUnionDetail = detail;
  out.offset = offset;
  return out;
}

std::uint64_t schema_of(const Entries& entries, std::uint64_t static_size = 0,
                        std::uint64_t type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC) {
  nvtxPayloadSchemaAttr_t given{};
  given.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  given.type = type;
  given.entries = entries.data();
  given.numEntries = entries.size();
  given.payloadStaticSize = static_size;
  return register_schema(Domain::unnamed(), given);
}

std::uint64_t enum_of(std::initializer_list<nvtxPayloadEnum_t> values, std::uint64_t size) {
  nvtxPayloadEnumAttr_t given{};
  given.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                    NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
  given.entries = values.begin();
  given.numEntries = values.size();
  given.sizeOfEnum = size;
  return register_enum(Domain::unnamed(), given);
}

struct Told {
  std::string text, message;
};

/// `size`: what the program says; by default the truth.
Told told(std::uint64_t schema, const void* bytes, std::size_t size, std::size_t said = SIZE_MAX - 1) {
  const std::unique_ptr<char[]> exact(new char[size]);
  if (size != 0) std::memcpy(exact.get(), bytes, size);
  nvtxPayloadData_t payload{};
  payload.schemaId = schema;
  payload.size = said == SIZE_MAX - 1 ? size : said;
  payload.payload = exact.get();
  const PayloadText out(Domain::unnamed(), &payload, 1);
  return {std::string(out.text()), std::string(out.message())};
}

constexpr std::uint64_t kInt = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
constexpr std::uint64_t kByte = NVTX_PAYLOAD_ENTRY_TYPE_UINT8;
constexpr std::uint64_t kText = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
constexpr std::uint64_t kFixed = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
constexpr std::uint64_t kMessage = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE;

}  // namespace

TEST_CASE("a text is registered once, however often the program registers it", "[injection]") {
  const RegisteredString* const first = RegisteredString::of("layer");
  REQUIRE(first != nullptr);
  CHECK(first->text == "layer");
  CHECK(RegisteredString::of(std::string("layer")) == first);
  CHECK(RegisteredString::of("layer.0") != first);
}

TEST_CASE("a payload is told as its schema says", "[injection]") {
  const std::uint64_t mode = enum_of({{"FAST", 1, 0}, {"SAFE", 2, 0}}, 4);
  const std::uint64_t set = enum_of({{"A", 1, 1}, {"B", 2, 1}}, 4);
  const std::uint64_t point = schema_of({entry(kInt, "x"), entry(kInt, "y")});
  const std::uint64_t all = schema_of({entry(kInt, "n"), entry(mode, "mode"), entry(set, "set"), entry(point, "at"),
                                       entry(kInt, "list", 2, kFixed), entry(kText, "text", 8)});
  struct {
    std::int32_t n = -1, mode = 2, set = 7, x = 3, y = 4, list[2] = {5, 6};
    char text[8] = {'f', 'u', 'l', 'l', ' ', 'u', 'p', '!'};  // without an end
  } payload;
  const std::string whole = "n=-1 mode=SAFE set=A|B|0x4 at={x=3 y=4} list=[5, 6] text=\"full up!\"";
  CHECK(told(all, &payload, sizeof payload).text == whole);
  CHECK(told(all, &payload, sizeof payload, SIZE_MAX).text == whole);  // by the schema's size
  const std::int32_t two[] = {1, 2, 3, 4};
  CHECK(told(point, two, sizeof two).text == "[{x=1 y=2}, {x=3 y=4}]");
  CHECK(told(mode, two, 4).text == "FAST");
}

TEST_CASE("a payload that is shorter than its schema is told as far as it reaches", "[injection]") {
  const std::uint64_t schema =
      schema_of({entry(kInt, "a"), entry(kInt, "list", 4, kFixed), entry(kText, "text", 16), entry(kText, "pointer")});
  const std::string bytes(64, 'x');
  for (std::size_t size = 0; size <= bytes.size(); ++size) (void)told(schema, bytes.data(), size);
  CHECK(told(schema, bytes.data(), 3).text == "a=(missing) list=(missing) text=(missing) pointer=(missing)");
  CHECK(told(schema, bytes.data(), 9).text.find("list=[2021161080, ...]") != std::string::npos);
  CHECK(told(schema, bytes.data(), 22).text.find("text=\"xx\"") != std::string::npos);
  CHECK(told(schema, nullptr, 0).text.empty());
}

TEST_CASE("offsets and counts beyond a payload read nothing", "[injection]") {
  const std::int32_t bytes[4] = {1, 2, 3, 4};
  const auto text_of = [&](const nvtxPayloadSchemaEntry_t& one, std::uint64_t size = 0) {
    return told(schema_of({one}, size), bytes, sizeof bytes).text;
  };
  CHECK(text_of(entry(kInt, "a", 0, 0, 14)) == "a=(missing)");
  CHECK(text_of(entry(kInt, "a", 0, 0, 1u << 20)) == "a=(missing)");
  CHECK(text_of(entry(kInt, "a", 1u << 20, kFixed)) == "a=[1, 2, 3, 4, ...]");
  // No struct is so large: it is shown as it is.
  CHECK(text_of(entry(kInt, "a", 0, 0, ~std::uint64_t{0})).find("0x01000000") == 0);
  CHECK(text_of(entry(kInt, "a", ~std::uint64_t{0}, kFixed)).find("0x01000000") == 0);
  CHECK(text_of(entry(kText, "a", ~std::uint64_t{0})).find("0x01000000") == 0);
  // Nor does a size that is wrong change what may be read.
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 40, ~std::uint64_t{0}})
    (void)text_of(entry(kInt, "a", 100, kFixed), size);
  const std::uint64_t huge = schema_of({entry(kInt, "a")}, std::uint64_t{1} << 63);
  (void)text_of(entry(huge, "b", 2, kFixed));
  (void)text_of(entry(huge, "b", 1u << 31, kFixed));
}

TEST_CASE("what is not known is bytes", "[injection]") {
  const std::int32_t bytes[2] = {1, 2};
  const std::string raw = "0x0100000002000000 (8 bytes)";
  CHECK(told(0, bytes, 8).text == raw);
  CHECK(told(NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 77, bytes, 8).text == raw);
  CHECK(told(NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 5000, bytes, 8).text == raw);
  CHECK(told(~std::uint64_t{0}, bytes, 8).text == raw);
  CHECK(told(schema_of({entry(250, "unknown")}), bytes, 8).text == raw);
  CHECK(told(schema_of({entry(~std::uint64_t{0}, "unknown")}), bytes, 8).text == raw);
  CHECK(told(schema_of({entry(kInt, "a")}, 0, NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC), bytes, 8).text == raw);
  CHECK(told(enum_of({{"A", 1, 0}}, 3), bytes, 8).text == raw);
  CHECK(schema_of({}) == 0);
}

TEST_CASE("strings end where the payload or our patience does", "[injection]") {
  const std::string text(5000, 'x');
  const std::uint64_t schema = schema_of({entry(kText, "a", 4000), entry(kText, "b", 1000)});
  CHECK(told(schema, text.data(), text.size()).text ==
        "a=\"" + std::string(256, 'x') + "\" b=\"" + std::string(256, 'x') + "\"");
  const std::uint64_t message = schema_of({entry(kText, "m", 8, kMessage), entry(kByte, "n")});
  const Told both = told(message, "no end!!\x07", 9);
  CHECK(both.text == "n=7");
  // A pointer is followed where the program says that its text may be copied.
  const char* const pointed = "pointed at";
  CHECK(told(schema_of({entry(kText, "a", 0, NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY)}), &pointed, sizeof pointed).text ==
        "a=\"pointed at\"");
  CHECK(told(schema_of({entry(kText, "a")}), &pointed, sizeof pointed).text.find("a=0x") == 0);
  const char* const none = nullptr;
  CHECK(told(schema_of({entry(kText, "a", 0, NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY)}), &none, sizeof none).text == "a=0x0");
}

TEST_CASE("structs nest as deep as one can read, and a text is cut", "[injection]") {
  std::uint64_t inner = schema_of({entry(kByte, "n")});
  for (int depth = 0; depth < 20; ++depth) inner = schema_of({entry(inner, "in"), entry(inner, "in")});
  const std::string bytes(std::size_t{1} << 20, '\1');
  const std::string text = told(inner, bytes.data(), bytes.size()).text;
  CHECK(text.size() <= 1024);
  CHECK(text.find("0x0101") != std::string::npos);
  const std::uint64_t wide = schema_of(Entries(1024, entry(kByte, "a name")));
  CHECK(told(wide, bytes.data(), 1024).text.ends_with("..."));
  CHECK(schema_of(Entries(1025, entry(kByte, "a name"))) == 0);
}

TEST_CASE("whatever a schema and a payload hold, nothing beyond is read", "[injection]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("payloads"));
  const std::uint64_t known[] = {schema_of({entry(kInt, "x"), entry(kByte, "y", 3, kFixed)}),
                                 enum_of({{"A", 1, 1}}, 8)};
  const std::uint64_t numbers[] = {
      0, 1, 2, 7, 64, 1000, std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{0}};
  const auto any = [&](const auto& of) { return of[random() % std::size(of)]; };
  for (int round = 0; round < 600; ++round) {
    Entries entries;
    for (std::uint64_t i = random() % 8; i-- > 0;) {
      std::uint64_t type = random() % 4 == 0 ? any(known) : random() % 140;
      if (type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) type = kInt;  // a valid handle, or not
      entries.push_back(entry(type, random() % 8 == 0 ? nullptr : "name", any(numbers),
                              random() & 0xFFF & ~std::uint64_t{NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY}, any(numbers)));
    }
    const std::uint64_t schema = schema_of(entries, any(numbers));
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    CHECK(told(schema, bytes.data(), bytes.size()).text.size() <= 1024);
  }
}

// Last: nothing can be registered after it.
TEST_CASE("so many schemas and no more", "[injection]") {
  std::uint64_t last = 1;
  for (int i = 0; i < 2000 && last != 0; ++i) last = schema_of({entry(kInt, "a")});
  CHECK(last == 0);
  CHECK(enum_of({{"A", 1, 0}}, 4) == 0);
}
