#include "cache/job_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/plural.h"
#include "cache/collect.h"
#include "cache/library.h"
#include "cache/pack.h"
#include "cache/restore.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

// Files that are written again under the same name, of the same length perhaps; small ones.
bool is_rewritten(Kind kind) {
  return kind == Kind::pgo || kind == Kind::autotune || kind == Kind::selection;
}

// Somebody thinned out the shelf while we read: what took the archive's place is there by now.
bool is_gone(const Status& status) {
  return status.code() == base::Code::not_found || status.code() == base::Code::corrupt;
}

std::string libraries(std::size_t count) {
  return base::plural(count, "library", "libraries");
}

std::string_view were(std::size_t count) {
  return count == 1 ? "was" : "were";
}

std::vector<const Archive*> pointers(const Pulled& pulled) {
  std::vector<const Archive*> archives;
  for (const auto& archive : pulled.archives) archives.push_back(archive.get());
  return archives;
}

// The archives of one binding: what other jobs keep on the shelf is not looked at.
class OneFolder final : public Shelf {
 public:
  OneFolder(Shelf& shelf, std::string folder) : shelf_(shelf), folder_(std::move(folder)) {}
  Result<std::vector<Shelved>> list(const std::string& folder) override {
    return shelf_.list(folder.empty() ? folder_ : folder);
  }
  Result<bool> put(const std::string& path, const std::string& name) override {
    return shelf_.put(path, name);
  }
  Result<std::string> fetch(const Shelved& one, const std::string& scratch) override {
    return shelf_.fetch(one, scratch);
  }
  Result<Binding> binding_of(const Shelved& one) override { return shelf_.binding_of(one); }
  Status remove(const std::string& name) override { return shelf_.remove(name); }
  [[nodiscard]] std::string place(const std::string& name) const override {
    return shelf_.place(name);
  }

 private:
  Shelf& shelf_;
  const std::string folder_;
};

}  // namespace

Result<Pulled> JobCache::fetch() {
  return cache::pull(shelf_, plan_.binding, plan_.trust, plan_.limits, plan_.scratch,
                     plan_.threads);
}

// Something could not be read, and the shelf no longer holds as many as it did: another job has
// made one archive of several.
bool JobCache::has_changed(const Pulled& pulled) {
  if (pulled.notes.empty()) return false;
  const auto now = shelf_.list(shelf_folder(plan_.binding));
  return now.ok() &&
         now.value().size() != pulled.archives.size() + pulled.notes.size() + pulled.beyond;
}

Result<Unpacked> JobCache::unpack(const Pulled& pulled) {
  if (pulled.archives.empty()) return Unpacked{};
  return restore(plan_.directory, pointers(pulled), plan_.pgo,
                 {.threads = plan_.threads,
                  .overwrite = false,
                  .progress = {},
                  .environment = plan_.binding.environment});
}

Result<JobPulled> JobCache::pull() {
  const Scan before = present();
  if (plan_.only_additions) {
    for (const CacheFile& file : before.files) note(file.path, file.kind, file.bytes);
  }
  auto pulled = fetch();
  if (!pulled.ok()) return pulled.status();
  auto unpacked = unpack(*pulled);
  if ((!unpacked.ok() && is_gone(unpacked.status())) || has_changed(*pulled)) {
    pulled = fetch();
    if (!pulled.ok()) return pulled.status();
    unpacked = unpack(*pulled);
  }
  JobPulled done;
  done.archives = pulled->archives.size();
  done.bytes = pulled->bytes;
  done.notes = std::move(pulled->notes);
  if (pulled->beyond > 0) {
    done.notes.push_back(base::plural(pulled->beyond, "archive more is", "archives more are") +
                         " there than are taken; `headway cache gc` makes one of all");
  }
  note_shelved(*pulled, unpacked.ok() ? unpacked->renamed : Renamed{});
  if (!unpacked.ok()) return unpacked.status();
  done.written = unpacked->written;
  done.written_bytes = unpacked->written_bytes;
  done.same = unpacked->same;
  if (unpacked->missed > 0) {
    done.notes.push_back(fmt::format(
        "{} for torch in {}, and here it is in {}: compiled again", libraries(unpacked->missed),
        pulled->archives.front()->binding().environment, plan_.binding.environment));
  }
  if (unpacked->damaged > 0) {
    done.notes.push_back(fmt::format("{} that others have shared {} damaged and left out",
                                     libraries(unpacked->damaged), were(unpacked->damaged)));
  }
  remove_damaged(before, done);
  note_states(before, *pulled);
  return done;
}

