#include "store/sqlite_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "store/sqlite.h"

namespace headway::store {
namespace {

// What the check of SQLite's own says of the whole database or of one table; empty: it is good.
std::vector<std::string> complaints(Connection& db, const std::string& sql) {
  constexpr std::string_view head = "*** in database main *** ";
  std::vector<std::string> out;
  Statement ask = db.prepare(sql.c_str());
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) out.push_back(row.status().message());
    if (!row.ok() || !row.value()) return out;
    std::string text = ask.text(0);
    std::ranges::replace(text, '\n', ' ');  // some are two lines
    if (text.starts_with(head)) text.erase(0, head.size());
    if (text != "ok") out.push_back(db.path() + ": " + text);
  }
}

std::vector<std::string> tables(Connection& db) {
  std::vector<std::string> out;
  Statement ask = db.prepare("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name");
  while (true) {
    const auto row = ask.step();
    if (!row.ok() || !row.value()) return out;
    out.push_back(ask.text(0));
  }
}

std::vector<std::string> rows_without_theirs(Connection& db) {
  std::vector<std::string> out;
  Statement ask = db.prepare(
      "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2 ORDER BY 1, "
      "2");
  while (true) {
    const auto row = ask.step();
    if (!row.ok()) out.push_back(row.status().message());
    if (!row.ok() || !row.value()) return out;
    out.push_back(fmt::format("{}: {} rows of the table {} belong to rows of {} that are not there",
                              db.path(), ask.integer(2), ask.text(0), ask.text(1)));
  }
}

}  // namespace

std::vector<std::string> check_pages(Connection& db) {
  const std::vector<std::string> whole = complaints(db, "PRAGMA integrity_check(100)");
  if (whole.empty()) return rows_without_theirs(db);
  // It tells pages by their numbers: nobody knows what is lost with number 83.
  std::vector<std::string> out;
  for (const std::string& table : tables(db)) {
    const auto of_table = complaints(db, fmt::format("PRAGMA integrity_check('{}')", table));
    if (of_table.empty()) continue;
    const std::string_view first = of_table.front();
    const std::size_t after_path = first.starts_with(db.path()) ? db.path().size() + 2 : 0;
    out.push_back(fmt::format("{}: the table {} is damaged: {}", db.path(), table,
                              first.substr(std::min(after_path, first.size()))));
  }
  return out.empty() ? whole : out;
}

}  // namespace headway::store
