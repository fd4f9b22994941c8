#include "checkpoint/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/check.h"
#include "base/crc32c.h"
#include "checkpoint/look.h"

namespace headway::checkpoint {
namespace {

using base::FileSystem;
using base::FolderEntry;
using base::Result;
using base::Status;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kDraftPrefix = ".draft-";
constexpr std::string_view kRemovingPrefix = ".removing-";
constexpr std::size_t kStepDigits = 8;
constexpr std::size_t kSequenceDigits = 6;
constexpr std::size_t kVerifyBytes = 1 << 20;

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool all = error == std::errc() && end == digits.data() + digits.size();
  return all ? std::optional(value) : std::nullopt;
}

}  // namespace

Status remove_folder_of_files(FileSystem& files, const std::string& path) {
  auto entries = files.list(path);
  if (!entries.ok()) return entries.status();
  for (const FolderEntry& entry : *entries) {
    if (Status status = files.remove_file(path + "/" + entry.name); !status.ok()) return status;
  }
  return files.remove_folder(path);
}

// Without this, the first checkpoint could be lost with the folder that it is in.
Status make_folders(FileSystem& files, const std::string& path) {
  const std::string above = base::folder_of(path);
  Status status = files.make_folder(path);
  if (status.code() == base::Code::not_found && above != path) {
    if (Status made = make_folders(files, above); !made.ok()) return made;
    status = files.make_folder(path);
  }
  return status.ok() ? files.sync_folder(above) : status;
}

std::string CheckpointName::text() const {
  return fmt::format("{}{:0{}}-{:0{}}", kPrefix, step, kStepDigits, sequence, kSequenceDigits);
}

std::optional<CheckpointName> CheckpointName::parse(std::string_view text) {
  const std::string_view whole = text;
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto step = number(text.substr(0, dash));
  const auto sequence = number(text.substr(dash + 1));
  if (!step || !sequence) return std::nullopt;
  const CheckpointName name{*step, *sequence};
  return name.text() == whole ? std::optional(name) : std::nullopt;
}

Status DraftFile::write(std::span<const std::byte> data) {
  if (Status status = file_->write(entry_.bytes, data); !status.ok()) return status;
  while (!data.empty()) {
    if (in_chunk_ == 0) entry_.crc32c.push_back(0);
    const std::size_t piece = std::min<std::uint64_t>(data.size(), entry_.chunk_bytes - in_chunk_);
    entry_.crc32c.back() = base::crc32c(data.data(), piece, entry_.crc32c.back());
    in_chunk_ = (in_chunk_ + piece) % entry_.chunk_bytes;
    entry_.bytes += piece;
    data = data.subspan(piece);
  }
  return {};
}

Status DraftFile::write(std::span<const std::byte> data, std::span<const std::uint32_t> checksums) {
  HW_CHECK(in_chunk_ == 0 &&
           checksums.size() == (data.size() + entry_.chunk_bytes - 1) / entry_.chunk_bytes);
  if (Status status = file_->write(entry_.bytes, data); !status.ok()) return status;
  entry_.crc32c.insert(entry_.crc32c.end(), checksums.begin(), checksums.end());
  entry_.bytes += data.size();
  in_chunk_ = data.size() % entry_.chunk_bytes;
  return {};
}

Status DraftFile::finish() {
  Status status = file_->sync();
  if (Status closed = file_->close(); status.ok()) status = closed;
  return status;
}

std::string CheckpointFolder::path_of(const CheckpointName& name) const {
  return path_ + "/" + name.text();
}

Result<std::vector<CheckpointName>> CheckpointFolder::list() const {
  std::vector<CheckpointName> names;
  auto entries = files_.list(path_);
  if (!entries.ok()) {
    if (entries.status().code() == base::Code::not_found) return names;
    return entries.status();
  }
  for (const FolderEntry& entry : *entries) {
    const auto name = entry.is_folder ? CheckpointName::parse(entry.name) : std::nullopt;
    if (name) names.push_back(*name);
  }
  std::sort(names.begin(), names.end(), [](const CheckpointName& a, const CheckpointName& b) {
    return std::pair(a.sequence, a.step) > std::pair(b.sequence, b.step);
  });
  return names;
}

