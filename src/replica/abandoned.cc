#include "replica/abandoned.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/file_system.h"
#include "replica/holder.h"
#include "replica/packet_socket.h"

namespace headway::replica {
namespace {

// The newest of its files; a folder without any has no age yet: its owner has just made it.
std::int64_t last_used_ns(const std::string& folder, const std::vector<base::FolderEntry>& files) {
  std::int64_t newest = 0;
  for (const base::FolderEntry& file : files) {
    struct stat info{};
    if (::lstat((folder + "/" + file.name).c_str(), &info) != 0) continue;
    newest = std::max<std::int64_t>(
        newest, info.st_mtim.tv_sec * base::kNsPerSecond + info.st_mtim.tv_nsec);
  }
  return newest;
}

bool is_ours(const std::string& name) {
  return name == kHolderLock || name == kHolderSocket || name == kHolderLog ||
         name == kHolderWanted || name.starts_with("rank-");
}

bool remove_one(const std::string& folder, std::int64_t now_ns) {
  base::FileSystem& files = base::real_file_system();
  const auto entries = files.list(folder);
  if (!entries.ok()) return false;
  const std::int64_t used_ns = last_used_ns(folder, entries.value());
  if (used_ns == 0 || now_ns - used_ns < abandoned_after_ns) return false;
  for (const base::FolderEntry& entry : entries.value()) {
    if (entry.is_folder || !is_ours(entry.name)) return false;  // not a folder of replicas
  }
  if (connect_to(folder + "/" + kHolderSocket).ok()) return false;  // an agent is there
  const base::UniqueFd lock(
      ::open((folder + "/" + kHolderLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  return remove_replicas(folder);
}

}  // namespace

bool remove_replicas(const std::string& folder) {
  const auto entries = base::real_file_system().list(folder);
  if (!entries.ok()) return false;
  for (const base::FolderEntry& entry : entries.value()) {
    if (!entry.is_folder && is_ours(entry.name)) ::unlink((folder + "/" + entry.name).c_str());
  }
  return ::rmdir(folder.c_str()) == 0;
}

int remove_abandoned(const std::string& root, const std::string& own, std::int64_t now_ns) {
  const auto entries = base::real_file_system().list(root);
  if (!entries.ok()) return 0;
  int removed = 0;
  for (const base::FolderEntry& entry : entries.value()) {
    const std::string folder = root + "/" + entry.name;
    if (entry.is_folder && !entry.is_link && folder != own) removed += remove_one(folder, now_ns);
  }
  return removed;
}

}  // namespace headway::replica
