#include "checkpoint/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "checkpoint/chunks.h"
#include "checkpoint/look.h"
#include "checkpoint/parts.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;

constexpr std::uint64_t kJobBytes = 64 << 20;    // a large part is shared out among threads
constexpr std::uint64_t kGroupBytes = 32 << 20;  // small ones go together
constexpr std::size_t kLengthBytes = 8;

Result<SafetensorsHeader> read_header(ChunkReader& reader, const ManifestFile& entry,
                                      const std::string& path) {
  std::string first(std::min<std::uint64_t>(kLengthBytes, entry.bytes), '\0');
  Status status = reader.read(0, std::as_writable_bytes(std::span(first)), first.size());
  if (!status.ok()) return status;
  const auto bytes = safetensors_head_bytes(first, entry.bytes, path);
  if (!bytes.ok()) return bytes.status();
  std::string head(static_cast<std::size_t>(bytes.value()), '\0');
  status = reader.read(0, std::as_writable_bytes(std::span(head)), head.size());
  if (!status.ok()) return status;
  return parse_safetensors(head, entry.bytes, path);
}

// Sorted by name.
const TensorInfo* find(const std::vector<TensorInfo>& tensors, std::string_view name) {
  const auto it = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const TensorInfo& info, std::string_view wanted) { return info.name < wanted; });
  return it != tensors.end() && it->name == name ? &*it : nullptr;
}

}  // namespace

Result<std::unique_ptr<CheckpointReader>> CheckpointReader::open(base::FileSystem& files,
                                                                 const std::string& path,
                                                                 bool verify) {
  auto manifest = read_manifest(files, path);
  if (!manifest.ok()) return manifest.status();
  if (Status status = check_files(files, path, *manifest); !status.ok()) return status;
  std::unique_ptr<CheckpointReader> reader(new CheckpointReader(files, path));
  reader->manifest_ = std::move(*manifest);
  if (Status status = reader->load_headers(verify); !status.ok()) return status;
  if (Status status = reader->load_base(verify); !status.ok()) return status;
  return reader;
}

Status CheckpointReader::load_base(bool verify) {
  for (const ManifestFile& file : manifest_.files) all_.push_back({file.name, file.rank});
  if (manifest_.base.empty()) return {};
  auto path = base_path(path_, manifest_);
  if (!path.ok()) return path.status();
  auto base = open(files_, *path, verify);
  if (!base.ok()) return base.status();
  base_ = std::move(*base);
  for (const auto& [name, overlay] : overlays_) {
    const TensorInfo* table = base_->find(name);
    const std::string place = path_ + "/" + manifest_.files[overlay.file].name;
    if (table == nullptr) {
      return Status::corrupt(
          fmt::format("{}: rows of {}, which {} does not have", place, name, base_->path()));
    }
    if (Status status = check_overlay(overlay, *table, place); !status.ok()) return status;
  }
  for (const File& file : base_->all_) all_.push_back(of_base(file));
  stored_ = std::move(tensors_);
  tensors_.clear();
  for (TensorInfo info : base_->tensors_) {
    for (TensorPiece& piece : info.pieces) piece.file += manifest_.files.size();
    tensors_.push_back(std::move(info));
  }
  // Where both have it the newer counts.
  std::erase_if(tensors_, [this](const TensorInfo& info) {
    return checkpoint::find(stored_, info.name) != nullptr;
  });
  tensors_.insert(tensors_.end(), stored_.begin(), stored_.end());
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  return {};
}

// The name of a base of the base is before its files already.
CheckpointReader::File CheckpointReader::of_base(File file) const {
  if (file.name.find('/') == std::string::npos) file.name = manifest_.base + "/" + file.name;
  return file;
}

