// Writing: one request for what is small, parts for what is large. The store keeps the parts of an
// upload that was cut off; the next process asks for them, compares size and checksum, and sends
// only the others.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/crc32c.h"
#include "object_store/store.h"
#include "object_store/xml.h"

namespace headway::object_store {
namespace {

using base::Result;
using base::Status;

constexpr std::size_t kUploadsMax = 100'000;
constexpr std::string_view kChecksumHeader = "x-amz-checksum-crc32c";
// An upload that was begun in another way than ours, with other checksums or other parts.
constexpr std::string_view kUnfit[] = {"InvalidPart", "InvalidPartOrder", "InvalidRequest",
                                       "EntityTooSmall", "BadRequest"};

std::uint32_t crc_of(std::span<const std::byte> data) {
  return base::crc32c(data.data(), data.size());
}

// "…-3": of three parts.
bool is_composite(std::string_view text) {
  return text.find('-') != std::string_view::npos;
}

}  // namespace

// A body with its checksum, and the store's word that it has the same.
Result<net::HttpAnswer> Store::send_body(Question question, std::uint32_t crc32c) {
  question.method = "PUT";
  question.headers.emplace_back(kChecksumHeader, crc32c_text(crc32c));
  const auto judge = [&](const net::HttpAnswer& answer) -> std::optional<Complaint> {
    const std::string place = client_.place(question.key);
    const auto differs = [&](std::string_view what) {
      return Complaint{Status::io(fmt::format("{} {}: the store has another {} than what was sent: "
                                              "the bytes were changed on their way",
                                              question.verb, place, what)),
                       true};
    };
    if (const auto said = crc32c_of_text(answer.header(kChecksumHeader))) {
      return *said == crc32c ? std::nullopt : std::optional(differs("CRC32C"));
    }
    // It did not look at the checksum. Its tag, on most stores the MD5, has to do.
    if (options_.accept_unconfirmed) return std::nullopt;
    const auto tag = md5_of_hex(plain_etag(answer.header("etag")));
    if (tag) return *tag == md5(question.body) ? std::nullopt : std::optional(differs("MD5"));
    return Complaint{
        Status(base::Code::unsupported,
               fmt::format("{} {}: the store confirmed neither CRC32C nor MD5 of what it got: it "
                           "cannot be told from a damaged object",
                           question.verb, place)),
        false};
  };
  return client_.ask(question, judge);
}

Status Store::put(const std::string& key, std::span<const std::byte> data) {
  HW_CHECK(!key.empty());
  if (data.size() > part_bytes_max) {
    return Status::invalid(fmt::format("put {}: {} bytes are too many for one request, at most {}",
                                       client_.place(key), data.size(), part_bytes_max));
  }
  auto answer = send_body({.verb = "put",
                           .key = key,
                           .headers = {{"content-type", "application/octet-stream"}},
                           .body = data},
                          crc_of(data));
  return answer.status();
}

Result<std::vector<UploadEntry>> Store::list_uploads(const std::string& prefix) {
  std::vector<UploadEntry> uploads;
  UploadsPage page;
  do {
    Question question{.verb = "list uploads",
                      .method = "GET",
                      .key = "",
                      .query = {{"uploads", ""}, {"encoding-type", "url"}, {"prefix", prefix}}};
    if (page.more) {
      question.query.emplace_back("key-marker", page.next_key);
      question.query.emplace_back("upload-id-marker", page.next_id);
    }
    auto answer = client_.ask(question);
    if (!answer.ok()) return answer.status();
    auto next = parse_uploads(answer->body);
    if (!next.ok()) {
      return Status::corrupt(
          fmt::format("list uploads {}: {}", client_.place(prefix), next.status().message()));
    }
    const bool stuck = next->more && (next->uploads.empty() || (next->next_key == page.next_key &&
                                                                next->next_id == page.next_id));
    if (stuck || uploads.size() > kUploadsMax) {
      return Status::corrupt(
          fmt::format("list uploads {}: the list has no end", client_.place(prefix)));
    }
    page = std::move(*next);
    uploads.insert(uploads.end(), page.uploads.begin(), page.uploads.end());
  } while (page.more);
  return uploads;
}

Status Store::abort_upload(const UploadEntry& upload) {
  auto answer = client_.ask({.verb = "abort upload",
                             .method = "DELETE",
                             .key = upload.key,
                             .query = {{"uploadId", upload.id}}});
  if (!answer.ok() && answer.status().code() != base::Code::not_found) return answer.status();
  return {};
}

Result<std::size_t> Store::abort_uploads(const std::string& prefix) {
  auto uploads = list_uploads(prefix);
  if (!uploads.ok()) return uploads.status();
  for (const UploadEntry& upload : *uploads) {
    if (!upload.key.starts_with(prefix)) continue;
    if (Status status = abort_upload(upload); !status.ok()) return status;
  }
  return uploads->size();
}

// Whether the object is there already, the same in every byte, as far as the store can prove it.
Result<bool> Store::is_there(const std::string& key, Source& source, const PartPlan& plan) {
  auto info = head(key);
  if (info.status().code() == base::Code::not_found) return false;
  if (!info.ok()) return info.status();
  if (info->bytes != plan.bytes) return false;
  const bool by_crc = !info->crc32c.empty();
  const std::string& proof = by_crc ? info->crc32c : info->etag;
  const bool in_parts = is_composite(proof);
  const std::string suffix = fmt::format("-{}", plan.parts());
  // Put together from other parts than ours would be, or whole although ours has parts: it would
  // have to be read to be compared, and sending it again is as good.
  if (in_parts ? !proof.ends_with(suffix) : plan.parts() > 1) return false;
  std::vector<std::uint32_t> crcs(plan.parts());
  std::vector<Md5> tags(plan.parts());
  std::vector<std::vector<std::byte>> buffers(options_.connections);
  std::atomic<bool> stop = false;
  Status status = base::in_parallel(
      plan.parts(), options_.connections, stop, [&](std::size_t worker, std::size_t index) {
        auto data = source.read(plan.begin(index), plan.size(index), buffers[worker]);
        if (!data.ok()) return data.status();
        if (by_crc) crcs[index] = crc_of(*data);
        if (!by_crc) tags[index] = md5(*data);
        return Status();
      });
  if (!status.ok()) return status;
  if (by_crc) return proof == (in_parts ? composite_crc32c(crcs) : crc32c_text(crcs[0]));
  return proof == (in_parts ? composite_etag(tags) : hex(tags[0]));
}

class MultipartUpload {
 public:
  MultipartUpload(Store& store, const std::string& key, Source& source, const PartPlan& plan,
                  std::atomic<std::uint64_t>* done_bytes)
      : store_(store), key_(key), source_(source), plan_(plan), done_bytes_(done_bytes) {}

