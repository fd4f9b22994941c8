// Archives into a cache directory. Files are written into a folder of their own in it, each after
// the block that it lies in has been compared with its digest, and are renamed all together: a
// damaged block or a full disk leaves nothing behind. A folder that is not there yet takes one
// rename, with all that is in it. What is there already with the same content is not touched. Links
// in the directory are not followed: one in place of a file is replaced, one in place of a folder
// is an error.
//
// The caller has checked whom to trust and whether the archives fit this machine, and holds the
// directory's lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
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
  // Files that differ are replaced. Else only those that must be damaged: empty ones, those whose
  // name tells their content, and libraries that cannot be loaded (library.h).
  bool overwrite = false;
  Progress progress{};  // in bytes of files that are written
  // Where torch is installed here: restore() gives libraries of another place the names that are
  // asked for here (rekey.h). Empty: they keep theirs.
  std::string environment{};
};

// The path in the archive, and the one in the directory.
using Renamed = std::vector<std::pair<std::string, std::string>>;

struct Unpacked {
  std::size_t written = 0;
  std::uint64_t written_bytes = 0;
  std::size_t same = 0;     // were there
  std::size_t kept = 0;     // are there with another content, which stays
  std::size_t damaged = 0;  // libraries that were packed damaged, and are not written
  std::size_t rekeyed = 0;  // libraries of another environment that are found here nevertheless
  std::size_t missed = 0;   // … that will be compiled again
  Renamed renamed{};
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

  // After plan(). Blocks that hold nothing of what is written are not looked at.
  base::Result<Unpacked> execute();

 private:
  enum class Need : std::uint8_t { write, same, keep };
  base::Result<Need> need_of(const Target& target) const;
  base::Status stage(std::size_t archive, std::uint32_t segment,
                     std::span<const std::size_t> wanted, SegmentBuffers& buffers);
  base::Status stage_one(const Target& target, std::span<const std::byte> content);
  base::Status stage_folders();
  base::Status stage_all();
  base::Status rename_below(const std::string& folder);
  void count_below(const std::string& folder);
  void clear_waste();
  [[nodiscard]] const Entry& entry_of(const Target& target) const;
  [[nodiscard]] const ContentRecord& content_of(const Target& target) const;
  // Where a file or folder of the directory lies until it is whole; "" is the directory itself.
  [[nodiscard]] std::string staged(const std::string& path) const;
  [[nodiscard]] std::string place(const std::string& path) const;

  base::FileSystem& files_;
  const std::string directory_;
  const std::span<const Archive* const> archives_;
  const UnpackOptions options_;
  std::vector<Target> wanted_;
  // Of what is wanted, by the folder that it lies in: folders, and which of wanted_.
  std::map<std::string, std::set<std::string>> folders_;
  std::map<std::string, std::vector<std::size_t>> files_of_;
  std::vector<std::uint8_t> left_out_;  // of wanted_: 1 if it was packed damaged
  Unpacked done_;
};

}  // namespace headway::cache