std::vector<CheckpointReader::Rows> CheckpointReader::rows_over(const std::string& tensor) const {
  std::vector<Rows> all;
  const bool in_full = std::any_of(stored_.begin(), stored_.end(),
                                   [&](const TensorInfo& info) { return info.name == tensor; });
  if (!base_ || in_full) return all;
  for (Rows& rows : base_->rows_over(tensor)) all.push_back({of_base(rows.file), rows.count});
  const auto [begin, end] = overlays_.equal_range(tensor);
  for (auto overlay = begin; overlay != end; ++overlay) {
    const auto& [rows, file] = overlay->second;
    all.push_back({all_[file], rows.ids.piece.shape.front()});
  }
  return all;
}

Status CheckpointReader::load_headers(bool verify) {
  std::vector<FileHeader> headers;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < manifest_.files.size(); ++i) {
    const ManifestFile& entry = manifest_.files[i];
    if (!has_tensors(manifest_, entry)) continue;
    auto file = ChunkReader::open(files_, path_, entry, {.verify = verify});
    if (!file.ok()) return file.status();
    auto header = read_header(**file, entry, path_ + "/" + entry.name);
    if (!header.ok()) return header.status();
    bytes += header->data_begin;
    if (bytes > headers_bytes_max) {
      return Status::corrupt(
          fmt::format("{}: headers of more than {} bytes", path_, headers_bytes_max));
    }
    if (!manifest_.base.empty()) {
      auto sorted = sort_delta(header->pieces, path_ + "/" + entry.name);
      if (!sorted.ok()) return sorted.status();
      header->pieces = std::move(sorted->whole);
      for (TableRows& rows : sorted->tables) {
        const std::string table = rows.name;
        overlays_.emplace(table, Overlay{std::move(rows), i});
      }
    }
    headers.push_back({i, entry.name, std::move(*header)});
  }
  auto table = make_table(headers, path_);
  if (!table.ok()) return table.status();
  tensors_ = std::move(*table);
  return {};
}

const TensorInfo* CheckpointReader::find(std::string_view name) const {
  return checkpoint::find(tensors_, name);
}

Status CheckpointReader::read(const std::string& name, const Box& box,
                              std::span<std::byte> into) const {
  return read_all({{name, box, into}});
}

Status CheckpointReader::plan(const Want& want, std::vector<Job>& jobs) const {
  const auto bad = [&](const std::string& what) {
    return Status::invalid(fmt::format("{}: tensor {}: {}", path_, want.name, what));
  };
  const TensorInfo* info = checkpoint::find(base_ ? stored_ : tensors_, want.name);
  if (info == nullptr) return bad("there is no such tensor");
  if (want.box.offsets.size() != info->shape.size() ||
      want.box.shape.size() != info->shape.size()) {
    return bad(fmt::format("{} dimensions, a part of {} is wanted", info->shape.size(),
                           want.box.shape.size()));
  }
  for (std::size_t d = 0; d < info->shape.size(); ++d) {
    if (want.box.offsets[d] > info->shape[d] ||
        want.box.shape[d] > info->shape[d] - want.box.offsets[d]) {
      return bad(fmt::format("it is [{}], a part of [{}] at [{}] is wanted",
                             fmt::join(info->shape, ", "), fmt::join(want.box.shape, ", "),
                             fmt::join(want.box.offsets, ", ")));
    }
  }
  if (want.into.size() != bytes_of_shape(info->dtype, want.box.shape)) {
    return bad(fmt::format("{} bytes of memory for {} of {}", want.into.size(), want.box.text(),
                           name_of(info->dtype)));
  }
  std::vector<Box> boxes;
  std::vector<const TensorPiece*> pieces;
  for (const TensorPiece& piece : info->pieces) {
    if (!info->shape.empty() && piece.box.offsets[0] >= want.box.end(0)) break;
    if (!common_part(piece.box, want.box)) continue;
    boxes.push_back(piece.box);
    pieces.push_back(&piece);
  }
  const auto portions = plan_portions(want.box, boxes);
  if (!portions.ok()) return bad(portions.status().message());
  const std::size_t size = element_bytes(info->dtype);
  for (const Portion& portion : portions.value()) {
    const TensorPiece* piece = pieces[portion.piece];
    each_part(portion.part, size, kJobBytes, [&](const Box& part) {
      // Row-major: the first element comes first and the last one last.
      std::uint64_t first = 0, last = 0;
      for (std::size_t d = 0; d < part.dimensions(); ++d) {
        first = first * piece->box.shape[d] + (part.offsets[d] - piece->box.offsets[d]);
        last = last * piece->box.shape[d] + (part.end(d) - 1 - piece->box.offsets[d]);
      }
      jobs.push_back({info, piece, part, &want, piece->begin + first * size,
                      piece->begin + (last + 1) * size});
    });
  }
  return {};
}