  Result<UploadReport> run() {
    Status status = find_earlier();
    if (!status.ok()) return status;
    const bool resumed = !id_.empty();
    if (!resumed) status = begin();
    if (status.ok()) status = send_all();
    if (status.ok()) status = complete();
    // What somebody else left may be of another kind, or gone meanwhile. Our own is not.
    const bool gone = status.code() == base::Code::not_found && !source_failed_;
    if (resumed && (gone || unfit_)) {
      (void)store_.abort_upload({.key = key_, .id = id_});
      there_.clear();
      report_ = {};
      if (done_bytes_ != nullptr) *done_bytes_ -= done_here_.exchange(0);
      status = begin();
      if (status.ok()) status = send_all();
      if (status.ok()) status = complete();
    }
    if (!status.ok()) return status;
    return report_;
  }

 private:
  struct Sent {
    std::string etag;
    std::uint32_t crc32c = 0;
  };

  // The newest upload of this key that can be ours.
  Status find_earlier() {
    auto uploads = store_.list_uploads(key_);
    if (!uploads.ok()) return uploads.status();
    const UploadEntry* newest = nullptr;
    for (const UploadEntry& upload : *uploads) {
      const bool fits = upload.checksum.empty() || upload.checksum == "CRC32C";
      if (upload.key != key_ || !fits) continue;
      if (newest == nullptr || upload.initiated >= newest->initiated) newest = &upload;
    }
    if (newest == nullptr) return {};
    id_ = newest->id;
    Status status = list_parts();
    if (status.code() != base::Code::not_found) return status;
    id_.clear();  // ended meanwhile
    return {};
  }

