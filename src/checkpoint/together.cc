#include "checkpoint/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "base/check.h"
#include "checkpoint/look.h"

namespace headway::checkpoint {
namespace {

using base::Code;
using base::FileSystem;
using base::FolderEntry;
using base::Result;
using base::Status;

constexpr std::string_view kEnd = "-end";
constexpr std::string_view kPart = "part-";
constexpr std::string_view kHave = "have-";
constexpr std::string_view kFailed = "failed-";
constexpr std::string_view kFull = "full-";
constexpr std::string_view kAlive = "alive-";
constexpr int kTellAgain = 100;
constexpr int kTouchAgain = 3;

// A number at the text's front, which goes, with the dash behind it.
std::optional<std::uint64_t> take_number(std::string_view& text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('-')) text.remove_prefix(1);
  return value;
}

// An empty file; one that is there already is as good.
Status touch(FileSystem& files, const std::string& path) {
  Status status;
  for (int i = 0; i < kTouchAgain; ++i) {
    auto file = files.create(path, {});
    if (file.ok()) return (*file)->close();
    status = file.status();
    const Status there = files.open(path).status();
    if (there.ok()) return {};
    // In the way, and gone when it was looked at: others remove such folders with all in them.
    const bool went = there.code() == Code::not_found && status.code() == Code::io_error;
    if (!went) break;
  }
  return status;
}

std::uint32_t lowest_rank(const Manifest& part) {
  HW_CHECK(!part.files.empty());
  return std::min_element(part.files.begin(), part.files.end(),
                          [](const auto& a, const auto& b) { return a.rank < b.rank; })
      ->rank;
}

std::string have_name(std::uint32_t rank) {
  return fmt::format("{}{:05}", kHave, rank);
}

bool same_file(const ManifestFile& a, const ManifestFile& b) {
  return a.name == b.name && a.rank == b.rank && a.bytes == b.bytes &&
         a.chunk_bytes == b.chunk_bytes && a.crc32c == b.crc32c;
}

// Every file of `some` is one of `all`.
bool contains_files(const Manifest& all, const Manifest& some) {
  return std::all_of(some.files.begin(), some.files.end(), [&](const ManifestFile& one) {
    return std::any_of(all.files.begin(), all.files.end(),
                       [&](const ManifestFile& other) { return same_file(one, other); });
  });
}

// Its files have their sizes; a manifest need not be there.
Status check_sizes(FileSystem& files, const std::string& path, const Manifest& manifest) {
  Status first;
  Status listed =
      find_bad_files(files, path, manifest, [&](const ManifestFile* file, Status status) {
        if (file != nullptr && first.ok()) first = std::move(status);
      });
  return listed.ok() ? first : listed;
}

}  // namespace

std::string PartsName::text() const {
  return fmt::format("{}{}-{}-{:016x}{}", parts_prefix, attempt, step, run, end ? kEnd : "");
}

std::optional<PartsName> PartsName::parse(std::string_view text) {
  const std::string_view whole = text;
  if (!text.starts_with(parts_prefix)) return std::nullopt;
  text.remove_prefix(parts_prefix.size());
  const auto attempt = take_number(text);
  const auto step = take_number(text);
  const auto run = take_number(text, 16);
  if (!attempt || !step || !run) return std::nullopt;
  const PartsName name{*attempt, *step, !text.empty(), *run};
  return name.text() == whole ? std::optional(name) : std::nullopt;
}

Together::Together(CheckpointFolder& folder, const PartsName& name, Manifest part)
    : folder_(folder),
      files_(folder.files()),
      name_(name),
      path_(folder.path() + "/" + name.text()),
      part_(std::move(part)),
      lowest_(lowest_rank(part_)) {}

std::string Together::part_name() const {
  return fmt::format("{}{:05}.json", kPart, lowest_);
}

bool Together::is_ours(const Manifest& manifest) const {
  return manifest.step == part_.step && manifest.attempt == part_.attempt &&
         manifest.world_size == part_.world_size && manifest.data == part_.data &&
         manifest.base.empty();
}

Result<std::optional<CheckpointName>> Together::find_committed() const {
  const auto names = folder_.list();
  if (!names.ok()) return names.status();
  for (const CheckpointName& name : names.value()) {
    if (name.step != part_.step) continue;
    const auto manifest = folder_.read(name);
    if (manifest.ok() && is_ours(manifest.value()) && contains_files(manifest.value(), part_)) {
      return std::optional(name);
    }
  }
  return std::optional<CheckpointName>();
}

