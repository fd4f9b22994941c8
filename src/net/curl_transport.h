// HTTP by libcurl. One handle, and so one connection, for each request that is under way; they are
// kept for the next ones. Certificates are checked, redirects are not followed (a signature is not
// for strangers), and time runs out by lack of progress, not by length. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/http.h"

namespace headway::net {

struct CurlOptions {
  std::string ca_file;  // empty: what HEADWAY_CA_FILE names, else the system's certificates
  long connect_timeout_s = 15;
  long stall_timeout_s = 60;                // not one byte in this time, either way
  const std::atomic<bool>* stop = nullptr;  // set, what is under way ends within a second
};

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(CurlOptions options);
  ~CurlTransport() override;
  Exchange send(const HttpRequest& request) override;

 private:
  static CurlOptions with_environment(CurlOptions options);
  void* take_handle();
  void give_back(void* handle);

  const CurlOptions options_;
  std::mutex mutex_;
  std::vector<void*> idle_;  // guarded by mutex_; as many as were ever used at once
};

}  // namespace headway::net
