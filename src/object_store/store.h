// Objects in one bucket of an S3 store: put, get, list, remove. A large object goes up in parts,
// several at a time; what was cut off goes on where it was, because the store itself remembers the
// parts that it has. Nothing counts as stored until the store has confirmed its checksum.
//
// Any thread; a call returns when all of its own threads have.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "object_store/answers.h"
#include "object_store/client.h"
#include "object_store/parts.h"
#include "object_store/source.h"

namespace headway::object_store {

inline constexpr std::size_t list_keys_max = 1'000'000;

struct StoreOptions {
  std::uint64_t part_bytes = 16ULL << 20;   // each connection holds one in memory for a file
  std::uint64_t range_bytes = 16ULL << 20;  // of what is read in parallel
  std::size_t connections = 8;
  RetryPolicy retry;
  long stall_timeout_s = 60;  // nothing moves for so long: the connection is given up
  // A store that confirms neither CRC32C nor MD5 is refused, unless this says that it is known.
  bool accept_unconfirmed = false;
  long connect_timeout_s = 15;
  // Of a real store: set, whatever is under way or waits for another try ends within a second.
  const std::atomic<bool>* stop = nullptr;
};

struct ObjectInfo {
  std::uint64_t bytes = 0;
  std::string etag;    // without quotes
  std::string crc32c;  // as the store wrote it; of several parts "…-3"; empty: none
};

struct UploadReport {
  std::uint64_t parts = 0;
  std::uint64_t parts_sent = 0;  // the rest was there
  std::uint64_t bytes_sent = 0;
  bool was_there = false;  // the whole object, the same in every byte
};

struct Listing {
  std::vector<ObjectEntry> objects;   // sorted by key
  std::vector<std::string> prefixes;  // sorted
};

class Store {
 public:
  Store(net::Transport& transport, Settings settings, std::string bucket, StoreOptions options,
        Runtime runtime);

  base::Result<ObjectInfo> head(const std::string& key);

  // One request; at most 5 GiB.
  base::Status put(const std::string& key, std::span<const std::byte> data);
  // In parts where it is large. What an earlier upload left is used if it is the same.
  // `done_bytes`, where given, grows for who shows progress.
  base::Result<UploadReport> upload(const std::string& key, Source& source,
                                    std::atomic<std::uint64_t>* done_bytes = nullptr);
  // What was begun below this prefix and never ended; the number of uploads.
  base::Result<std::size_t> abort_uploads(const std::string& prefix);

  // A small object, whole; larger than bytes_max is an error.
  base::Result<std::string> get_text(const std::string& key, std::size_t bytes_max);
  // As many bytes as `into` has, from `offset`, several ranges at a time. `etag`: of the version
  // that is meant; another one is an error. Empty: any.
  base::Status get(const std::string& key, const std::string& etag, std::uint64_t offset,
                   std::span<std::byte> into);

  // All keys that begin with `prefix`; with a delimiter, those with it behind the prefix are cut
  // there.
  base::Result<Listing> list(const std::string& prefix, const std::string& delimiter = {});

  // One that is not there is as good.
  base::Status remove(const std::string& key);
  base::Status remove_many(const std::vector<std::string>& keys);

  [[nodiscard]] std::string place(const std::string& key) const { return client_.place(key); }
  [[nodiscard]] const StoreOptions& options() const { return options_; }

 private:
  friend class MultipartUpload;
  base::Status get_range(const std::string& key, const std::string& etag, std::uint64_t offset,
                         std::span<std::byte> into, const std::atomic<bool>& stop);
  base::Result<bool> is_there(const std::string& key, Source& source, const PartPlan& plan);
  base::Result<std::vector<UploadEntry>> list_uploads(const std::string& prefix);
  base::Status abort_upload(const UploadEntry& upload);
  base::Result<net::HttpAnswer> send_body(Question question, std::uint32_t crc32c);

  Client client_;
  const StoreOptions options_;
};

// With libcurl and this machine's clock.
struct RealStore {
  std::unique_ptr<net::Transport> transport;
  std::unique_ptr<Store> store;
};
[[nodiscard]] RealStore open_store(Settings settings, const std::string& bucket,
                                   const StoreOptions& options);

}  // namespace headway::object_store