Result<std::optional<CheckpointName>> Together::begin(std::uint64_t newest_attempt) {
  if (Status status = make_folders(files_, folder_.path()); !status.ok()) return status;
  if (leads()) {
    const auto is_waste = [&](std::string_view text) {
      const auto other = PartsName::parse(text);
      if (!other || *other == name_) return !other;
      if (other->attempt == name_.attempt && other->run != name_.run) return true;
      return *other < name_ || other->attempt > newest_attempt;
    };
    auto draft = Draft::over(folder_, part_, name_.text(), is_waste);
    if (!draft.ok()) return draft.status();
    draft_ = std::move(*draft);
  }
  if (Status status = files_.make_folder(path_); !status.ok()) return status;
  if (!is_published()) {
    // Of the same step, but not of this state: nobody may take it for ours.
    const Status gone = files_.remove_file(path_ + "/" + part_name());
    if (!gone.ok() && gone.code() != Code::not_found) return gone;
  }
  return look();
}

bool Together::is_published() const {
  const std::string path = path_ + "/" + part_name();
  const auto text = base::read_all(files_, path, manifest_bytes_max);
  if (!text.ok()) return false;
  const auto there = parse_manifest(text.value(), path);
  return there.ok() && is_ours(there.value()) && contains_files(there.value(), part_) &&
         there.value().files.size() == part_.files.size() && check_sizes(files_, path_, part_).ok();
}

Result<std::unique_ptr<DraftFile>> Together::add(const std::string& name) {
  const auto entry = std::find_if(part_.files.begin(), part_.files.end(),
                                  [&](const ManifestFile& file) { return file.name == name; });
  HW_CHECK(entry != part_.files.end());
  const std::string path = path_ + "/" + name;
  if (Status gone = files_.remove_file(path); !gone.ok() && gone.code() != Code::not_found) {
    return gone;
  }
  auto file = files_.create(path, {entry->bytes, true});
  if (!file.ok()) return file.status();
  written_ = {.name = name, .chunk_bytes = entry->chunk_bytes, .crc32c = {}, .rank = entry->rank};
  return std::make_unique<DraftFile>(std::move(*file), written_);
}

Status Together::publish() {
  // With it come the names of the files that it is about: they are of the same folder.
  const std::string text = to_text(part_);
  return base::replace_file(files_, path_ + "/" + part_name(), base::bytes_of(text));
}

Status Together::read_part(const std::string& name) {
  const std::string path = path_ + "/" + name;
  const auto text = base::read_all(files_, path, manifest_bytes_max);
  if (!text.ok()) return {};  // the next look will tell
  auto part = parse_manifest(text.value(), path);
  if (!part.ok()) return part.status();
  if (!is_ours(*part) || part->files.empty()) {
    return Status::corrupt(path + ": of another step, or of another number of ranks");
  }
  parts_.emplace(name, std::move(*part));
  return {};
}

Result<std::optional<CheckpointName>> Together::look() {
  if (!leads()) {
    // Also if its folder is there: whoever came after one that died may have made it again.
    auto committed = find_committed();
    if (!committed.ok() || *committed) return committed;
  }
  auto entries = files_.list(path_);
  if (!entries.ok()) {
    if (entries.status().code() != Code::not_found) return entries.status();
    auto committed = find_committed();  // it may have come between the two
    if (!committed.ok() || *committed) return committed;
    return Status::io(fmt::format("{}: gone, the machine of rank 0 has given it up", path_));
  }
  const std::string own_beat = fmt::format("{}{:05}-", kAlive, lowest_);
  const std::string first_beat = fmt::format("{}{:05}-", kAlive, 0);
  signs_.clear();
  for (const FolderEntry& entry : *entries) {
    const std::string& name = entry.name;
    const bool full = name.starts_with(kFull);
    if (full || name.starts_with(kFailed)) {
      const Code code = full ? Code::no_space : Code::io_error;
      return Status(code, fmt::format("{}/{}: that machine {}", path_, name,
                                      full ? "has no room for it" : "has given it up"));
    }
    if (leads() && name.starts_with(kPart) && name.ends_with(".json") && !parts_.contains(name)) {
      if (Status status = read_part(name); !status.ok()) return status;
    }
    // Who has done its part, or waits like us, is no reason to wait.
    const bool alive = name.starts_with(kAlive);
    const std::string who =
        alive ? name.substr(kAlive.size(), name.rfind('-') - kAlive.size()) : "";
    const bool is_done = alive && parts_.contains(fmt::format("{}{}.json", kPart, who));
    const bool counts =
        leads() ? !name.starts_with(own_beat) && !is_done : name.starts_with(first_beat);
    if (counts) signs_ += fmt::format("{} {};", name, entry.bytes);
  }
  return leads() && draft_ ? commit() : Result<std::optional<CheckpointName>>(std::nullopt);
}

