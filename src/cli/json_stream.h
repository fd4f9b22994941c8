// A JSON object for a program, printed piece by piece: what is long is never in memory as a whole.
// Looks as print_json() would print it. One owner, one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/output.h"

namespace headway::cli {

class JsonStream {
 public:
  // `sink` takes what is to be printed; false stops it.
  explicit JsonStream(std::function<bool(std::string_view)> sink);

  // In an object with its key, in an array with none.
  JsonStream& open(char bracket, std::string_view key = {});  // '{' or '['
  JsonStream& add(const Json& value, std::string_view key = {});
  JsonStream& close();
  // Closes what is open. False: `sink` stopped it.
  bool finish();

 private:
  void begin(std::string_view key);
  void put(std::string_view text);
  void flush();
  void indent();

  std::function<bool(std::string_view)> sink_;
  std::string held_;   // not yet printed
  std::string open_;   // the brackets
  bool first_ = true;  // nothing is yet in the innermost of them
  bool good_ = true;
};

}  // namespace headway::cli
