// SPDX-License-Identifier: MIT
#include "importer/nsight/sqlite_database.hpp"

#include "importer/nsight/nsight_file.hpp"
#include "support/catch.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>

using namespace rangefinder;
using importer::nsight::Database;
using importer::nsight::Statement;
using rangefinder::testing::NsightFile;
using rangefinder::testing::TemporaryFile;

namespace {
int run(const Database& database, const std::string& sql) {
  const Result<Statement> statement = database.prepare(sql);
  if (!statement) return SQLITE_ERROR;
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) code = sqlite3_step(statement->get());
  return code;
}
}  // namespace

TEST_CASE("a database can be read and not written", "[importer_nsight]") {
  const base::Bytes image = NsightFile().range("r", 1, 2).image();
  const TemporaryFile file("odd name?#%41.sqlite", image);
  const auto database = Database::open(file.path());
  REQUIRE(database);
  CHECK(run(*database, "SELECT * FROM NVTX_EVENTS") == SQLITE_DONE);
  CHECK(run(*database, "DELETE FROM NVTX_EVENTS") != SQLITE_DONE);
  CHECK(run(*database, "CREATE TABLE t (x)") != SQLITE_DONE);
  CHECK(run(*database, "PRAGMA journal_mode=WAL; ") != SQLITE_ERROR);
  CHECK(run(*database, "ATTACH ':memory:' AS other") != SQLITE_DONE);
  CHECK(run(*database, "SELECT load_extension('x.so')") != SQLITE_DONE);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(file.folder())) ++files;
  CHECK(files == 1);
  CHECK(std::filesystem::file_size(file.path()) == image.size());
}

TEST_CASE("views, virtual tables and computed columns do not exist", "[importer_nsight]") {
  NsightFile file(NsightFile::Tables::kNone);
  file.run("CREATE TABLE real (x, y GENERATED ALWAYS AS (hex(x)) VIRTUAL, z)");
  file.run("CREATE VIEW seen AS SELECT * FROM real");
  file.run("CREATE VIRTUAL TABLE virtual USING fts5(text)");
  const base::Bytes image = file.image();
  const auto database = Database::open_image(image);
  REQUIRE(database);
  REQUIRE(database->table("real") != nullptr);
  CHECK(database->table("real")->columns == std::vector<std::string>{"x", "z"});
  CHECK_FALSE(database->structural_damage(*database->table("real")).empty());
  CHECK(database->table("seen") == nullptr);
  CHECK(database->not_a_table("seen") == "view");
  CHECK(database->not_a_table("virtual") == "virtual table");
  CHECK(run(*database, "SELECT * FROM seen") != SQLITE_DONE);
}

TEST_CASE("a statement that works without end is stopped", "[importer_nsight]") {
  const base::Bytes image = NsightFile().image();
  const auto database = Database::open_image(image);
  REQUIRE(database);
  const std::string count =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT max(i) FROM n";
  CHECK(run(*database, count) == SQLITE_INTERRUPT);
  // The next one has its steps again.
  CHECK(run(*database, "SELECT * FROM NVTX_EVENTS") == SQLITE_DONE);
}

TEST_CASE("quick_check runs no expression of the file", "[importer_nsight]") {
  NsightFile file(NsightFile::Tables::kNone);
  file.run("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT CHECK (length(value) < 3 OR likely(0)))");
  file.run("PRAGMA ignore_check_constraints=ON; INSERT INTO StringIds VALUES (1, 'long enough')");
  const base::Bytes image = file.image();
  const auto database = Database::open_image(image);
  REQUIRE(database);
  CHECK(database->structural_damage(*database->table("StringIds")).empty());
}

TEST_CASE("what is no plain file is refused without waiting", "[importer_nsight]") {
  const TemporaryFile file("x", {});
  SECTION("folder") {
    const auto database = Database::open(file.folder());
    REQUIRE_FALSE(database);
    CHECK(database.error().code() == ErrorCode::kUnreadable);
  }
  SECTION("pipe") {
    const std::string pipe = file.folder() + "/pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const auto database = Database::open(pipe);
    REQUIRE_FALSE(database);
    CHECK(database.error().message().find("not a plain file") != std::string::npos);
  }
  SECTION("nothing") {
    const auto database = Database::open(file.folder() + "/absent");
    REQUIRE_FALSE(database);
    CHECK(database.error().code() == ErrorCode::kNotFound);
  }
}

TEST_CASE("identifiers are quoted", "[importer_nsight]") {
  CHECK(importer::nsight::quoted("end") == "\"end\"");
  CHECK(importer::nsight::quoted("a\"b") == "\"a\"\"b\"");
}
