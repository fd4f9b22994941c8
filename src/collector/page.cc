#include "collector/page.h"

#include <algorithm>
#include <span>

#include "collector/answers.h"
#include "collector/page_files.h"

namespace headway::collector {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

const PageFile* find(std::string_view path) {
  const std::span<const PageFile> files = page_files();
  const auto found = std::ranges::lower_bound(files, path, {}, &PageFile::path);
  return found != files.end() && found->path == path ? &*found : nullptr;
}

bool takes_gzip(std::string_view accept_encoding) {
  return accept_encoding.find("gzip") != std::string_view::npos &&
         accept_encoding.find("gzip;q=0") == std::string_view::npos;
}

}  // namespace

net::ServerAnswer page_answer(const std::string& path, std::string_view if_none_match,
                              std::string_view accept_encoding) {
  const bool is_file = path.find('.', path.rfind('/')) != std::string::npos;
  const PageFile* file = find(is_file ? path : "/index.html");
  if (file == nullptr) {
    return error_answer(404, is_file ? "there is nothing here"
                                     : "this build has no page: run ./dev build, which makes it");
  }
  net::ServerAnswer answer;
  answer.content_type = file->type;
  // The names of what lies in /assets hold a hash of it.
  const bool forever = file->path.starts_with("/assets/");
  answer.headers = {
      {"Content-Security-Policy", std::string(kPolicy)},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"ETag", std::string(file->etag)},
      {"Vary", "Accept-Encoding"},
      {"Cache-Control", forever ? "public, max-age=31536000, immutable" : "no-cache"}};
  if (if_none_match == file->etag) {
    answer.status = 304;
    return answer;
  }
  const bool packed = file->gzip_bytes > 0 && takes_gzip(accept_encoding);
  if (packed) answer.headers.emplace_back("Content-Encoding", "gzip");
  answer.body.assign(headway_page_blob + (packed ? file->gzip_offset : file->offset),
                     packed ? file->gzip_bytes : file->bytes);
  return answer;
}

}  // namespace headway::collector
