#include "cache/http_shelf.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/check.h"
#include "net/percent.h"

namespace headway::cache {
namespace {

using base::Code;
using base::Result;
using base::Status;
using nlohmann::json;

// What a collector takes and gives at a time.
constexpr std::size_t kPieceOutBytes = 4 << 20;
constexpr std::size_t kPieceInBytes = 1 << 20;
constexpr int kTries = 4;           // a job waits for it at its start
constexpr int kOutOfOrderMax = 16;  // in one upload
constexpr std::size_t kReasonBytesMax = 200;

std::string one_line(std::string text) {
  text.resize(std::min(text.size(), kReasonBytesMax));
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  return text;
}

Status refused(const std::string& place, const net::HttpAnswer& answer) {
  const json body = json::parse(answer.body, nullptr, false);
  std::string why;
  if (body.is_object() && body.contains("error") && body["error"].is_string()) {
    why = one_line(body["error"].get<std::string>()) + " ";
  }
  const std::string text = fmt::format("{}: {}(status {})", place, why, answer.status);
  switch (answer.status) {
    case 404:
      return Status::not_found(text);
    case 422:
      return Status::corrupt(text);
    case 507:
      return {Code::no_space, text};
    default:
      return Status::io(text);
  }
}

std::string draw_upload() {
  std::array<std::uint8_t, 16> random{};
  HW_CHECK(::getrandom(random.data(), random.size(), 0) == static_cast<ssize_t>(random.size()));
  return base::hex(random);
}

// "bytes 0-9/100" → 0, 100.
bool parse_content_range(std::string_view text, std::uint64_t& first, std::uint64_t& total) {
  constexpr std::string_view unit = "bytes ";
  if (!text.starts_with(unit)) return false;
  text.remove_prefix(unit.size());
  const auto [dash, error] = std::from_chars(text.data(), text.data() + text.size(), first);
  const std::size_t slash = text.find('/');
  if (error != std::errc() || slash == std::string_view::npos) return false;
  const char* const end = text.data() + text.size();
  const auto [after, also] = std::from_chars(text.data() + slash + 1, end, total);
  return also == std::errc() && after == end;
}

}  // namespace

bool is_collector_place(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

Result<net::HttpAnswer> HttpShelf::ask(net::HttpRequest request, const std::string& what,
                                       int* tries) const {
  request.url = url_ + "/api/v1/caches" + request.url;
  if (!token_.empty()) request.headers.emplace_back("authorization", "Bearer " + token_);
  if (request.method == "PUT") {
    request.headers.emplace_back("content-type", "application/octet-stream");
    request.headers.emplace_back("expect", "");  // a piece is short: it need not be asked for
  }
  auto pause = first_pause_;
  for (int left = kTries;; pause *= 2) {
    if (tries != nullptr) ++*tries;
    net::Exchange exchange = transport_->send(request);
    const int status = exchange.answer.status;
    const bool later = exchange.failure == net::Failure::none && (status == 503 || status == 429);
    const bool again =
        later || exchange.failure == net::Failure::connect || exchange.failure == net::Failure::cut;
    if (again && --left > 0) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    if (exchange.failure != net::Failure::none) {
      return Status::io(fmt::format("{}: {}", what, one_line(exchange.why)));
    }
    return std::move(exchange.answer);
  }
}

Result<std::vector<Shelved>> HttpShelf::list(const std::string& folder) {
  net::HttpRequest request;
  request.method = "GET";
  if (!folder.empty()) request.url = "?folder=" + net::percent_encoded(folder, false);
  auto answer = ask(request, url_);
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) return refused(url_, *answer);
  const json body = json::parse(answer->body, nullptr, false);
  const bool good = body.is_object() && body.contains("archives") && body["archives"].is_array();
  if (!good) return Status::corrupt(url_ + ": answers with something else; is it a collector?");
  std::vector<Shelved> found;
  for (const json& each : body["archives"]) {
    if (!each.is_object() || !each.contains("name") || !each["name"].is_string()) continue;
    const auto number = [&](const char* name) {
      const auto it = each.find(name);
      return it != each.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
    };
    Shelved one{each["name"].get<std::string>(),
                static_cast<std::uint64_t>(std::max<std::int64_t>(number("bytes"), 0)),
                number("modified_ns")};
    // A name becomes no path, but is compared with what the archive says.
    const bool wanted = folder.empty() || one.name.starts_with(folder + "/");
    if (wanted && is_shelf_name(one.name)) found.push_back(std::move(one));
  }
  return found;
}

Result<bool> HttpShelf::put(const std::string& path, const std::string& name) {
  auto file = base::real_file_system().open(path);
  if (!file.ok()) return file.status();
  const std::uint64_t total = (*file)->bytes();
  const std::string upload = draw_upload();
  std::vector<std::byte> piece;
  int out_of_order = 0;
  for (std::uint64_t at = 0;;) {
    piece.resize(std::min<std::uint64_t>(kPieceOutBytes, total - at));
    if (Status status = (*file)->read(at, piece); !status.ok()) return status;
    net::HttpRequest request;
    request.method = "PUT";
    request.url = fmt::format("/{}?upload={}&offset={}&bytes={}", name, upload, at, total);
    request.body = piece;
    const bool is_last = at + piece.size() == total;
    int tries = 0;
    auto answer = ask(request, place(name), &tries);
    if (!answer.ok()) return answer.status();
    const int status = answer->status;
    if (status == 201) return true;
    if (status != 200 && status != 409) return refused(place(name), *answer);
    const json body = json::parse(answer->body, nullptr, false);
    const bool good =
        body.is_object() && body.contains("next") && body["next"].is_number_unsigned();
    // There already: put there by us, perhaps, and only the word of it was lost.
    if (good && body.value("there", false)) return is_last && tries > 1;
    const std::uint64_t next = good ? body["next"].get<std::uint64_t>() : total;
    const bool goes_on = status == 409 ? ++out_of_order <= kOutOfOrderMax : next > at;
    if (next >= total || !goes_on) {
      return Status::io(place(name) + ": the collector loses what is sent; try again");
    }
    at = next;
  }
}

Status HttpShelf::read(const std::string& name, std::uint64_t offset, std::span<std::byte> into,
                       Extent& extent) const {
  for (std::size_t done = 0; done < into.size();) {
    const std::uint64_t from = offset + done;
    const std::size_t most = std::min(into.size() - done, kPieceInBytes);
    net::HttpRequest request;
    request.method = "GET";
    request.url = "/" + name;
    request.headers = {{"range", fmt::format("bytes={}-{}", from, from + most - 1)}};
    request.into = into.subspan(done, most);
    auto answer = ask(request, place(name));
    if (!answer.ok()) return answer.status();
    if (answer->status != 206) return refused(place(name), *answer);
    std::uint64_t first = 0, total = 0;
    const std::string tag(answer->header("etag"));
    const bool good = parse_content_range(answer->header("content-range"), first, total) &&
                      first == from && answer->into_bytes > 0;
    if (!good) return Status::corrupt(place(name) + ": came as something else than was asked for");
    if (!extent.tag.empty() && (tag != extent.tag || total != extent.total)) {
      return Status::corrupt(place(name) + ": has changed while it was read");
    }
    extent = {total, tag};
    done += answer->into_bytes;
    if (from + answer->into_bytes >= total && done < into.size()) {
      return Status::corrupt(place(name) + ": is shorter than it should be");
    }
  }
  return {};
}

Result<std::string> HttpShelf::fetch(const Shelved& one, const std::string& scratch) {
  const std::string path =
      fmt::format("{}/{}", scratch, base::hex(base::sha256(base::bytes_of(place(one.name)))));
  if (one.bytes > archive_bytes_max) {
    return Status::invalid(place(one.name) + ": larger than an archive may be");
  }
  base::FileSystem& files = base::real_file_system();
  (void)files.remove_file(path);
  auto file = files.create(path, {.bytes = one.bytes});
  if (!file.ok()) return file.status();
  Extent extent;
  std::vector<std::byte> piece;
  for (std::uint64_t at = 0; at < one.bytes; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kPieceInBytes, one.bytes - at));
    if (Status status = read(one.name, at, piece, extent); !status.ok()) return status;
    if (extent.total != one.bytes) {
      return Status::corrupt(place(one.name) + ": is not as long as the collector said");
    }
    if (Status status = (*file)->write(at, piece); !status.ok()) return status;
  }
  if (Status status = (*file)->close(); !status.ok()) return status;
  return path;
}

Result<Binding> HttpShelf::binding_of(const Shelved& one) {
  Extent extent;
  return read_binding(
      [&](std::uint64_t offset, std::span<std::byte> into) {
        return read(one.name, offset, into, extent);
      },
      one.bytes, place(one.name));
}

Status HttpShelf::remove(const std::string& name) {
  net::HttpRequest request;
  request.method = "DELETE";
  request.url = "/" + name;
  auto answer = ask(request, place(name));
  if (!answer.ok()) return answer.status();
  return answer->status == 200 || answer->status == 404 ? Status() : refused(place(name), *answer);
}

}  // namespace headway::cache
