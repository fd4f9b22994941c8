#include "cache/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/plural.h"
#include "cache/merge.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::int64_t kWasteAgeNs = 24 * 3600 * base::kNsPerSecond;
constexpr std::int64_t kLeftBehindNs = 14 * 24 * 3600 * base::kNsPerSecond;

std::string folder_of_name(const std::string& name) {
  return name.substr(0, name.rfind('/'));
}

class Collector {
 public:
  Collector(Shelf& shelf, const CollectOptions& options, const std::string& scratch)
      : shelf_(shelf), options_(options), scratch_(scratch) {}

  Result<Collected> run() {
    if (!options_.dry_run) shelf_.clear_waste(options_.now_ns - kWasteAgeNs);
    auto found = shelf_.list("");
    if (!found.ok()) return found.status();
    kept_ = std::move(*found);
    // The oldest first.
    std::ranges::sort(kept_, [](const Shelved& a, const Shelved& b) {
      return std::tie(a.modified_ns, a.name) < std::tie(b.modified_ns, b.name);
    });
    for (const Shelved& one : kept_) newest_ns_[folder_of_name(one.name)] = one.modified_ns;
    done_.archives_before = kept_.size();
    done_.bytes_before = bytes();
    if (Status status = drop_old(); !status.ok()) return status;
    if (Status status = merge_small(); !status.ok()) return status;
    if (Status status = drop_large(); !status.ok()) return status;
    done_.archives_after = kept_.size();
    done_.bytes_after = bytes();
    return std::move(done_);
  }

 private:
  using Group = std::vector<Shelved>;  // of one folder, the oldest first

  [[nodiscard]] static std::uint64_t bytes_of(const Group& group) {
    std::uint64_t sum = 0;
    for (const Shelved& one : group) sum += one.bytes;
    return sum;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_of(kept_); }
  [[nodiscard]] std::map<std::string, Group> by_folder() const {
    std::map<std::string, Group> groups;
    for (const Shelved& one : kept_) groups[folder_of_name(one.name)].push_back(one);
    return groups;
  }
  // What is signed must be trusted: without a key nothing is signed.
  [[nodiscard]] bool can_merge() const {
    return options_.key != nullptr || options_.trust.unsigned_too;
  }
  void forget(const std::string& name) {
    std::erase_if(kept_, [&](const Shelved& kept) { return kept.name == name; });
  }

  Status remove(const Shelved& one) {
    if (!options_.dry_run) {
      if (Status status = shelf_.remove(one.name); !status.ok()) return status;
    }
    done_.removed.push_back(one.name);
    return {};
  }

  Status drop_old() {
    while (options_.age_max_ns && !kept_.empty() && kept_.front().modified_ns > 0 &&
           kept_.front().modified_ns < options_.now_ns - *options_.age_max_ns) {
      if (Status status = remove(kept_.front()); !status.ok()) return status;
      kept_.erase(kept_.begin());
    }
    return {};
  }

  // Somebody wants nothing to be kept.
  Status empty() {
    for (const Shelved& one : kept_) {
      if (Status status = remove(one); !status.ok()) return status;
    }
    kept_.clear();
    return {};
  }

