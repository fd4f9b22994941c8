#include "checkpoint/restore.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/aligned_memory.h"
#include "checkpoint/batches.h"
#include "checkpoint/copy.h"
#include "checkpoint/delta.h"
#include "checkpoint/look.h"
#include "checkpoint/parts.h"
#include "checkpoint/safetensors.h"

namespace headway::checkpoint {
namespace {

using base::FileSystem;
using base::Result;
using base::Status;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kAlignment = 4096;
constexpr std::string_view kIndexName = "model.safetensors.index.json";

// One file to be written: which parts of which tensors.
struct Shard {
  std::vector<BatchItem> items;
  std::uint64_t bytes = 0;
};

bool is_wanted(const TensorInfo& info, const std::string& only) {
  return std::string_view(info.name).starts_with(only);
}

Status check_wanted(const CheckpointReader& reader, const RestoreOptions& options) {
  for (const TensorInfo& info : reader.tensors()) {
    if (is_wanted(info, options.only)) return {};
  }
  if (options.only.empty()) return {};
  return Status::not_found(
      fmt::format("{}: no tensor's name begins with {}", reader.path(), options.only));
}

using Write = std::function<Status(std::span<const std::byte>)>;

// Gathers what comes into blocks that can go past the page cache.
class BlockWriter {
 public:
  explicit BlockWriter(const Write& write) : write_(write), block_(memory_.take(kBlockBytes)) {}

  Status add(std::span<const std::byte> data) {
    while (!data.empty()) {
      const std::size_t bytes = std::min(data.size(), block_.size() - used_);
      std::memcpy(block_.data() + used_, data.data(), bytes);
      used_ += bytes;
      data = data.subspan(bytes);
      if (used_ < block_.size()) continue;
      if (Status status = flush(); !status.ok()) return status;
    }
    return {};
  }
  Status flush() {
    const std::size_t bytes = std::exchange(used_, 0);
    return bytes > 0 ? write_(block_.first(bytes)) : Status();
  }