std::vector<CheckpointReader::Group> CheckpointReader::group(const std::vector<Job>& jobs) const {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool fits = !groups.empty() &&
                      jobs[i].piece->file == jobs[groups.back().first].piece->file &&
                      jobs[i].end - jobs[groups.back().first].begin <= kGroupBytes;
    if (fits) {
      groups.back().last = i;
    } else {
      groups.push_back({i, i});
    }
  }
  return groups;
}

Status CheckpointReader::run(const std::vector<Job>& jobs, const Group& group,
                             const ReadOptions& options) const {
  const ManifestFile& entry = manifest_.files[jobs[group.first].piece->file];
  auto file = ChunkReader::open(files_, path_, entry, {options.verify, options.direct});
  if (!file.ok()) return file.status();
  Status status;
  for (std::size_t i = group.first; i <= group.last && status.ok(); ++i) {
    const Job& job = jobs[i];
    each_run(job.part, job.piece->box, job.want->box, element_bytes(job.tensor->dtype),
             [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
               if (!status.ok()) return;
               status = (*file)->read(job.piece->begin + from,
                                      job.want->into.subspan(static_cast<std::size_t>(to),
                                                             static_cast<std::size_t>(bytes)),
                                      jobs[group.last].end);
             });
  }
  return status;
}

Status CheckpointReader::read_all(const std::vector<Want>& wants,
                                  const ReadOptions& options) const {
  if (!base_) return read_stored(wants, options);
  std::vector<Want> here, there;
  for (const Want& want : wants) {
    const bool newer = checkpoint::find(stored_, want.name) != nullptr;
    (newer ? here : there).push_back(want);
  }
  if (Status status = base_->read_all(there, options); !status.ok()) return status;
  for (const Want& want : there) {
    if (Status status = put_overlays(want, options); !status.ok()) return status;
  }
  return read_stored(here, options);
}

Status CheckpointReader::put_overlays(const Want& want, const ReadOptions& options) const {
  const auto [begin, end] = overlays_.equal_range(want.name);
  for (auto it = begin; it != end; ++it) {
    const ManifestFile& entry = manifest_.files[it->second.file];
    auto file = ChunkReader::open(files_, path_, entry, {options.verify, options.direct});
    if (!file.ok()) return file.status();
    Status status = put_rows(**file, it->second, *find(want.name), want.box, want.into,
                             path_ + "/" + entry.name);
    if (!status.ok()) return status;
  }
  return {};
}

Status CheckpointReader::read_stored(const std::vector<Want>& wants,
                                     const ReadOptions& options) const {
  std::vector<Job> jobs;
  for (const Want& want : wants) {
    if (Status status = plan(want, jobs); !status.ok()) return status;
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return std::pair(a.piece->file, a.begin) < std::pair(b.piece->file, b.begin);
  });
  const std::vector<Group> groups = group(jobs);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Status first_error;
  const auto work = [&] {
    for (std::size_t i = next++; i < groups.size(); i = next++) {
      const Status status = run(jobs, groups[i], options);
      if (status.ok()) continue;
      const std::scoped_lock lock(mutex);
      if (first_error.ok()) first_error = status;
      next = groups.size();
    }
  };
  const std::size_t threads =
      std::min<std::size_t>(groups.size(), std::min(options.threads, read_threads_max));
  std::vector<std::thread> others;
  try {
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had here: those that are there do it.
  }
  work();
  for (std::thread& other : others) other.join();
  return first_error;
}

}  // namespace headway::checkpoint
