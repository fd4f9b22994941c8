// Where a PostgreSQL database is: a URL taken apart. Its secrets leave this only towards the
// server. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace headway::store {

[[nodiscard]] bool is_postgres_url(const std::string& text);

class PostgresAddress {
 public:
  // postgres://USER@HOST:PORT,HOST:PORT/DATABASE?NAME=VALUE, as libpq understands it. A URL that
  // cannot be understood is not repeated in the error: nobody knows where its password is.
  static base::Result<PostgresAddress> parse(const std::string& url);

  struct Place {
    std::string name;                                          // "host:port", for people
    std::vector<std::pair<std::string, std::string>> options;  // of a connection to it
  };
  // To be tried one after the other; one at least. We only ever want a server that takes writes.
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  // For people: who, where, what; without a password.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& user() const { return user_; }  // empty: libpq's default
  [[nodiscard]] const std::string& database() const { return database_; }

 private:
  std::vector<Place> places_;
  std::string name_, user_, database_;
};

}  // namespace headway::store
