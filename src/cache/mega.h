// MegaCache blobs into archives and back. A blob's artifact becomes the file that torch's loader
// would write; an archive's entries of the kinds that torch has artifacts of become a blob that
// this loader takes. Generated C++, its libraries and Triton's files are in no blob.
//
// Of the blob itself its order is kept: an entry "mega/<digest of the blob>/order", which is the
// blob with the SHA-256 of each content in the content's place. What is no file of a directory (an
// earlier state of a job's PGO, a type that is not known) lies beside it, under its digest. So an
// archive of one blob, and of nothing else, gives it back byte for byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/archive.h"
#include "cache/binding.h"
#include "cache/keys.h"
#include "cache/mega_blob.h"

namespace headway::cache {

// Where torch puts an artifact, and as what kind; none: of no known type, or its key leads
// elsewhere. Pure.
struct MegaPlace {
  std::string path;
  Kind kind;
};
[[nodiscard]] std::optional<MegaPlace> mega_place(const std::string& type,
                                                  const MegaArtifact& artifact);
// "inductor"; empty: no blob has such.
[[nodiscard]] std::string_view mega_type(Kind kind);
// What torch would call the entry. The key of a PGO state that was packed from a directory is its
// file's name without the ends: torch makes the same file of it.
[[nodiscard]] std::string mega_key(const Entry& entry);

// Where the order of a blob is kept, "mega/<digest>/order".
inline constexpr std::string_view order_suffix = "/order";
[[nodiscard]] std::string order_path(const base::Sha256& blob);

struct Imported {
  std::size_t entries = 0;
  std::size_t repeated = 0;  // artifacts whose file a later one takes
  std::size_t left_out = 0;  // of no known type or place: kept for the blob, but no file
  std::uint64_t file_bytes = 0;
};
base::Result<Imported> import_mega(std::string_view blob, const std::string& blob_path,
                                   const Binding& binding, const SigningKey* key,
                                   base::FileSystem& files, const std::string& path);

struct Exported {
  std::string blob;
  std::size_t artifacts = 0;
  std::size_t left_out = 0;        // entries that no blob has
  bool exact = false;              // byte for byte the blob that was imported
  std::size_t repeated_types = 0;  // of which torch's loader takes the last chunk only
};
// `unite`: one chunk of each type, each file's last content, also where the blob could be had as it
// was: torch's loader takes all of it.
base::Result<Exported> export_mega(const Archive& archive, bool unite = false);

}  // namespace headway::cache
