// What an answer that is none means: whether to try again, and the one line for a person. Nothing
// that a server says gets through unchecked: it may echo a signature or a token. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "net/http.h"
#include "object_store/credentials.h"

namespace headway::object_store {

struct StoreError {
  std::string code = {};     // "NoSuchKey"
  std::string message = {};  // the server's; cleaned
  std::string region = {};   // where it should have been asked for; empty: not said
};

// From the body, or where there is none, from what the headers say. Never fails.
[[nodiscard]] StoreError read_error(const net::HttpAnswer& answer, const Credentials& credentials);
// Of text by others: printable, short, without what looks like a key, a signature or a token.
[[nodiscard]] std::string cleaned(std::string_view text, const Credentials& credentials);

// Worth another try as it is.
[[nodiscard]] bool is_transient(int status, std::string_view code);
[[nodiscard]] bool is_transient(net::Failure failure);

struct Where {
  std::string verb;      // "put"
  std::string place;     // "s3://bucket/key"
  std::string endpoint;  // "https://host"
  int tries = 1;
};
// "put s3://b/k: 403 AccessDenied: … (next step)"
[[nodiscard]] base::Status error_status(const Where& where, int status, const StoreError& error);
[[nodiscard]] base::Status failure_status(const Where& where, net::Failure failure,
                                          std::string_view why);

}  // namespace headway::object_store
