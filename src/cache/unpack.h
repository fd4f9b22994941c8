// Archives into a cache directory. Every block is compared with its digest before anything is
// written; files are written beside the directory's own and renamed all together, so that a full
// disk leaves nothing behind. What is there already with the same content is not touched.
//
// The caller has checked whom to trust and whether the archives fit this machine, and holds the
// directory's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/archive.h"
#include "cache/pgo.h"
#include "cache/unite.h"

namespace headway::cache {

// One file of the directory.
struct Target {
  std::string path;
  Chosen from;
};
// Of the union's entries; with a rule also what it makes of PGO states.
[[nodiscard]] std::vector<Target> targets_of(std::span<const Archive* const> archives,
                                             const Union& all, const std::optional<PgoRule>& rule);

struct UnpackOptions {
  std::size_t threads = 2;
  // Files that differ are replaced. Else only those that must be damaged: empty ones, and those
  // whose name tells their content.
  bool overwrite = false;
  Progress progress{};  // in bytes of files that are written
};

struct Unpacked {
  std::size_t written = 0;
  std::uint64_t written_bytes = 0;
  std::size_t same = 0;  // were there
  std::size_t kept = 0;  // are there with another content, which stays
};

// `directory`: an absolute path, and it is there.
class Unpacker {
 public:
  Unpacker(base::FileSystem& files, std::string directory, std::span<const Archive* const> archives,
           UnpackOptions options);

  // What there is to do; reads files of the directory, writes nothing.
  base::Status plan(std::vector<Target> targets);
  [[nodiscard]] std::size_t to_write() const { return wanted_.size(); }
  [[nodiscard]] std::uint64_t bytes_to_write() const;

  base::Status verify(const Progress& progress = {}) const;
  // After plan() and verify().
  base::Result<Unpacked> execute();

 private:
  enum class Need : std::uint8_t { write, same, keep };
  base::Result<Need> need_of(const Target& target) const;
  base::Status stage(std::size_t archive, std::uint32_t segment,
                     std::span<const std::size_t> wanted);
  base::Status stage_one(std::size_t wanted, std::span<const std::byte> content);
  base::Status stage_all();
  base::Status rename_all();
  void clear_staging();
  [[nodiscard]] const Entry& entry_of(const Target& target) const;
  [[nodiscard]] const ContentRecord& content_of(const Target& target) const;
  [[nodiscard]] std::string staged(std::size_t wanted) const;

  base::FileSystem& files_;
  const std::string directory_;
  const std::span<const Archive* const> archives_;
  const UnpackOptions options_;
  std::vector<Target> wanted_;
  std::vector<std::string> made_;  // folders, in order
  Unpacked done_;
};

}  // namespace headway::cache
