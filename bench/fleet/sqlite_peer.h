// The peer of bench_fleet: the same facts as rows of SQLite tables in memory, asked with GROUP BY.
// It is given every help: names are numbers as ours are, slices carry what they are grouped by so
// that nothing has to be joined, days and jobs are indexed, sums are of doubles. And it has less to
// do: sums and means, no intervals, no quantiles, no open starts, no effects of switches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fleet/fact.h"

struct sqlite3;
struct sqlite3_stmt;

namespace headway::bench {

class SqlitePeer {
 public:
  SqlitePeer();
  ~SqlitePeer();
  SqlitePeer(const SqlitePeer&) = delete;
  SqlitePeer& operator=(const SqlitePeer&) = delete;

  void add(std::int64_t job, const fleet::AttemptFacts& facts);
  void finish();  // indexes
  // The rows of all of a question's statements; their first columns summed, so that nothing is
  // optimised away and answers can be compared.
  double ask(std::string_view question, std::int32_t from_day, std::int32_t to_day);
  [[nodiscard]] std::int64_t bytes();

 private:
  void run(const std::string& sql);
  sqlite3_stmt* prepare(const std::string& sql);
  void insert(sqlite3_stmt* statement);
  std::int64_t number(std::string_view kind, const std::string& text);

  sqlite3* db_ = nullptr;
  sqlite3_stmt *slices_ = nullptr, *starts_ = nullptr, *failures_ = nullptr, *hosts_ = nullptr;
};

}  // namespace headway::bench
