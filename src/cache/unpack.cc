#include "cache/unpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/parallel.h"
#include "base/plural.h"
#include "cache/library.h"
#include "cache/relocate.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view kStaging = ".headway-unpack";

// Of a path in the directory; that of the directory's own files is "".
std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// As far as it goes: what stays is in the way of nothing but the next one, who says so.
void remove_all(base::FileSystem& files, const std::string& folder) {
  auto entries = files.list(folder);
  if (!entries.ok()) return;
  for (const base::FolderEntry& entry : *entries) {
    const std::string path = folder + "/" + entry.name;
    if (entry.is_folder && !entry.is_link) {
      remove_all(files, path);
    } else {
      (void)files.remove_file(path);
    }
  }
  (void)files.remove_folder(folder);
}

Result<base::Sha256> digest_of(base::InputFile& file) {
  std::vector<std::byte> content(file.bytes());
  if (Status status = file.read(0, content); !status.ok()) return status;
  return base::sha256(content);
}

}  // namespace

std::vector<Target> targets_of(std::span<const Archive* const> archives, const Union& all,
                               const std::optional<PgoRule>& rule) {
  std::vector<Target> targets;
  std::vector<std::string> states;
  std::vector<std::size_t> state_targets;
  for (const Chosen& chosen : all.entries) {
    const Entry& entry = archives[chosen.archive]->index().entries[chosen.entry];
    if (!is_file_kind(entry.kind)) continue;
    if (entry.kind == Kind::pgo) {
      states.push_back(entry.path);
      state_targets.push_back(targets.size());
    }
    targets.push_back({entry.path, chosen});
  }
  if (!rule) return targets;
  for (PgoCopy& copy : plan_pgo(states, *rule)) {
    if (kind_of_path(copy.path) != Kind::pgo) continue;  // too long a name, with the tag
    targets.push_back({std::move(copy.path), targets[state_targets[copy.from]].from});
  }
  return targets;
}

Unpacker::Unpacker(base::FileSystem& files, std::string directory,
                   std::span<const Archive* const> archives, UnpackOptions options)
    : files_(files),
      directory_(std::move(directory)),
      archives_(archives),
      options_(std::move(options)) {
  HW_CHECK(directory_.starts_with('/'));
}

const Entry& Unpacker::entry_of(const Target& target) const {
  return archives_[target.from.archive]->index().entries[target.from.entry];
}

const ContentRecord& Unpacker::content_of(const Target& target) const {
  return archives_[target.from.archive]->index().contents[entry_of(target).content];
}

std::string Unpacker::place(const std::string& path) const {
  return path.empty() ? directory_ : directory_ + "/" + path;
}

std::string Unpacker::staged(const std::string& path) const {
  const std::string folder = fmt::format("{}/{}", directory_, kStaging);
  return path.empty() ? folder : folder + "/" + path;
}

Result<Unpacker::Need> Unpacker::need_of(const Target& target) const {
  auto file = files_.open(place(target.path));
  if (!file.ok() && file.status().code() == base::Code::not_found) return Need::write;
  if (!file.ok()) return file.status();
  const Entry& entry = entry_of(target);
  const ContentRecord& content = content_of(target);
  // What has been moved is written by nobody but Triton and us: there it stays.
  if (entry.relocated && (*file)->bytes() > 0) return Need::same;
  if ((*file)->bytes() == content.bytes) {
    const auto digest = digest_of(**file);
    if (!digest.ok()) return digest.status();
    if (digest.value() == content.sha256) return Need::same;
  }
  const bool damaged = (*file)->bytes() == 0 || is_named_by_content(entry.kind) ||
                       (entry.kind == Kind::library && is_damaged_library(**file));
  return damaged || options_.overwrite ? Need::write : Need::keep;
}