  Status list_parts() {
    PartsPage page;
    std::uint32_t after = 0;
    do {
      Question question{
          .verb = "list parts", .method = "GET", .key = key_, .query = {{"uploadId", id_}}};
      if (after > 0) question.query.emplace_back("part-number-marker", std::to_string(after));
      auto answer = store_.client_.ask(question);
      if (!answer.ok()) return answer.status();
      auto next = parse_parts(answer->body);
      if (!next.ok()) {
        return Status::corrupt(
            fmt::format("list parts {}: {}", store_.place(key_), next.status().message()));
      }
      page = std::move(*next);
      for (PartEntry& part : page.parts) there_[part.number] = std::move(part);
      if (page.more && page.next <= after) {
        return Status::corrupt(fmt::format("list parts {}: no end", store_.place(key_)));
      }
      after = page.next;
    } while (page.more);
    return {};
  }

  Status begin() {
    auto answer = store_.client_.ask({.verb = "begin upload",
                                      .method = "POST",
                                      .key = key_,
                                      .query = {{"uploads", ""}},
                                      .headers = {{"content-type", "application/octet-stream"},
                                                  {"x-amz-checksum-algorithm", "CRC32C"}}});
    if (!answer.ok()) return answer.status();
    auto id = parse_upload_id(answer->body);
    if (!id.ok()) {
      return Status::corrupt(
          fmt::format("begin upload {}: {}", store_.place(key_), id.status().message()));
    }
    id_ = std::move(*id);
    return {};
  }

  Status send_all() {
    sent_.assign(plan_.parts(), {});
    report_.parts = plan_.parts();
    std::vector<std::vector<std::byte>> buffers(store_.options_.connections);
    std::atomic<std::uint64_t> parts_sent = 0, bytes_sent = 0;
    std::atomic<bool> stop = false;
    Status status = base::in_parallel(
        plan_.parts(), store_.options_.connections, stop,
        [&](std::size_t worker, std::size_t index) {
          auto data = source_.read(plan_.begin(index), plan_.size(index), buffers[worker]);
          if (!data.ok()) {
            source_failed_ = true;
            return data.status();
          }
          sent_[index].crc32c = crc_of(*data);
          if (!keep(index, *data)) {
            if (Status each = send_part(index, *data, stop); !each.ok()) return each;
            ++parts_sent;
            bytes_sent += data->size();
          }
          done_here_ += data->size();
          if (done_bytes_ != nullptr) *done_bytes_ += data->size();
          return Status();
        });
    report_.parts_sent = parts_sent;
    report_.bytes_sent = bytes_sent;
    return status;
  }

  // True: the store has this part already, with the same size and checksum.
  bool keep(std::size_t index, std::span<const std::byte> data) {
    const auto it = there_.find(static_cast<std::uint32_t>(index + 1));
    if (it == there_.end() || it->second.bytes != data.size()) return false;
    const PartEntry& part = it->second;
    // Many do not list checksums; then the tag has to be the MD5.
    const bool same = part.crc32c ? *part.crc32c == sent_[index].crc32c
                                  : md5_of_hex(part.etag) == std::optional(md5(data));
    if (same) sent_[index].etag = part.etag;
    return same && !part.etag.empty();
  }

  Status send_part(std::size_t index, std::span<const std::byte> data,
                   const std::atomic<bool>& stop) {
    Question question{.verb = fmt::format("put part {} of", index + 1),
                      .key = key_,
                      .query = {{"partNumber", std::to_string(index + 1)}, {"uploadId", id_}},
                      .body = data,
                      .stop = &stop};
    auto answer = store_.send_body(std::move(question), sent_[index].crc32c);
    if (!answer.ok()) return answer.status();
    sent_[index].etag = plain_etag(answer->header("etag"));
    if (!sent_[index].etag.empty()) return {};
    return Status::corrupt(
        fmt::format("put part {} of {}: the answer has no tag: is this an object "
                    "store?",
                    index + 1, store_.place(key_)));
  }

