// SPDX-License-Identifier: MIT
#pragma once

#include <sqlite3.h>

#include <utility>

namespace rangefinder::base {

/// Switches off what a hostile file or statement could use: views, triggers, extensions, writing the schema. Gives the
/// option that SQLite does not take, which must not be gone on with; 0: none.
inline int refused_safety_option(sqlite3* connection) noexcept {
  for (const auto& [option, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                      {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                      {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                      {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
                                      {SQLITE_DBCONFIG_DQS_DML, 0},
                                      {SQLITE_DBCONFIG_DQS_DDL, 0}}) {
    int now = -1;
    if (sqlite3_db_config(connection, option, value, &now) != SQLITE_OK || now != value) return option;
  }
  return 0;
}

}  // namespace rangefinder::base
