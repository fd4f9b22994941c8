// Where jobs share archives: a folder, or a prefix in an object store (store_shelf.h). An archive's
// name is made of what it is bound to and what it holds, "<family>/<binding>/<content>.hwc": jobs
// that race never overwrite one another, and what two of them found is there once. Any thread, one
// call at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/archive.h"

namespace headway::cache {

inline constexpr std::string_view archive_suffix = ".hwc";
inline constexpr std::size_t shelf_archives_max = 1'000'000;

struct Shelved {
  std::string name;  // below the shelf
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // real time, when it was put there
};

class Shelf {
 public:
  Shelf() = default;
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;
  virtual ~Shelf() = default;

  // All archives whose name begins with `folder`: "", "<family>" or "<family>/<binding>". A shelf
  // that is not there is empty.
  virtual base::Result<std::vector<Shelved>> list(const std::string& folder) = 0;
  // A file of this machine; false: one of that name was there already and stays. It is there whole
  // or not at all.
  virtual base::Result<bool> put(const std::string& path, const std::string& name) = 0;
  // Where on this machine it can be read: in `scratch`, if it has to be fetched.
  virtual base::Result<std::string> fetch(const Shelved& one, const std::string& scratch) = 0;
  // What it says that it is bound to, without fetching all of it. Nothing but the text has been
  // checked.
  virtual base::Result<Binding> binding_of(const Shelved& one) = 0;
  // One that is gone already is as good.
  virtual base::Status remove(const std::string& name) = 0;
  // What others left half-written longer ago than that, as far as it can be told.
  virtual void clear_waste(std::int64_t before_ns) { (void)before_ns; }
  [[nodiscard]] virtual std::string place(const std::string& name) const = 0;
};

class FolderShelf final : public Shelf {
 public:
  FolderShelf(base::FileSystem& files, std::string folder)
      : files_(files), folder_(std::move(folder)) {}
  base::Result<std::vector<Shelved>> list(const std::string& folder) override;
  base::Result<bool> put(const std::string& path, const std::string& name) override;
  base::Result<std::string> fetch(const Shelved& one, const std::string& scratch) override;
  base::Result<Binding> binding_of(const Shelved& one) override;
  base::Status remove(const std::string& name) override;
  void clear_waste(std::int64_t before_ns) override;
  [[nodiscard]] std::string place(const std::string& name) const override {
    return folder_ + "/" + name;
  }

 private:
  // Calls visit(name, entry) for each file, folders one or two deep.
  template <typename Visit>
  base::Status walk(const std::string& folder, const Visit& visit);

  base::FileSystem& files_;
  const std::string folder_;
};

// For binding_of(): of an archive of `bytes` bytes that is read in pieces. Errors name `place`.
using ReadAt = std::function<base::Status(std::uint64_t offset, std::span<std::byte> into)>;
base::Result<Binding> read_binding(const ReadAt& read, std::uint64_t bytes,
                                   const std::string& place);

// "<family>/<binding>" and, with the content, the archive's name.
[[nodiscard]] std::string shelf_folder(const Binding& binding);
[[nodiscard]] std::string shelf_name(const Binding& binding, const Index& index);
// Is it a name that shelf_name() gives? Pure.
[[nodiscard]] bool is_shelf_name(std::string_view name);

}  // namespace headway::cache
