#include "cache/restore.h"

#include <filesystem>

#include "base/file.h"
#include "cache/directory_lock.h"
#include "cache/rekey.h"

namespace headway::cache {

using base::Result;
using base::Status;

Result<Unpacked> restore(const std::string& directory, std::span<const Archive* const> archives,
                         const std::optional<PgoRule>& rule, const UnpackOptions& options) {
  if (directory.empty()) return Status::invalid("the name of the cache directory is empty");
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(directory, error).lexically_normal();
  if (error) return Status::io(directory + ": " + error.message());
  if (!absolute.has_filename()) absolute = absolute.parent_path();  // a slash at its end
  Unpacker unpacker(base::real_file_system(), absolute.string(), archives, options);
  const Union all = unite(archives);
  const auto made = base::make_dirs(absolute.string());
  if (!made.ok()) return made;
  const auto lock = DirectoryLock::take(absolute.string(), restore_wait_ns);
  std::vector<Target> targets = targets_of(archives, all, rule);
  Rekeyed rekeyed;
  if (!options.environment.empty()) {
    auto done = rekey(archives, options.environment, targets);
    if (!done.ok()) return done.status();
    rekeyed = *done;
  }
  if (Status status = unpacker.plan(std::move(targets)); !status.ok()) return status;
  if (!lock.ok() && unpacker.to_write() > 0) return lock.status();
  auto unpacked = unpacker.execute();
  if (!unpacked.ok()) return unpacked;
  unpacked->rekeyed = rekeyed.libraries;
  unpacked->missed = rekeyed.missed;
  unpacked->renamed = std::move(rekeyed.renamed);
  return unpacked;
}

}  // namespace headway::cache