Status Unpacker::plan(std::vector<Target> targets) {
  // In a folder that is not there nothing has to be looked for. Where one should be that leads
  // elsewhere, somebody else's files would be replaced.
  std::map<std::string, bool> there;
  std::set<std::string> links;
  Status status;
  const auto is_there = [&](const std::string& folder, const auto& self) -> bool {
    const auto [known, first] = there.try_emplace(folder, false);
    if (!first || (!folder.empty() && !self(parent_of(folder), self))) return known->second;
    if (links.contains(folder)) {
      status = Status::invalid(place(folder) +
                               ": a link, which is not followed; remove it, or name another "
                               "directory");
      return false;
    }
    const auto listed = files_.list(place(folder));
    if (!listed.ok() && listed.status().code() != base::Code::not_found) status = listed.status();
    known->second = listed.ok();
    if (!listed.ok()) return false;
    for (const base::FolderEntry& entry : listed.value()) {
      if (entry.is_link) links.insert(folder.empty() ? entry.name : folder + "/" + entry.name);
    }
    return true;
  };
  std::vector<std::size_t> questions;
  std::vector<Need> needs(targets.size(), Need::write);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const bool may_be = is_there(parent_of(targets[i].path), is_there);
    if (!status.ok()) return status;
    // A link in place of a file is not what it leads to: a rename takes its place.
    if (may_be && !links.contains(targets[i].path)) questions.push_back(i);
  }
  std::atomic<bool> stop = false;
  status = base::in_parallel(questions.size(), options_.threads, stop,
                             [&](std::size_t, std::size_t i) -> Status {
                               auto need = need_of(targets[questions[i]]);
                               if (need.ok()) needs[questions[i]] = *need;
                               return need.status();
                             });
  if (!status.ok()) return status;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (needs[i] == Need::write) wanted_.push_back(std::move(targets[i]));
    done_.same += needs[i] == Need::same ? 1 : 0;
    done_.kept += needs[i] == Need::keep ? 1 : 0;
  }
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    files_of_[parent_of(wanted_[i].path)].push_back(i);
  }
  for (const auto& [folder, files] : files_of_) {
    for (std::string each = folder; !each.empty(); each = parent_of(each)) {
      folders_[parent_of(each)].insert(each);
    }
  }
  return {};
}

std::uint64_t Unpacker::bytes_to_write() const {
  std::uint64_t bytes = 0;
  for (const Target& target : wanted_) bytes += content_of(target).bytes;
  return bytes;
}

Status Unpacker::stage_folders() {
  if (Status status = files_.make_folder(staged("")); !status.ok()) return status;
  for (const auto& [above, folders] : folders_) {  // sorted: a folder comes before what is in it
    for (const std::string& folder : folders) {
      if (Status status = files_.make_folder(staged(folder)); !status.ok()) return status;
    }
  }
  return {};
}

Status Unpacker::stage_one(const Target& target, std::span<const std::byte> content) {
  const Entry& entry = entry_of(target);
  std::string moved;
  if (entry.relocated) {
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    moved = with_place(base::folder_of(place(target.path)), text);
    content = base::bytes_of(moved);
  }
  auto file = files_.create(staged(target.path), {.executable = entry.executable});
  if (!file.ok()) return file.status();
  Status status = (*file)->write(0, content);
  if (Status closed = (*file)->close(); status.ok()) status = closed;
  return status;
}

Status Unpacker::stage(std::size_t archive, std::uint32_t segment,
                       std::span<const std::size_t> wanted, SegmentBuffers& buffers) {
  const Archive& from = *archives_[archive];
  const Segment& part = from.segments()[segment];
  auto raw = from.unpack(part, buffers);
  if (!raw.ok()) return raw.status();
  std::vector<std::uint64_t> begins{0};
  for (std::uint32_t i = 0; i < part.contents; ++i) {
    begins.push_back(begins.back() + from.index().contents[part.first_content + i].bytes);
  }
  for (const std::size_t each : wanted) {
    const Entry& entry = entry_of(wanted_[each]);
    const std::uint32_t content = entry.content - part.first_content;
    const auto bytes = raw->subspan(begins[content], begins[content + 1] - begins[content]);
    if (entry.kind == Kind::library && is_damaged_library(bytes)) {
      left_out_[each] = 1;
      continue;
    }
    if (Status status = stage_one(wanted_[each], bytes); !status.ok()) return status;
  }
  return {};
}

