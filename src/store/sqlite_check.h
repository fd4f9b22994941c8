// Whether the pages of an SQLite store, and the rows on them that name each other, are whole; if
// not, in which tables. What the rows say is sqlite_facts.h's and batch_check.h's to judge.
#pragma once

#include <string>
#include <vector>

namespace headway::store {

class Connection;

// A line for each table that is damaged; empty: none is.
[[nodiscard]] std::vector<std::string> check_pages(Connection& db);

}  // namespace headway::store