Result<Manifest> CheckpointFolder::read(const CheckpointName& name) const {
  return read_manifest(files_, path_of(name));
}

Result<Manifest> CheckpointFolder::read_sized(const CheckpointName& name) const {
  auto manifest = read(name);
  if (!manifest.ok()) return manifest;
  if (Status status = check_files(files_, path_of(name), *manifest); !status.ok()) return status;
  if (Status status = check_bases(files_, path_of(name), *manifest); !status.ok()) return status;
  return manifest;
}

Status CheckpointFolder::verify(const CheckpointName& name) const {
  auto manifest = read_sized(name);
  if (!manifest.ok()) return manifest.status();
  std::vector<std::byte> buffer(kVerifyBytes);
  for (const ManifestFile& entry : manifest->files) {
    const std::string path = path_of(name) + "/" + entry.name;
    auto file = files_.open(path);
    if (!file.ok()) return file.status();
    for (std::size_t chunk = 0; chunk < entry.crc32c.size(); ++chunk) {
      std::uint64_t at = chunk * entry.chunk_bytes;
      const std::uint64_t end = std::min(entry.bytes, at + entry.chunk_bytes);
      std::uint32_t crc = 0;
      while (at < end) {
        const auto piece = std::span(buffer).first(std::min<std::uint64_t>(end - at, kVerifyBytes));
        if (Status status = (*file)->read(at, piece); !status.ok()) return status;
        crc = base::crc32c(piece.data(), piece.size(), crc);
        at += piece.size();
      }
      if (crc != entry.crc32c[chunk]) {
        return Status::corrupt(fmt::format("{}: damaged between bytes {} and {}", path,
                                           chunk * entry.chunk_bytes, end));
      }
    }
  }
  return {};
}

Result<std::optional<CheckpointFolder::Good>> CheckpointFolder::newest_good(
    bool deep, std::vector<std::string>& passed) const {
  auto names = list();
  if (!names.ok()) return names.status();
  for (const CheckpointName& name : *names) {
    auto manifest = read_sized(name);
    Status status = manifest.status();
    if (status.ok() && deep) status = verify(name);
    if (status.ok()) return std::optional<Good>(Good{name, std::move(*manifest)});
    passed.push_back(status.message());
  }
  return std::optional<Good>();
}

namespace {

// Removes the waste of those that died; the highest number of a commit that there is.
Result<std::uint64_t> clear_waste(FileSystem& files, const std::string& folder,
                                  const std::function<bool(std::string_view)>& is_waste_parts) {
  auto entries = files.list(folder);
  if (!entries.ok()) return entries.status();
  std::uint64_t sequence = 0;
  for (const FolderEntry& entry : *entries) {
    const std::string_view text = entry.name;
    const std::string path = folder + "/" + entry.name;
    const auto name = CheckpointName::parse(text);
    if (name) sequence = std::max(sequence, name->sequence);
    if (!entry.is_folder) continue;
    if (text.starts_with(parts_prefix)) {
      // As far as it goes: another machine may just find out that it is of no use.
      if (is_waste_parts(text)) (void)remove_folder_of_files(files, path);
      continue;
    }
    // As far as it goes, too: somebody may have put a folder of his own into it.
    if (text.starts_with(kRemovingPrefix)) (void)remove_folder_of_files(files, path);
    // One with a step's name and without a manifest is left: somebody may have lost just that.
    if (!text.starts_with(kDraftPrefix)) continue;
    if (Status status = remove_folder_of_files(files, path); !status.ok()) return status;
  }
  return sequence;
}

}  // namespace

Draft::Draft(CheckpointFolder& folder, Manifest facts, std::uint64_t sequence, std::string path)
    : folder_(folder),
      manifest_(std::move(facts)),
      name_{manifest_.step, sequence},
      path_(std::move(path)) {
  manifest_.files.clear();
}

