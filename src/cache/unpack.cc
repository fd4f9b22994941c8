#include "cache/unpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "base/check.h"
#include "base/parallel.h"
#include "cache/relocate.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view kStaging = ".headway-unpack";

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

std::string Unpacker::staged(std::size_t wanted) const {
  return fmt::format("{}/{}/{}", directory_, kStaging, wanted);
}

Result<Unpacker::Need> Unpacker::need_of(const Target& target) const {
  const std::string path = directory_ + "/" + target.path;
  auto file = files_.open(path);
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
  const bool damaged = (*file)->bytes() == 0 || is_named_by_content(entry.kind);
  return damaged || options_.overwrite ? Need::write : Need::keep;
}

Status Unpacker::plan(std::vector<Target> targets) {
  std::vector<Need> needs(targets.size());
  std::atomic<bool> stop = false;
  Status status = base::in_parallel(targets.size(), options_.threads, stop,
                                    [&](std::size_t, std::size_t i) -> Status {
                                      auto need = need_of(targets[i]);
                                      if (need.ok()) needs[i] = *need;
                                      return need.status();
                                    });
  if (!status.ok()) return status;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (needs[i] == Need::write) wanted_.push_back(std::move(targets[i]));
    done_.same += needs[i] == Need::same ? 1 : 0;
    done_.kept += needs[i] == Need::keep ? 1 : 0;
  }
  return {};
}

std::uint64_t Unpacker::bytes_to_write() const {
  std::uint64_t bytes = 0;
  for (const Target& target : wanted_) bytes += content_of(target).bytes;
  return bytes;
}

Status Unpacker::verify(const Progress& progress) const {
  for (const Archive* archive : archives_) {
    Status status = archive->verify(options_.threads, false, progress);
    if (!status.ok()) return status;
  }
  return {};
}

Status Unpacker::stage_one(std::size_t wanted, std::span<const std::byte> content) {
  const Target& target = wanted_[wanted];
  const Entry& entry = entry_of(target);
  std::string moved;
  if (entry.relocated) {
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    moved = with_place(base::folder_of(directory_ + "/" + target.path), text);
    content = base::bytes_of(moved);
  }
  auto file = files_.create(staged(wanted), {.executable = entry.executable});
  if (!file.ok()) return file.status();
  Status status = (*file)->write(0, content);
  if (Status closed = (*file)->close(); status.ok()) status = closed;
  return status;
}

Status Unpacker::stage(std::size_t archive, std::uint32_t segment,
                       std::span<const std::size_t> wanted) {
  const Archive& from = *archives_[archive];
  const Segment& part = from.segments()[segment];
  const auto raw = from.read_raw(part);
  if (!raw.ok()) return raw.status();
  std::vector<std::uint64_t> begins{0};
  for (std::uint32_t i = 0; i < part.contents; ++i) {
    begins.push_back(begins.back() + from.index().contents[part.first_content + i].bytes);
  }
  for (const std::size_t each : wanted) {
    const std::uint32_t content = entry_of(wanted_[each]).content - part.first_content;
    Status status = stage_one(
        each,
        std::span(raw.value()).subspan(begins[content], begins[content + 1] - begins[content]));
    if (!status.ok()) return status;
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
  std::atomic<bool> stop = false;
  std::mutex mutex;
  return base::in_parallel(
      order.size(), options_.threads, stop, [&](std::size_t, std::size_t i) -> Status {
        const auto& [where, wanted] = *order[i];
        if (Status status = stage(where.first, where.second, wanted); !status.ok()) return status;
        if (!options_.progress) return {};
        const std::lock_guard lock(mutex);
        std::uint64_t bytes = 0;
        for (const std::size_t each : wanted) bytes += content_of(wanted_[each]).bytes;
        options_.progress(bytes);
        return {};
      });
}

Status Unpacker::rename_all() {
  std::set<std::string> known;
  const auto make = [&](const std::string& folder, const auto& self) -> Status {
    if (folder == directory_ || !known.insert(folder).second) return {};
    if (Status above = self(base::folder_of(folder), self); !above.ok()) return above;
    const bool was_there = files_.list(folder).ok();
    if (was_there) return {};
    Status status = files_.make_folder(folder);
    if (status.ok()) made_.push_back(folder);
    return status;
  };
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    Status status = make(base::folder_of(directory_ + "/" + wanted_[i].path), make);
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    Status status = files_.rename(staged(i), directory_ + "/" + wanted_[i].path);
    if (!status.ok()) return status;
    ++done_.written;
    done_.written_bytes += content_of(wanted_[i]).bytes;
  }
  return {};
}

void Unpacker::clear_staging() {
  const std::string folder = fmt::format("{}/{}", directory_, kStaging);
  auto entries = files_.list(folder);
  if (!entries.ok()) return;
  for (const base::FolderEntry& entry : *entries) {
    (void)files_.remove_file(folder + "/" + entry.name);
  }
  (void)files_.remove_folder(folder);
}

Result<Unpacked> Unpacker::execute() {
  if (wanted_.empty()) return done_;
  clear_staging();  // of one who died here
  Status status = files_.make_folder(fmt::format("{}/{}", directory_, kStaging));
  if (status.ok()) status = stage_all();
  if (status.ok()) status = rename_all();
  clear_staging();
  if (status.ok()) return done_;
  // Folders that nobody has put anything into meanwhile go with what was to be in them.
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
    (void)files_.remove_folder(*folder);
  }
  if (status.code() != base::Code::no_space) return status;
  return Status(base::Code::no_space,
                fmt::format("{}: no room for the {} bytes of {} files; free some, or name another "
                            "directory ({})",
                            directory_, bytes_to_write(), wanted_.size(), status.message()));
}

}  // namespace headway::cache