// What is on the shelf is there, whether or not it could be unpacked here. What is there only for
// others (another family, another processor) the next job of ours would not find beside ours: it is
// put there for them, but is no news.
void JobCache::note_shelved(const Pulled& pulled, const Renamed& renamed) {
  const bool ours = pulled.same_binding && pulled.family == plan_.binding.family;
  const std::map<std::string, std::string> names(renamed.begin(), renamed.end());
  const std::vector<const Archive*> archives = pointers(pulled);
  // Of a path that several have, the one that is unpacked.
  for (const Chosen& chosen : unite(archives).entries) {
    const Index& index = archives[chosen.archive]->index();
    const Entry& entry = index.entries[chosen.entry];
    const ContentRecord& content = index.contents[entry.content];
    const auto name = names.find(entry.path);
    (ours ? known_ : of_others_)
        .insert_or_assign(name == names.end() ? entry.path : name->second,
                          Known{content.bytes, entry.relocated, content.sha256});
  }
  for (const Archive* archive : archives) {
    const std::vector<std::string>& told = archive->binding().commands;
    if (pulled.same_binding && !commands_ && !told.empty()) commands_ = told;
  }
}

const std::vector<std::string>& JobCache::commands() {
  if (!commands_) {
    commands_ = plan_.ask_commands ? plan_.ask_commands() : std::vector<std::string>();
  }
  return *commands_;
}

// All that is there, what a compiler is just writing included. The one walk before the ranks start:
// it opens every library.
Scan JobCache::present() const {
  auto scan = scan_directory(base::real_file_system(), plan_.directory,
                             [](const std::string&) { return false; });
  return scan.ok() ? std::move(*scan) : Scan{};  // nothing is there yet
}

// torch would load them, and the job end. What has been unpacked in their place meanwhile is whole,
// and those that a compiler is just writing will be.
void JobCache::remove_damaged(const Scan& before, JobPulled& done) {
  base::FileSystem& files = base::real_file_system();
  const IsLocked is_locked = lock_probe(plan_.directory);
  std::size_t removed = 0;
  for (const std::string& path : before.damaged) {
    const std::string place = plan_.directory + "/" + path;
    auto file = files.open(place);
    if (!file.ok() || !is_damaged_library(**file) || is_locked(lock_name(path))) continue;
    removed += files.remove_file(place).ok() ? 1 : 0;
  }
  if (removed == 0) return;
  done.notes.push_back(fmt::format("{} in {} {} damaged and will be compiled again",
                                   libraries(removed), plan_.directory, were(removed)));
}

// Profiles that are there before the ranks start are no news of theirs: those of other jobs have
// come under this one's name.
void JobCache::note_states(const Scan& before, const Pulled& pulled) {
  for (const CacheFile& file : before.files) {
    if (file.kind == Kind::pgo) note(file.path, file.kind, file.bytes);
  }
  const std::vector<const Archive*> archives = pointers(pulled);
  for (const Target& target : targets_of(archives, unite(archives), plan_.pgo)) {
    if (kind_of_path(target.path) != Kind::pgo) continue;
    auto file = base::real_file_system().open(plan_.directory + "/" + target.path);
    if (file.ok()) note(target.path, Kind::pgo, (*file)->bytes());
  }
}