std::string Together::missing() const {
  if (!leads()) return "rank 0";
  std::set<std::uint32_t> ranks;
  for (const auto& [name, part] : parts_) {
    for (const ManifestFile& file : part.files) ranks.insert(file.rank);
  }
  std::uint32_t first = 0;
  while (ranks.contains(first)) ++first;
  const std::size_t count = part_.world_size - ranks.size();
  return count > 1 ? fmt::format("rank {} and {} more", first, count - 1)
                   : fmt::format("rank {}", first);
}

// None: parts are missing.
Result<std::optional<CheckpointName>> Together::commit() {
  Manifest all = part_;
  all.files.clear();
  std::set<std::uint32_t> ranks;
  std::set<std::string> names;
  for (const auto& [name, part] : parts_) {
    all.time_ns = std::max(all.time_ns, part.time_ns);
    for (const ManifestFile& file : part.files) {
      ranks.insert(file.rank);
      if (!names.insert(file.name).second) {
        return Status::corrupt(fmt::format("{}/{}: two machines wrote it", path_, file.name));
      }
      all.files.push_back(file);
    }
  }
  if (!parts_.contains(part_name()) || ranks.size() != part_.world_size) {
    return std::optional<CheckpointName>();
  }
  // After the file server's end a part may be there without its files: its machine writes it anew.
  const std::size_t before = parts_.size();
  std::erase_if(parts_,
                [&](const auto& part) { return !check_sizes(files_, path_, part.second).ok(); });
  if (parts_.size() != before) return std::optional<CheckpointName>();
  std::sort(all.files.begin(), all.files.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (ManifestFile& file : all.files) draft_->take(std::move(file));
  auto committed = draft_->commit();
  if (!committed.ok()) return committed.status();
  // What the machines said to each other is of no use any more; nor does it harm.
  const std::string path = folder_.path_of(*committed);
  if (auto entries = files_.list(path); entries.ok()) {
    for (const FolderEntry& entry : *entries) {
      const bool stays = entry.name == manifest_name || names.contains(entry.name);
      if (!stays) (void)files_.remove_file(path + "/" + entry.name);
    }
  }
  return std::optional(*committed);
}

void Together::remove_own() {
  (void)files_.remove_file(path_ + "/" + part_name());
  for (const ManifestFile& file : part_.files) (void)files_.remove_file(path_ + "/" + file.name);
}

void Together::fail(bool full) {
  remove_own();                     // there may be no room for a mark otherwise
  (void)files_.make_folder(path_);  // it may have failed before that
  const std::string mark = fmt::format("{}{:05}", full ? kFull : kFailed, lowest_);
  const Status marked = touch(files_, path_ + "/" + mark);
  if (!leads()) return;
  auto entries = files_.list(path_);
  if (!entries.ok()) return;
  for (const FolderEntry& entry : *entries) {
    if (entry.name != mark) (void)files_.remove_file(path_ + "/" + entry.name);
  }
  if (!marked.ok()) (void)files_.remove_folder(path_);
}

void Together::beat() {
  const auto path = [&](std::uint64_t number) {
    return fmt::format("{}/{}{:05}-{:05}", path_, kAlive, lowest_, number);
  };
  (void)touch(files_, path(beats_ + 1));
  if (beats_ > 0) (void)files_.remove_file(path(beats_));
  ++beats_;
}

Status Together::tell_have(CheckpointFolder& folder, const PartsName& name, const Manifest& part) {
  const std::string path = folder.path() + "/" + name.text();
  if (Status status = make_folders(folder.files(), folder.path()); !status.ok()) return status;
  const auto tell = [&] {
    Status status = folder.files().make_folder(path);
    for (const ManifestFile& file : part.files) {
      if (status.ok()) status = touch(folder.files(), path + "/" + have_name(file.rank));
    }
    return status;
  };
  Status status = tell();
  // Somebody took it away, for whom it was empty, or who has seen that all have a newer one.
  for (int i = 0; i < kTellAgain && status.code() == Code::not_found; ++i) status = tell();
  return status;
}

Result<bool> Together::all_have(const CheckpointFolder& folder, const PartsName& name,
                                std::uint32_t world_size) {
  auto entries = folder.files().list(folder.path() + "/" + name.text());
  if (!entries.ok()) {
    if (entries.status().code() == Code::not_found) return false;
    return entries.status();
  }
  std::set<std::string_view> names;
  for (const FolderEntry& entry : *entries) names.insert(entry.name);
  std::uint32_t rank = 0;
  while (rank < world_size && names.contains(have_name(rank))) ++rank;
  return rank == world_size;
}

void Together::untell_have(CheckpointFolder& folder, const PartsName& name, const Manifest& part) {
  const std::string path = folder.path() + "/" + name.text();
  for (const ManifestFile& file : part.files) {
    (void)folder.files().remove_file(path + "/" + have_name(file.rank));
  }
  (void)folder.files().remove_folder(path);  // if it is empty
}

}  // namespace headway::checkpoint