  Status complete() {
    std::string body = "<CompleteMultipartUpload>";
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      body += fmt::format(
          "<Part><PartNumber>{}</PartNumber><ETag>&quot;{}&quot;</ETag>"
          "<ChecksumCRC32C>{}</ChecksumCRC32C></Part>",
          i + 1, xml_escaped(sent_[i].etag), crc32c_text(sent_[i].crc32c));
    }
    body += "</CompleteMultipartUpload>";
    std::string code;
    const Question question{.verb = "complete",
                            .method = "POST",
                            .key = key_,
                            .query = {{"uploadId", id_}},
                            .headers = {{"content-type", "application/xml"}},
                            .body = base::bytes_of(body),
                            .error_code = &code};
    // The status was sent before the work was done: 200 may be followed by an error.
    const auto judge = [&](const net::HttpAnswer& answer) -> std::optional<Complaint> {
      if (parse_completed(answer.body).ok()) return std::nullopt;
      const StoreError error = read_error(answer, store_.client_.credentials());
      if (!error.code.empty()) {
        return Complaint{error_status(store_.client_.where(question, 1), answer.status, error),
                         is_transient(answer.status, error.code)};
      }
      return Complaint{Status::io(fmt::format("complete {}: the answer is cut off or no XML",
                                              store_.place(key_))),
                       true};
    };
    auto answer = store_.client_.ask(question, judge);
    if (answer.ok()) return check_size();
    // An answer that was lost looks the same as one that never was: the object itself tells.
    if (is_ours()) return {};
    unfit_ = std::find(std::begin(kUnfit), std::end(kUnfit), code) != std::end(kUnfit);
    return answer.status();
  }

  Status check_size() {
    auto info = store_.head(key_);
    if (!info.ok()) return info.status();
    if (info->bytes == plan_.bytes) return {};
    return Status::corrupt(
        fmt::format("complete {}: the object has {} bytes, {} were sent: remove "
                    "it and send it again",
                    store_.place(key_), info->bytes, plan_.bytes));
  }

  bool is_ours() {
    auto info = store_.head(key_);
    if (!info.ok() || info->bytes != plan_.bytes) return false;
    std::vector<std::uint32_t> crcs;
    std::vector<Md5> tags;
    for (const Sent& part : sent_) {
      crcs.push_back(part.crc32c);
      if (const auto tag = md5_of_hex(part.etag)) tags.push_back(*tag);
    }
    if (!info->crc32c.empty()) return info->crc32c == composite_crc32c(crcs);
    return tags.size() == sent_.size() && info->etag == composite_etag(tags);
  }

  Store& store_;
  const std::string& key_;
  Source& source_;
  const PartPlan& plan_;
  std::atomic<std::uint64_t>* const done_bytes_;
  std::atomic<std::uint64_t> done_here_ = 0;
  std::atomic<bool> source_failed_ = false;
  bool unfit_ = false;
  std::string id_;
  std::map<std::uint32_t, PartEntry> there_;  // read only while parts are sent
  std::vector<Sent> sent_;                    // each by the thread that has its part
  UploadReport report_;
};

Result<UploadReport> Store::upload(const std::string& key, Source& source,
                                   std::atomic<std::uint64_t>* done_bytes) {
  HW_CHECK(!key.empty());
  auto plan = plan_parts(source.bytes(), options_.part_bytes);
  if (!plan.ok()) {
    return Status(plan.status().code(),
                  fmt::format("upload {}: {}", client_.place(key), plan.status().message()));
  }
  auto there = is_there(key, source, *plan);
  if (!there.ok()) return there.status();
  if (*there) {
    if (done_bytes != nullptr) *done_bytes += plan->bytes;
    return UploadReport{.parts = plan->parts(), .was_there = true};
  }
  if (plan->parts() > 1) return MultipartUpload(*this, key, source, *plan, done_bytes).run();
  std::vector<std::byte> buffer;
  auto data = source.read(0, plan->bytes, buffer);
  if (!data.ok()) return data.status();
  if (Status status = put(key, *data); !status.ok()) return status;
  if (done_bytes != nullptr) *done_bytes += plan->bytes;
  return UploadReport{.parts = 1, .parts_sent = 1, .bytes_sent = plan->bytes};
}

}  // namespace headway::object_store
