#include "cache/share.h"

#include <algorithm>

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

Result<Pulled> pull(Shelf& shelf, const Binding& binding, const Trust& trust,
                    const PullLimits& limits, const std::string& scratch, std::size_t threads) {
  auto found = shelf.list(shelf_folder(binding));
  if (!found.ok()) return found.status();
  std::ranges::sort(*found, [](const Shelved& a, const Shelved& b) {
    return std::tie(b.modified_ns, a.name) < std::tie(a.modified_ns, b.name);
  });
  Pulled pulled;
  for (const Shelved& one : *found) {
    if (pulled.archives.size() + pulled.notes.size() >= limits.archives_max ||
        one.bytes > limits.bytes_max - pulled.bytes) {
      ++pulled.beyond;
      continue;
    }
    pulled.bytes += one.bytes;
    auto archive = take(shelf, one, trust, scratch, threads);
    if (archive.ok()) {
      pulled.archives.push_back(std::move(*archive));
    } else {
      pulled.notes.push_back(archive.status().message());
    }
  }
  return pulled;
}

}  // namespace headway::cache
