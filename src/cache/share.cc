#include "cache/share.h"

#include <algorithm>
#include <map>
#include <optional>

namespace headway::cache {

using base::Result;
using base::Status;

Result<Pushed> push(const Archive& archive, Shelf& shelf, std::size_t threads) {
  if (Status status = archive.verify(threads, false); !status.ok()) return status;
  const std::string name = shelf_name(archive.binding(), archive.index());
  auto put = shelf.put(archive.path(), name);
  if (!put.ok()) return put.status();
  return Pushed{shelf.place(name), !*put};
}

Result<std::unique_ptr<Archive>> take(Shelf& shelf, const Shelved& one, const Trust& trust,
                                      const std::string& scratch, std::size_t threads) {
  auto path = shelf.fetch(one, scratch);
  if (!path.ok()) return path.status();
  auto archive = Archive::open(base::real_file_system(), *path);
  if (!archive.ok()) return archive;
  const std::string place = shelf.place(one.name);
  if (Status status = check_trust((*archive)->front(), trust, place); !status.ok()) return status;
  // Somebody who may write here must not pass one binding off as another.
  if (shelf_name((*archive)->binding(), (*archive)->index()) != one.name) {
    return Status::corrupt(place + ": not the archive that its name says");
  }
  if (Status status = (*archive)->verify(threads, false); !status.ok()) return status;
  return archive;
}

namespace {

constexpr std::size_t kTriesMax = 3;  // archives of a folder that are damaged, before it is left

// Archives of one family and one binding.
struct Group {
  std::vector<Shelved> archives;  // newest first
  Binding binding;
  bool same_binding = false;
  bool same_environment = false;
};

std::optional<Binding> binding_of_folder(Shelf& shelf, const std::vector<Shelved>& archives,
                                         const std::string& identity, Pulled& pulled) {
  std::string why;
  for (std::size_t i = 0; i < std::min(archives.size(), kTriesMax); ++i) {
    auto binding = shelf.binding_of(archives[i]);
    if (binding.ok() && base::hex(identity_of(*binding)) == identity) return *binding;
    why = binding.ok() ? shelf.place(archives[i].name) + ": not the archive that its name says"
                       : binding.status().message();
  }
  pulled.notes.push_back(why);
  return std::nullopt;
}

// Those of `found` that fit, the best first; of the others the reason is noted.
std::vector<Group> fitting(Shelf& shelf, std::vector<Shelved> found, const Binding& here,
                           Pulled& pulled) {
  std::ranges::sort(found, [](const Shelved& a, const Shelved& b) {
    return std::tie(b.modified_ns, a.name) < std::tie(a.modified_ns, b.name);
  });
  std::map<std::string, std::vector<Shelved>> folders;
  for (Shelved& one : found) {
    folders[one.name.substr(0, one.name.rfind('/'))].push_back(std::move(one));
  }
  std::vector<Group> groups;
  const std::string own = base::hex(identity_of(here));
  for (auto& [folder, archives] : folders) {
    const std::string identity = folder.substr(folder.rfind('/') + 1);
    Group group{
        .archives = {}, .binding = here, .same_binding = identity == own, .same_environment = true};
    if (!group.same_binding) {
      // The first that can be read, and is what the folder's name says: all of them are the same.
      const auto binding = binding_of_folder(shelf, archives, identity, pulled);
      if (!binding) continue;
      const std::string why = misfit(*binding, here, true);
      if (!why.empty()) {
        pulled.unfit += archives.size();
        if (pulled.unfit_why.empty()) pulled.unfit_why = why;
        continue;
      }
      group.binding = *binding;
      group.same_environment = binding->environment == here.environment;
    }
    group.archives = std::move(archives);
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, [](const Group& a, const Group& b) {
    const auto rank = [](const Group& group) {
      return std::tuple(!group.same_environment, !group.same_binding,
                        -static_cast<std::ptrdiff_t>(group.binding.cpu_flags.size()),
                        -group.archives.front().modified_ns);
    };
    return rank(a) < rank(b);
  });
  return groups;
}

// What all of them hold is wanted. Where that is over the limits it is the largest first: jobs push
// what they found missing, so an archive's size is what would have to be compiled without it. By
// age sixty-four late additions would displace the one that they add to. Of equal ones the newest.
std::vector<const Shelved*> by_worth(const Group& group) {
  std::vector<const Shelved*> out;
  for (const Shelved& one : group.archives) out.push_back(&one);
  std::ranges::stable_sort(out, std::ranges::greater{}, &Shelved::bytes);
  return out;
}

// As many as the limits allow; false: none of them is any good.
bool take_group(Shelf& shelf, const Group& group, const Trust& trust, const PullLimits& limits,
                const std::string& scratch, std::size_t threads, Pulled& pulled) {
  std::map<const Shelved*, std::unique_ptr<Archive>> taken;  // newest first, as they lie in a group
  for (const Shelved* one : by_worth(group)) {
    if (taken.size() + pulled.notes.size() >= limits.archives_max ||
        one->bytes > limits.bytes_max - pulled.bytes) {
      ++pulled.beyond;
      continue;
    }
    pulled.bytes += one->bytes;
    auto archive = take(shelf, *one, trust, scratch, threads);
    if (archive.ok()) {
      taken.emplace(one, std::move(*archive));
    } else {
      pulled.notes.push_back(archive.status().message());
    }
  }
  if (taken.empty()) return false;
  for (auto& [one, archive] : taken) pulled.archives.push_back(std::move(archive));
  pulled.family = pulled.archives.front()->binding().family;
  pulled.same_binding = group.same_binding;
  pulled.same_environment = group.same_environment;
  return true;
}

}  // namespace

Result<Pulled> pull(Shelf& shelf, const Binding& binding, const Trust& trust,
                    const PullLimits& limits, const std::string& scratch, std::size_t threads) {
  Pulled pulled;
  for (const bool own : {true, false}) {
    auto found = shelf.list(own ? binding.family : "");
    if (!found.ok()) return found.status();
    if (!own) {
      std::erase_if(*found,
                    [&](const Shelved& one) { return one.name.starts_with(binding.family + "/"); });
    }
    for (const Group& group : fitting(shelf, std::move(*found), binding, pulled)) {
      if (take_group(shelf, group, trust, limits, scratch, threads, pulled)) return pulled;
    }
  }
  return pulled;
}

}  // namespace headway::cache
