// For tests/store: the object store and the copies of checkpoints, one call a run, on the command
// line. Settings come from the environment as they do for `headway`. Prints one line of JSON; an
// error goes to stderr in one line, and the exit code is 1 (2: wrong arguments).
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "checkpoint/remote.h"
#include "object_store/credentials.h"
#include "object_store/place.h"
#include "object_store/store.h"

namespace {

using namespace headway;
using base::Result;
using base::Status;
using checkpoint::CheckpointFolder;
using checkpoint::CheckpointName;
using checkpoint::CopyReport;
using checkpoint::RemoteCheckpoints;
using object_store::Store;
using Json = nlohmann::ordered_json;
using Arguments = std::vector<std::string>;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// "s3://bucket/what": the key or the prefix is what.
struct Session {
  object_store::RealStore real;
  std::string name;
  [[nodiscard]] Store& store() const { return *real.store; }
};

Result<Session> open(const std::string& place_text) {
  auto place = object_store::parse_place(place_text);
  if (!place.ok()) return place.status();
  auto settings = object_store::find_settings({});
  if (!settings.ok()) return settings.status();
  object_store::StoreOptions options;
  options.part_bytes = number_from("TOOL_PART_BYTES", options.part_bytes);
  options.range_bytes = number_from("TOOL_RANGE_BYTES", options.range_bytes);
  options.connections = number_from("TOOL_CONNECTIONS", options.connections);
  options.retry.tries = static_cast<int>(number_from("TOOL_TRIES", 7));
  options.retry.longest_ns = 500'000'000;
  options.stall_timeout_s = static_cast<long>(number_from("TOOL_STALL_S", 60));
  return Session{open_store(std::move(*settings), place->bucket, options), place->prefix};
}

int failed(const Status& status) {
  std::fprintf(stderr, "store_tool: %s\n", status.message().c_str());
  return 1;
}
int done(const Json& json) {
  std::printf("%s\n", json.dump(-1, ' ', true, Json::error_handler_t::replace).c_str());
  return 0;
}

int put(const Session& s, const Arguments& a) {
  auto text = base::read_all(base::real_file_system(), a[0], 1 << 30);
  if (!text.ok()) return failed(text.status());
  Status status = s.store().put(s.name, base::bytes_of(*text));
  return status.ok() ? done({{"bytes", text->size()}}) : failed(status);
}

int upload(const Session& s, const Arguments& a) {
  auto file = base::real_file_system().open(a[0]);
  if (!file.ok()) return failed(file.status());
  object_store::FileSource source(base::real_file_system(), a[0], (*file)->bytes());
  auto report = s.store().upload(s.name, source);
  if (!report.ok()) return failed(report.status());
  return done({{"parts", report->parts},
               {"parts_sent", report->parts_sent},
               {"bytes_sent", report->bytes_sent},
               {"was_there", report->was_there}});
}

int get(const Session& s, const Arguments& a) {
  auto info = s.store().head(s.name);
  if (!info.ok()) return failed(info.status());
  std::vector<std::byte> data(info->bytes);
  Status status = s.store().get(s.name, info->etag, 0, data);
  if (status.ok()) status = base::replace_file(base::real_file_system(), a[0], data);
  return status.ok() ? done({{"bytes", data.size()}, {"etag", info->etag}}) : failed(status);
}

int head(const Session& s, const Arguments&) {
  auto info = s.store().head(s.name);
  if (!info.ok()) return failed(info.status());
  return done({{"bytes", info->bytes}, {"etag", info->etag}, {"crc32c", info->crc32c}});
}

int text(const Session& s, const Arguments&) {
  auto got = s.store().get_text(s.name, 1 << 20);
  return got.ok() ? done({{"text", *got}}) : failed(got.status());
}

int list(const Session& s, const Arguments& a) {
  auto listing = s.store().list(s.name, a.empty() ? "" : a[0]);
  if (!listing.ok()) return failed(listing.status());
  Json keys = Json::array();
  for (const auto& object : listing->objects) keys.push_back({object.key, object.bytes});
  return done({{"keys", keys}, {"prefixes", listing->prefixes}});
}

int remove_all(const Session& s, const Arguments&) {
  auto listing = s.store().list(s.name);
  if (!listing.ok()) return failed(listing.status());
  std::vector<std::string> keys;
  for (const auto& object : listing->objects) keys.push_back(object.key);
  Status status = s.store().remove_many(keys);
  return status.ok() ? done({{"removed", keys.size()}}) : failed(status);
}

int abort_uploads(const Session& s, const Arguments&) {
  auto count = s.store().abort_uploads(s.name);
  return count.ok() ? done({{"aborted", *count}}) : failed(count.status());
}

int copied(const Result<CopyReport>& report) {
  if (!report.ok()) return failed(report.status());
  const CopyReport& r = report.value();
  return done({{"name", r.name.text()},
               {"files", r.files},
               {"bytes", r.bytes},
               {"bytes_sent", r.bytes_sent},
               {"was_there", r.was_there}});
}

// The newest of a local folder.
int checkpoint_up(const Session& s, const Arguments& a) {
  const CheckpointFolder folder(base::real_file_system(), a[0]);
  auto names = folder.list();
  if (!names.ok() || names->empty()) return failed(Status::not_found(a[0] + ": no checkpoint"));
  RemoteCheckpoints remote(s.store(), s.name);
  return copied(remote.upload(folder, base::real_file_system(), names->front()));
}

// The newest good one of the store.
int checkpoint_down(const Session& s, const Arguments& a) {
  CheckpointFolder folder(base::real_file_system(), a[0]);
  const RemoteCheckpoints remote(s.store(), s.name);
  std::vector<std::string> passed;
  auto good = remote.newest_good(passed);
  if (!good.ok()) return failed(good.status());
  for (const std::string& each : passed) std::fprintf(stderr, "passed over: %s\n", each.c_str());
  if (!*good) return failed(Status::not_found(remote.place() + ": no checkpoint"));
  return copied(remote.download((*good)->name, folder));
}

int checkpoint_list(const Session& s, const Arguments&) {
  auto names = RemoteCheckpoints(s.store(), s.name).list();
  if (!names.ok()) return failed(names.status());
  Json texts = Json::array();
  for (const CheckpointName& name : *names) texts.push_back(name.text());
  return done({{"names", texts}});
}

int checkpoint_remove(const Session& s, const Arguments& a) {
  const auto name = CheckpointName::parse(a[0]);
  if (!name) return failed(Status::invalid(a[0] + ": no checkpoint's name"));
  Status status = RemoteCheckpoints(s.store(), s.name).remove(*name);
  return status.ok() ? done({{"removed", a[0]}}) : failed(status);
}

// A checkpoint of files that are there: FOLDER STEP FILE…
int make_checkpoint(const Arguments& a) {
  CheckpointFolder folder(base::real_file_system(), a[0]);
  checkpoint::Manifest facts;
  facts.step = std::strtoull(a[1].c_str(), nullptr, 10);
  auto draft = checkpoint::Draft::begin(folder, facts);
  if (!draft.ok()) return failed(draft.status());
  for (std::size_t i = 2; i < a.size(); ++i) {
    auto data = base::read_all(base::real_file_system(), a[i], 4ULL << 30);
    if (!data.ok()) return failed(data.status());
    auto file = (*draft)->add(a[i].substr(a[i].rfind('/') + 1), 0, {});
    if (!file.ok()) return failed(file.status());
    Status status = (*file)->write(base::bytes_of(*data));
    if (status.ok()) status = (*file)->finish();
    if (!status.ok()) return failed(status);
  }
  auto name = (*draft)->commit();
  return name.ok() ? done({{"name", name->text()}}) : failed(name.status());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argv + 1, argv + argc);
  const std::map<std::string, std::function<int(const Session&, const Arguments&)>> verbs = {
      {"put", put},
      {"upload", upload},
      {"get", get},
      {"head", head},
      {"text", text},
      {"list", list},
      {"remove", remove_all},
      {"abort", abort_uploads},
      {"up", checkpoint_up},
      {"down", checkpoint_down},
      {"checkpoints", checkpoint_list},
      {"discard", checkpoint_remove},
  };
  if (arguments.size() >= 3 && arguments[0] == "make") {
    return make_checkpoint({arguments.begin() + 1, arguments.end()});
  }
  const auto verb = arguments.size() < 2 ? verbs.end() : verbs.find(arguments[0]);
  if (verb == verbs.end()) {
    std::fprintf(stderr, "usage: store_tool VERB s3://BUCKET/NAME [ARGUMENT…]\n");
    return 2;
  }
  auto session = open(arguments[1]);
  if (!session.ok()) return failed(session.status());
  return verb->second(*session, {arguments.begin() + 2, arguments.end()});
}