  Status drop_large() {
    if (!options_.bytes_max || bytes() <= *options_.bytes_max) return {};
    if (*options_.bytes_max == 0) return empty();
    for (std::size_t i = 0; i < kept_.size() && bytes() > *options_.bytes_max;) {
      if (!is_left_behind(folder_of_name(kept_[i].name))) {
        ++i;
        continue;
      }
      if (Status status = remove(kept_[i]); !status.ok()) return status;
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (bytes() <= *options_.bytes_max) return {};
    return shrink();
  }

  // Its family has gone on with another binding. One that is compiled for two kinds of machine goes
  // on with both.
  [[nodiscard]] bool is_left_behind(const std::string& folder) const {
    const std::string family = folder_of_name(folder);
    std::int64_t family_ns = 0;
    for (const auto& [other, newest_ns] : newest_ns_) {
      if (folder_of_name(other) == family) family_ns = std::max(family_ns, newest_ns);
    }
    return newest_ns_.at(folder) < family_ns - kLeftBehindNs;
  }

  // So many bytes at most for each folder that together they come to `sum`: small ones keep what
  // they have.
  [[nodiscard]] static std::uint64_t share_of(const std::map<std::string, Group>& groups,
                                              std::uint64_t sum) {
    std::vector<std::uint64_t> sizes;
    for (const auto& [folder, group] : groups) sizes.push_back(bytes_of(group));
    std::ranges::sort(sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::uint64_t share = sum / (sizes.size() - i);
      if (sizes[i] > share) return share;
      sum -= sizes[i];
    }
    return UINT64_MAX;
  }

  // To three quarters of the bound: the next push must not have all of it packed again.
  Status shrink() {
    const auto groups = by_folder();
    const std::uint64_t share = share_of(groups, *options_.bytes_max / 4 * 3);
    for (const auto& [folder, group] : groups) {
      if (bytes_of(group) <= share) continue;
      if (can_merge()) {
        if (Status status = merge(folder, group, share); !status.ok()) return status;
      }
      // What could not be merged.
      for (const Shelved& one : group) {
        const Group left = by_folder()[folder];
        if (left.size() < 2 || bytes_of(left) <= share || left.front().name != one.name) continue;
        if (Status status = remove(one); !status.ok()) return status;
        forget(one.name);
      }
    }
    if (bytes() > *options_.bytes_max) {
      done_.notes.push_back(
          fmt::format("{} bytes are left, more than {}: the last archives of their families, which "
                      "cannot be made smaller here",
                      bytes(), *options_.bytes_max));
    }
    return {};
  }

  Status merge_small() {
    if (options_.merge_min == 0) return {};
    const std::uint64_t bytes_max =
        std::min(options_.archive_bytes_max, options_.bytes_max.value_or(UINT64_MAX));
    for (auto& [folder, group] : by_folder()) {
      if (group.size() < std::max<std::size_t>(options_.merge_min, 2)) continue;
      if (group.size() > options_.merge_max) group.resize(options_.merge_max);
      if (!can_merge()) {
        done_.notes.push_back(
            fmt::format("{}: {} archives could be one, but there is no key to sign it with", folder,
                        group.size()));
        continue;
      }
      if (Status status = merge(folder, group, bytes_max); !status.ok()) return status;
    }
    return {};
  }

  // The new one is there before the others go: whoever looks meanwhile misses nothing. A dry run
  // reads and merges, too: only so it knows which are damaged, and how large the new one is. One
  // alone is merged with nothing where it is too large.
  Status merge(const std::string& folder, const Group& group, std::uint64_t bytes_max) {
    std::vector<std::unique_ptr<Archive>> archives;
    Group good;
    for (const Shelved& one : group) {
      auto archive = take(shelf_, one, options_.trust, scratch_, options_.threads);
      if (!archive.ok()) {
        done_.notes.push_back(archive.status().message());
        if (archive.status().code() != base::Code::corrupt) continue;
        // Of use to nobody, and in everybody's way.
        if (Status status = remove(one); !status.ok()) return status;
        forget(one.name);
        continue;
      }
      archives.push_back(std::move(*archive));
      good.push_back(one);
    }
    if (archives.empty() || (archives.size() < 2 && bytes_of(good) <= bytes_max)) return {};
    std::vector<const Archive*> list;
    for (const auto& archive : archives) list.push_back(archive.get());
    const std::string path = scratch_ + "/merged.hwc";
    auto merged = merge_archives(base::real_file_system(), list, path,
                                 {.key = options_.key,
                                  .created_ns = options_.now_ns,
                                  .bytes_max = bytes_max,
                                  .progress = {}});
    if (!merged.ok()) return merged.status();
    if (merged->left_out > 0) {
      done_.notes.push_back(fmt::format("{}: left out the oldest, {}, to stay below {} bytes",
                                        folder, base::plural(merged->left_out, "entry", "entries"),
                                        bytes_max));
    }
    const std::string name = fmt::format("{}/{}{}", folder, merged->content, archive_suffix);
    if (!options_.dry_run) {
      if (auto put = shelf_.put(path, name); !put.ok()) return put.status();
    }
    for (const Shelved& one : good) {
      if (one.name == name) continue;  // it held all of the others
      if (Status status = remove(one); !status.ok()) return status;
      ++done_.merged;
      forget(one.name);
    }
    const bool there = std::ranges::find(kept_, name, &Shelved::name) != kept_.end();
    if (!there) kept_.push_back({name, merged->file_bytes, options_.now_ns});
    return {};
  }

  Shelf& shelf_;
  const CollectOptions& options_;
  const std::string& scratch_;
  std::vector<Shelved> kept_;
  std::map<std::string, std::int64_t> newest_ns_;  // by folder, before anything was merged
  Collected done_;
};

}  // namespace

Result<Collected> collect(Shelf& shelf, const CollectOptions& options, const std::string& scratch) {
  return Collector(shelf, options, scratch).run();
}

}  // namespace headway::cache