Status Unpacker::stage_all() {
  // Each segment is unpacked once, for all the files that want something of it.
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<std::size_t>> work;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const std::size_t archive = wanted_[i].from.archive;
    work[{archive, archives_[archive]->segment_of(entry_of(wanted_[i]).content)}].push_back(i);
  }
  std::vector<const decltype(work)::value_type*> order;
  for (const auto& each : work) order.push_back(&each);
  std::vector<SegmentBuffers> buffers(options_.threads);
  std::atomic<bool> stop = false;
  std::mutex mutex;
  return base::in_parallel(
      order.size(), options_.threads, stop, [&](std::size_t worker, std::size_t i) -> Status {
        const auto& [where, wanted] = *order[i];
        Status status = stage(where.first, where.second, wanted, buffers[worker]);
        if (!status.ok() || !options_.progress) return status;
        const std::lock_guard lock(mutex);
        std::uint64_t bytes = 0;
        for (const std::size_t each : wanted) bytes += content_of(wanted_[each]).bytes;
        options_.progress(bytes);
        return {};
      });
}

Status Unpacker::rename_below(const std::string& folder) {
  for (const std::size_t each : files_of_[folder]) {
    if (left_out_[each] != 0) continue;
    const std::string& path = wanted_[each].path;
    if (Status status = files_.rename(staged(path), place(path)); !status.ok()) return status;
    done_.written += 1;
    done_.written_bytes += content_of(wanted_[each]).bytes;
  }
  for (const std::string& each : folders_[folder]) {
    // One that is empty, or not there, takes all in one call. A compiler may make it meanwhile.
    if (files_.rename(staged(each), place(each)).ok()) {
      count_below(each);
      continue;
    }
    if (Status status = files_.make_folder(place(each)); !status.ok()) return status;
    if (Status status = rename_below(each); !status.ok()) return status;
  }
  return {};
}

void Unpacker::count_below(const std::string& folder) {
  for (const std::size_t each : files_of_[folder]) {
    if (left_out_[each] != 0) continue;
    done_.written += 1;
    done_.written_bytes += content_of(wanted_[each]).bytes;
  }
  for (const std::string& each : folders_[folder]) count_below(each);
}

// Of one who died here. What is no folder of ours, but leads somewhere, is not followed.
void Unpacker::clear_waste() {
  auto entries = files_.list(directory_);
  if (!entries.ok()) return;
  const auto waste = std::ranges::find(*entries, kStaging, &base::FolderEntry::name);
  if (waste == entries->end()) return;
  if (waste->is_folder && !waste->is_link) {
    remove_all(files_, staged(""));
  } else {
    (void)files_.remove_file(staged(""));
  }
}

Result<Unpacked> Unpacker::execute() {
  if (wanted_.empty()) return done_;
  clear_waste();
  left_out_.assign(wanted_.size(), 0);
  Status status = stage_folders();
  if (status.ok()) status = stage_all();
  done_.damaged = static_cast<std::size_t>(std::ranges::count(left_out_, 1));
  if (status.ok()) status = rename_below("");
  remove_all(files_, staged(""));
  if (status.ok()) return done_;
  if (status.code() != base::Code::no_space) return status;
  return Status(base::Code::no_space,
                fmt::format("{}: no room for the {} bytes of {}; free some, or name another "
                            "directory ({})",
                            directory_, bytes_to_write(), base::plural(wanted_.size(), "file"),
                            status.message()));
}

}  // namespace headway::cache