 private:
  static constexpr std::size_t kBlockBytes = 8 << 20;
  const Write& write_;
  base::AlignedMemory memory_;
  const std::span<std::byte> block_;
  std::size_t used_ = 0;
};

// Header and data of one file, in the order that the header has.
Status write_shard(const CheckpointReader& reader, const Shard& shard, const Progress& progress,
                   const Write& write, const SafetensorsPlan& plan) {
  std::map<std::string_view, const BatchItem*> by_name;
  for (const BatchItem& item : shard.items) by_name[item.tensor->name] = &item;
  std::vector<BatchItem> order;
  for (const StoredPiece& stored : plan.header.pieces) {
    order.push_back(*by_name.at(stored.piece.name));
  }
  BlockWriter blocks(write);
  if (Status status = blocks.add(base::bytes_of(plan.head)); !status.ok()) return status;
  Status status = read_in_batches(
      {&reader}, order,
      [&](std::size_t, std::uint64_t, const std::vector<std::span<const std::byte>>& data) {
        if (progress) progress(data[0].size());
        return blocks.add(data[0]);
      });
  return status.ok() ? blocks.flush() : status;
}

Result<SafetensorsPlan> plan_shard(const Shard& shard) {
  std::vector<Piece> pieces;
  for (const BatchItem& item : shard.items) {
    pieces.push_back({item.tensor->name, item.tensor->dtype, item.box.shape, item.box.offsets});
  }
  return plan_safetensors(pieces, kAlignment);
}

std::vector<Shard> cut_into_shards(const CheckpointReader& reader, const RestoreOptions& options) {
  std::vector<Shard> shards(1);
  for (const TensorInfo& info : reader.tensors()) {
    if (!is_wanted(info, options.only)) continue;
    const bool full = shards.back().bytes + info.bytes > options.shard_bytes;
    if (full && !shards.back().items.empty()) shards.emplace_back();
    shards.back().items.push_back({&info, whole_box(info.shape)});
    shards.back().bytes += info.bytes;
  }
  return shards;
}

// A folder that is not there yet; what is not committed goes away with it.
class PartialFolder {
 public:
  PartialFolder(FileSystem& files, std::string folder)
      : files_(files),
        folder_(std::move(folder)),
        path_(fmt::format("{}/.{}.partial-{}", base::folder_of(folder_), last_name_of(folder_),
                          ::getpid())) {}
  ~PartialFolder() {
    if (!made_) return;
    for (const std::string& name : names_) (void)files_.remove_file(path_ + "/" + name);
    (void)files_.remove_folder(path_);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  Status make() {
    auto entries = files_.list(folder_);
    if (entries.ok() && !entries->empty()) {
      return Status::invalid(folder_ + ": is there already and not empty; name a new folder");
    }
    if (!entries.ok() && entries.status().code() != base::Code::not_found) return entries.status();
    Status status = files_.make_folder(path_);
    made_ = status.ok();
    return status;
  }
  Result<std::unique_ptr<base::OutputFile>> create(const std::string& name, std::uint64_t bytes) {
    names_.push_back(name);
    return files_.create(path_ + "/" + name, {.bytes = bytes, .direct = true});
  }
  Status commit() {
    if (Status status = files_.sync_folder(path_); !status.ok()) return status;
    if (Status status = files_.rename(path_, folder_); !status.ok()) return status;
    made_ = false;
    return files_.sync_folder(base::folder_of(folder_));
  }

 private:
  FileSystem& files_;
  const std::string folder_, path_;
  std::vector<std::string> names_;
  bool made_ = false;
};

Status write_file(PartialFolder& folder, const std::string& name, std::uint64_t bytes,
                  const std::function<Status(const Write&)>& fill) {
  auto file = folder.create(name, bytes);
  if (!file.ok()) return file.status();
  std::uint64_t at = 0;
  Status status = fill([&](std::span<const std::byte> data) {
    const std::uint64_t begin = at;
    at += data.size();
    return (*file)->write(begin, data);
  });
  if (status.ok()) status = (*file)->sync();
  if (Status closed = (*file)->close(); status.ok()) status = closed;
  return status;
}

std::vector<std::string> files_without_tensors(const Manifest& manifest, std::uint32_t from_rank) {
  std::vector<std::string> names;
  for (const ManifestFile& file : manifest.files) {
    if (!has_tensors(manifest, file) && file.rank >= from_rank) names.push_back(file.name);
  }
  return names;
}

}  // namespace

std::uint64_t restored_bytes(const CheckpointReader& reader, const std::string& only) {
  std::uint64_t bytes = 0;
  for (const TensorInfo& info : reader.tensors()) bytes += is_wanted(info, only) ? info.bytes : 0;
  return bytes;
}

Result<Restored> restore_whole(FileSystem& files, const CheckpointReader& reader,
                               const std::string& given, const RestoreOptions& options) {
  if (Status status = check_wanted(reader, options); !status.ok()) return status;
  PartialFolder folder(files, without_last_slash(given));
  if (Status status = folder.make(); !status.ok()) return status;
  Restored restored;
  restored.left_out = files_without_tensors(reader.manifest(), 0);
  Json weights = Json::object();
  const std::vector<Shard> shards = cut_into_shards(reader, options);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    auto plan = plan_shard(shards[i]);
    if (!plan.ok()) return plan.status();
    Status status = write_file(folder, name, plan->header.file_bytes, [&](const auto& write) {
      return write_shard(reader, shards[i], options.progress, write, *plan);
    });
    if (!status.ok()) return status;
    for (const BatchItem& item : shards[i].items) weights[item.tensor->name] = name;
    restored.files.push_back(name);
    restored.tensors += shards[i].items.size();
    restored.bytes += shards[i].bytes;
  }
  const Json index = {
      {"metadata", {{"total_size", restored.bytes}, {"step", reader.manifest().step}}},
      {"weight_map", weights}};
  const std::string text = index.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  restored.files.emplace_back(kIndexName);
  Status status = write_file(folder, restored.files.back(), 0,
                             [&](const auto& write) { return write(base::bytes_of(text)); });
  if (status.ok()) status = folder.commit();
  if (!status.ok()) return status;
  return restored;
}

Result<Resharded> restore_ranks(FileSystem& files, const CheckpointReader& reader,
                                const std::string& folder, std::uint32_t ranks,
                                const RestoreOptions& options) {
  if (Status status = check_wanted(reader, options); !status.ok()) return status;
  Manifest facts = reader.manifest();
  facts.world_size = ranks;
  facts.base.clear();
  CheckpointFolder into(files, without_last_slash(folder));
  auto draft = Draft::begin(into, facts);
  if (!draft.ok()) return draft.status();
  Resharded out;
  out.what.left_out = files_without_tensors(reader.manifest(), ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Shard shard;
    for (const TensorInfo& info : reader.tensors()) {
      if (!is_wanted(info, options.only)) continue;
      if (rank == 0) ++out.what.tensors;
      const auto box = rows_of_rank(info.shape, rank, ranks);
      if (!box) continue;
      shard.items.push_back({&info, *box});
      shard.bytes += bytes_of_shape(info.dtype, box->shape).value_or(0);
    }
    auto plan = plan_shard(shard);
    if (!plan.ok()) return plan.status();
    const std::string name = fmt::format("shard-{:05}-model-00001-of-00001.safetensors", rank + 1);
    auto file = (*draft)->add(name, rank, {.bytes = plan->header.file_bytes, .direct = true});
    if (!file.ok()) return file.status();
    Status status = write_shard(
        reader, shard, options.progress,
        [&](std::span<const std::byte> data) { return (*file)->write(data); }, *plan);
    if (status.ok()) status = (*file)->finish();
    if (!status.ok()) return status;
    out.what.files.push_back(name);
    out.what.bytes += shard.bytes;
  }
  for (const ManifestFile& entry : reader.manifest().files) {
    if (has_tensors(reader.manifest(), entry) || entry.rank >= ranks) continue;
    Status status = copy_file(files, reader.path(), entry, **draft, entry.rank, {});
    if (!status.ok()) return status;
    out.what.files.push_back(entry.name);
  }
  auto name = (*draft)->commit();
  if (!name.ok()) return name.status();
  out.name = *name;
  return out;
}

}  // namespace headway::checkpoint