std::optional<base::Sha256> JobCache::digest_of(const std::string& path) const {
  auto content =
      base::read_all(base::real_file_system(), plan_.directory + "/" + path, content_bytes_max);
  if (!content.ok()) return std::nullopt;
  return base::sha256(base::bytes_of(*content));
}

void JobCache::note(const std::string& path, Kind kind, std::uint64_t bytes) {
  known_.insert_or_assign(path,
                          Known{bytes, false, is_rewritten(kind) ? digest_of(path) : std::nullopt});
}

bool JobCache::is_in(const KnownFiles& files, const CacheFile& file) const {
  const auto known = files.find(file.path);
  if (known == files.end()) return false;
  if (known->second.any_bytes) return true;
  if (known->second.bytes != file.bytes) return false;
  return !is_rewritten(file.kind) || known->second.sha256 == digest_of(file.path);
}

Result<JobPushed> JobCache::push() {
  base::FileSystem& files = base::real_file_system();
  if (!plan_.key) return Status::invalid("there is no key to sign with: `headway cache keygen`");
  auto scan = scan_directory(files, plan_.directory, lock_probe(plan_.directory));
  if (scan.status().code() == base::Code::not_found) return JobPushed{};  // nothing was compiled
  if (!scan.ok()) return scan.status();
  std::erase_if(scan->files, [this](const CacheFile& file) { return is_in(known_, file); });
  JobPushed done;
  if (scan->files.empty()) return done;
  const auto passed_on = std::ranges::count_if(
      scan->files, [this](const CacheFile& file) { return is_in(of_others_, file); });
  Binding binding = plan_.binding;
  binding.created_ns = base::real_ns();
  const bool any_library = std::ranges::any_of(
      scan->files, [](const CacheFile& file) { return file.kind == Kind::library; });
  if (any_library) binding.commands = commands();
  const std::string path = fmt::format("{}/new-{}.hwc", plan_.scratch, packed_++);
  auto packed = pack_directory(files, plan_.directory, *scan, binding, files, path,
                               {.threads = plan_.threads, .key = &*plan_.key, .progress = {}});
  if (!packed.ok()) return packed.status();
  auto archive = Archive::open(files, path);
  if (!archive.ok()) return archive.status();
  auto pushed = cache::push(**archive, shelf_, plan_.threads);
  if (pushed.ok()) {
    for (const Entry& entry : (*archive)->index().entries) {
      const ContentRecord& content = (*archive)->index().contents[entry.content];
      known_.insert_or_assign(entry.path, Known{content.bytes, entry.relocated, content.sha256});
    }
    done.files = packed->entries;
    done.passed_on = std::min(done.files, static_cast<std::size_t>(passed_on));
    done.raw_bytes = packed->raw_bytes;
    done.file_bytes = packed->file_bytes;
    done.place = pushed->place;
  }
  archive->reset();
  (void)files.remove_file(path);
  if (!pushed.ok()) return pushed.status();
  thin_out(done);
  return done;
}

// Many small ones would fill up what a pull may take. Only those of our own key become one of our
// own key: who trusts another's must not lose it. A failure here costs nobody anything.
void JobCache::thin_out(JobPushed& done) {
  if (plan_.merge_min == 0 && !plan_.shelf_bytes_max) return;
  OneFolder folder(shelf_, shelf_folder(plan_.binding));
  CollectOptions options{.now_ns = base::real_ns(),
                         .merge_min = plan_.merge_min,
                         .trust = {{plan_.key->public_key()}, false},
                         .key = &*plan_.key,
                         .threads = plan_.threads};
  auto merged = collect(folder, options, plan_.scratch);
  if (merged.ok()) {
    done.merged = merged->merged;
  } else {
    done.notes.push_back(merged.status().message());
  }
  if (!plan_.shelf_bytes_max) return;
  options.merge_min = 0;
  options.bytes_max = plan_.shelf_bytes_max;
  auto fitted = collect(shelf_, options, plan_.scratch);
  if (!fitted.ok()) done.notes.push_back(fitted.status().message());
}

}  // namespace headway::cache
