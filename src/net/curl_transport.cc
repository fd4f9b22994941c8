#include "net/curl_transport.h"

#include <curl/curl.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.h"

namespace headway::net {
namespace {

constexpr long kBufferBytes = 512 << 10;  // fewer calls; libcurl's own is 16 or 64 KiB
constexpr std::size_t kHeaderBytesMax = 16 << 10;

// With libcurl before 7.88 (Ubuntu 22.04's), OpenSSL writes to a cut connection without the flag
// that keeps the signal away, and libcurl leaves the signal to us (CURLOPT_NOSIGNAL, for threads).
// Blocked here, and taken away if one came.
class NoSigPipe {
 public:
  NoSigPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigPipe() {
    const timespec now{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigPipe(const NoSigPipe&) = delete;
  NoSigPipe& operator=(const NoSigPipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

struct Transfer {
  const HttpRequest* request = nullptr;
  Exchange* exchange = nullptr;
  CURL* handle = nullptr;
  std::size_t sent = 0;
  bool too_long = false;
};

std::size_t on_read(char* into, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const auto left = transfer.request->body.subspan(transfer.sent);
  const std::size_t bytes = std::min(left.size(), size * count);
  if (bytes > 0) std::memcpy(into, left.data(), bytes);
  transfer.sent += bytes;
  return bytes;
}

// When a kept connection turns out to be dead, libcurl begins again on another one.
int on_seek(void* self, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (origin != SEEK_SET || offset < 0 ||
      static_cast<std::size_t>(offset) > transfer.request->body.size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  transfer.sent = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t on_write(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  HttpAnswer& answer = transfer.exchange->answer;
  const std::size_t bytes = size * count;
  const auto& into = transfer.request->into;
  if (!into.empty() && (answer.status == 200 || answer.status == 206)) {
    if (bytes > into.size() - answer.into_bytes) {
      transfer.too_long = true;
      return 0;
    }
    std::memcpy(into.data() + answer.into_bytes, data, bytes);
    answer.into_bytes += bytes;
    return bytes;
  }
  if (bytes > transfer.request->body_bytes_max - answer.body.size()) {
    transfer.too_long = true;
    return 0;
  }
  answer.body.append(data, bytes);
  return bytes;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  HttpAnswer& answer = transfer.exchange->answer;
  const std::size_t bytes = size * count;
  std::string_view line(data, bytes);
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {  // also "100 Continue", before the real one
    answer.headers.clear();
    long status = 0;
    curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    return bytes;
  }
  const std::size_t colon = line.find(':');
  const bool room = answer.headers.size() < answer_headers_max && line.size() < kHeaderBytesMax;
  if (colon == std::string_view::npos || !room) return bytes;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
  while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
  answer.headers.emplace_back(std::move(name), std::string(value));
  return bytes;
}

int on_progress(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stop)->load() ? 1 : 0;
}

Failure failure_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return Failure::none;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:  // before a certificate was seen: cut, or no TLS at all
    case CURLE_COULDNT_CONNECT:
      return Failure::connect;
    case CURLE_OPERATION_TIMEDOUT:
      return Failure::stalled;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_UPLOAD_FAILED:
    case CURLE_SEND_FAIL_REWIND:
      return Failure::cut;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return Failure::tls;
    default:
      return Failure::other;
  }
}

void set_method(CURL* handle, const HttpRequest& request) {
  if (request.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT") {
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  } else if (request.method == "POST") {
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(
        handle, CURLOPT_POSTFIELDS,
        request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  } else {
    curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);
    if (request.method != "GET") {
      curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
  }
}

void set_safety(CURL* handle, const CurlOptions& options) {
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);  // "a/../b" is a key like any other
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  // Requests go side by side on connections of their own.
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, options.connect_timeout_s);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, options.stall_timeout_s);
  if (!options.ca_file.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, options.ca_file.c_str());
  }
  if (options.stop != nullptr) {
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(options.stop));
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  }
}

}  // namespace

// libcurl itself looks at no variable for this.
CurlOptions CurlTransport::with_environment(CurlOptions options) {
  const char* trusted = std::getenv("HEADWAY_CA_FILE");
  if (options.ca_file.empty() && trusted != nullptr) options.ca_file = trusted;
  return options;
}

CurlTransport::CurlTransport(CurlOptions options) : options_(with_environment(std::move(options))) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  HW_CHECK(ready == CURLE_OK);
}

CurlTransport::~CurlTransport() {
  const NoSigPipe guard;  // goodbyes are written, too
  for (void* handle : idle_) curl_easy_cleanup(handle);
}

void* CurlTransport::take_handle() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      void* handle = idle_.back();
      idle_.pop_back();
      return handle;
    }
  }
  return curl_easy_init();
}

void CurlTransport::give_back(void* handle) {
  curl_easy_reset(handle);  // options go, connections stay
  const std::lock_guard lock(mutex_);
  idle_.push_back(handle);
}

Exchange CurlTransport::send(const HttpRequest& request) {
  Exchange exchange;
  CURL* handle = take_handle();
  if (handle == nullptr) {
    exchange.failure = Failure::other;
    exchange.why = "libcurl could not begin";
    return exchange;
  }
  Transfer transfer{&request, &exchange, handle};
  curl_slist* headers = nullptr;
  for (const auto& [name, value] : request.headers) {
    // "name;" is how libcurl is told of a header without a value.
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    headers = curl_slist_append(headers, line.c_str());
  }
  char why[CURL_ERROR_SIZE] = "";
  set_safety(handle, options_);
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  set_method(handle, request);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, kBufferBytes);
  curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, kBufferBytes);
  curl_easy_setopt(handle, CURLOPT_READFUNCTION, on_read);
  curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, on_seek);
  curl_easy_setopt(handle, CURLOPT_SEEKDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_write);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  const NoSigPipe guard;
  const CURLcode code = curl_easy_perform(handle);
  exchange.failure = transfer.too_long ? Failure::too_long : failure_of(code);
  if (exchange.failure != Failure::none) {
    exchange.why = why[0] != '\0' ? why : curl_easy_strerror(code);
  }
  curl_slist_free_all(headers);
  give_back(handle);
  return exchange;
}

}  // namespace headway::net