Result<std::unique_ptr<Draft>> Draft::begin(CheckpointFolder& folder, Manifest facts) {
  FileSystem& files = folder.files_;
  if (Status status = make_folders(files, folder.path_); !status.ok()) return status;
  const auto sequence = clear_waste(files, folder.path_, [](std::string_view) { return true; });
  if (!sequence.ok()) return sequence.status();
  const CheckpointName name{facts.step, sequence.value() + 1};
  std::string path = fmt::format("{}/{}{}", folder.path_, kDraftPrefix, name.text());
  std::unique_ptr<Draft> draft(new Draft(folder, std::move(facts), name.sequence, std::move(path)));
  if (Status status = files.make_folder(draft->path_); !status.ok()) return status;
  return draft;
}

Result<std::unique_ptr<Draft>> Draft::over(CheckpointFolder& folder, Manifest facts,
                                           const std::string& name,
                                           const std::function<bool(std::string_view)>& is_waste) {
  const auto sequence = clear_waste(folder.files_, folder.path_, is_waste);
  if (!sequence.ok()) return sequence.status();
  std::unique_ptr<Draft> draft(
      new Draft(folder, std::move(facts), sequence.value() + 1, folder.path_ + "/" + name));
  draft->stays_ = true;
  return draft;
}

Draft::~Draft() {
  // The next draft would, too.
  if (!gone_ && !stays_) (void)remove_folder_of_files(folder_.files_, path_);
}

Result<std::unique_ptr<DraftFile>> Draft::add(const std::string& name, std::uint32_t rank,
                                              const base::CreateOptions& options) {
  HW_CHECK(is_file_name(name) && rank < manifest_.world_size && !gone_);
  auto file = folder_.files_.create(path_ + "/" + name, options);
  if (!file.ok()) return file.status();
  entries_.push_back(std::make_unique<ManifestFile>());
  ManifestFile& entry = *entries_.back();
  entry.name = name;
  entry.rank = rank;
  entry.chunk_bytes = default_chunk_bytes;
  return std::make_unique<DraftFile>(std::move(*file), entry);
}

void Draft::take(ManifestFile entry) {
  HW_CHECK(is_file_name(entry.name) && entry.rank < manifest_.world_size && !gone_);
  entries_.push_back(std::make_unique<ManifestFile>(std::move(entry)));
}

Result<CheckpointName> Draft::commit() {
  HW_CHECK(!gone_);
  FileSystem& files = folder_.files_;
  for (const auto& entry : entries_) manifest_.files.push_back(*entry);
  const std::string text = to_text(manifest_);
  // With it come the names of the other files: they are of the same folder.
  Status status =
      base::replace_file(files, fmt::format("{}/{}", path_, manifest_name), base::bytes_of(text));
  if (!status.ok()) return status;
  status = files.rename(path_, folder_.path_of(name_));
  if (!status.ok()) return status;
  gone_ = true;
  status = files.sync_folder(folder_.path_);
  if (!status.ok()) return status;
  const std::string latest = name_.text() + "\n";
  (void)base::replace_file(files, folder_.path_ + "/LATEST", base::bytes_of(latest));
  return name_;
}

Status remove_checkpoint(FileSystem& files, const std::string& path) {
  const std::string folder = base::folder_of(path);
  const std::string going = fmt::format("{}/{}{}", folder, kRemovingPrefix, last_name_of(path));
  // In the way if one of the same name was removed before, and not to its end.
  Status status = remove_folder_of_files(files, going);
  if (!status.ok() && status.code() != base::Code::not_found) return status;
  if (status = files.rename(path, going); !status.ok()) return status;
  if (status = files.sync_folder(folder); !status.ok()) return status;
  return remove_folder_of_files(files, going);
}

void clear_removed(FileSystem& files, const std::string& folder) {
  const auto entries = files.list(folder);
  if (!entries.ok()) return;
  for (const FolderEntry& entry : entries.value()) {
    if (!entry.is_folder || !std::string_view(entry.name).starts_with(kRemovingPrefix)) continue;
    (void)remove_folder_of_files(files, folder + "/" + entry.name);
  }
}

}  // namespace headway::checkpoint
