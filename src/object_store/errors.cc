#include "object_store/errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "object_store/xml.h"

namespace headway::object_store {
namespace {

using base::Code;
using base::Status;

constexpr std::size_t kMessageBytesMax = 200;
// A secret key has 40 characters, a signature 64, a token hundreds; words have fewer.
constexpr std::size_t kRunMax = 31;
constexpr std::string_view kGone = "[...]";

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/' || c == '=' || c == '%' || c == '_' || c == '-';
}

std::string without(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), kGone);
    at += kGone.size();
  }
  return text;
}

std::string without_long_runs(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_key_character(text[end])) ++end;
    if (end - at > kRunMax) {
      out += kGone;
    } else {
      out += text.substr(at, end - at);
    }
    if (end < text.size()) out += text[end];
    at = end + 1;
  }
  return out;
}

struct Advice {
  std::string_view code;
  Code kind;
  std::string_view next;
};

constexpr Advice kAdvice[] = {
    {"AccessDenied", Code::invalid_input,
     "these credentials may not do that here: check the keys and the bucket's policy"},
    {"AccountProblem", Code::invalid_input, "ask who runs the store about the account"},
    {"BadDigest", Code::io_error,
     "the bytes were changed on their way: check the network and what proxies are in it"},
    {"ExpiredToken", Code::invalid_input, "get new temporary credentials (AWS_SESSION_TOKEN)"},
    {"InvalidAccessKeyId", Code::invalid_input,
     "the store does not know this key: check AWS_ACCESS_KEY_ID and the endpoint"},
    {"InvalidToken", Code::invalid_input, "get new temporary credentials (AWS_SESSION_TOKEN)"},
    {"NoSuchBucket", Code::invalid_input, "check the bucket's name, or make it first"},
    {"NoSuchKey", Code::not_found, "there is no such object: check its name"},
    {"NoSuchUpload", Code::not_found, "somebody ended this upload: start it again"},
    {"PreconditionFailed", Code::io_error,
     "the object was replaced while it was read: read it again"},
    {"QuotaExceeded", Code::io_error, "the store is full: make room in it"},
    {"RequestTimeTooSkewed", Code::invalid_input,
     "this machine's clock is wrong: set it (date, chronyc)"},
    {"SignatureDoesNotMatch", Code::invalid_input,
     "the secret does not belong to the key: set AWS_SECRET_ACCESS_KEY again"},
    {"SlowDown", Code::io_error, "the store is busy: try later or use fewer connections"},
    {"XMinioStorageFull", Code::io_error, "the store is full: make room in it"},
};

Advice advice_for(int status, std::string_view code) {
  for (const Advice& advice : kAdvice) {
    if (advice.code == code) return advice;
  }
  if (status == 404) return {"", Code::not_found, "there is no such object: check its name"};
  if (status == 403 || status == 401) return {"", Code::invalid_input, kAdvice[0].next};
  if (status == 412) return {"", Code::io_error, "the object was replaced while it was read"};
  if (status == 507) return {"", Code::io_error, "the store is full: make room in it"};
  if (status >= 500 || status == 429) {
    return {"", Code::io_error, "the store cannot serve this now: try later"};
  }
  if (status >= 300 && status < 400) {
    return {"", Code::invalid_input,
            "the store sends us elsewhere, which is not followed: set the region (AWS_REGION) or "
            "the endpoint (AWS_ENDPOINT_URL_S3) of this bucket"};
  }
  return {"", Code::io_error, "look the code up in the store's documentation"};
}

std::string tries_text(int tries) {
  return tries > 1 ? fmt::format(" after {} tries", tries) : std::string();
}

}  // namespace

std::string cleaned(std::string_view text, const Credentials& credentials) {
  std::string out(text.substr(0, 4 * kMessageBytesMax));
  out = without(std::move(out), credentials.secret_key.reveal());
  out = without(std::move(out), credentials.session_token.reveal());
  out = without_long_runs(out);
  if (out.size() > kMessageBytesMax) out.resize(kMessageBytesMax);
  // What is not plain ASCII may be half a character, or change a terminal.
  for (char& c : out) {
    if (c < ' ' || c > '~') c = ' ';
  }
  const std::size_t end = out.find_last_not_of(' ');
  out.resize(end == std::string::npos ? 0 : end + 1);
  return out;
}

StoreError read_error(const net::HttpAnswer& answer, const Credentials& credentials) {
  StoreError error;
  if (auto xml = Xml::parse(answer.body); xml.ok() && xml->name(xml->root()) == "Error") {
    error.code = cleaned(xml->child_text(xml->root(), "Code"), credentials);
    error.message = cleaned(xml->child_text(xml->root(), "Message"), credentials);
    error.region = cleaned(xml->child_text(xml->root(), "Region"), credentials);
  }
  if (const auto region = answer.header("x-amz-bucket-region"); !region.empty()) {
    error.region = cleaned(region, credentials);
  }
  return error;
}

bool is_transient(int status, std::string_view code) {
  // 507 and 501 do not become better by asking again.
  if (status == 500 || status == 502 || status == 503 || status == 504 || status == 429 ||
      status == 408) {
    return true;
  }
  // Some come with 200 or 400.
  return code == "SlowDown" || code == "InternalError" || code == "RequestTimeout" ||
         code == "ServiceUnavailable" || code == "BadDigest" || code == "OperationAborted" ||
         code == "IncompleteBody" || code == "XAmzContentSHA256Mismatch";
}

bool is_transient(net::Failure failure) {
  return failure == net::Failure::connect || failure == net::Failure::cut ||
         failure == net::Failure::stalled;
}

Status error_status(const Where& where, int status, const StoreError& error) {
  const Advice advice = advice_for(status, error.code);
  std::string next(advice.next);
  const bool elsewhere = status == 301 || status == 307 || status == 400 ||
                         error.code == "AuthorizationHeaderMalformed";
  if (elsewhere && !error.region.empty()) {
    next = fmt::format("the bucket is in region {}: set AWS_REGION={}", error.region, error.region);
  }
  std::string said = error.code.empty() ? "" : " " + error.code;
  // Where we know what a code means, our own words are enough.
  if (advice.code.empty() && !error.message.empty()) {
    said += fmt::format(" (\"{}\")", error.message);
  }
  return Status(advice.kind, fmt::format("{} {}: {}{}{}: {}", where.verb, where.place, status, said,
                                         tries_text(where.tries), next));
}

Status failure_status(const Where& where, net::Failure failure, std::string_view why) {
  std::string_view next = "check the network; running it again goes on where it was";
  switch (failure) {
    case net::Failure::connect:
      next = "check the endpoint (AWS_ENDPOINT_URL_S3) and the network";
      break;
    case net::Failure::tls:
      next = "certificates are always checked: name the authority's file in AWS_CA_BUNDLE";
      break;
    case net::Failure::too_long:
      next = "the answer is longer than what was asked for: is this an object store?";
      break;
    case net::Failure::none:
    case net::Failure::cut:
    case net::Failure::stalled:
    case net::Failure::other:
      break;
  }
  return Status::io(fmt::format("{} {}: {}{} ({}): {}", where.verb, where.place, why,
                                tries_text(where.tries), where.endpoint, next));
}

}  // namespace headway::object_store
