// A shelf below a prefix of an object store.
#pragma once

#include <memory>
#include <string>

#include "cache/shelf.h"
#include "object_store/store.h"

namespace headway::cache {

class StoreShelf final : public Shelf {
 public:
  // The store outlives it. `prefix` without slashes at its ends; may be empty.
  StoreShelf(object_store::Store& store, std::string prefix)
      : store_(store), prefix_(std::move(prefix)) {}
  base::Result<std::vector<Shelved>> list(const std::string& folder) override;
  base::Result<bool> put(const std::string& path, const std::string& name) override;
  base::Result<std::string> fetch(const Shelved& one, const std::string& scratch) override;
  base::Result<Binding> binding_of(const Shelved& one) override;
  base::Status remove(const std::string& name) override;
  [[nodiscard]] std::string place(const std::string& name) const override {
    return store_.place(key_of(name));
  }

 private:
  [[nodiscard]] std::string key_of(const std::string& name) const {
    return prefix_.empty() ? name : prefix_ + "/" + name;
  }
  object_store::Store& store_;
  const std::string prefix_;
};

// "2026-01-01T00:00:00.000Z" in nanoseconds since 1970; 0: not such a time. Pure.
[[nodiscard]] std::int64_t time_of_store(const std::string& text);

}  // namespace headway::cache
