#include "cache/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "cache/merge.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::int64_t kWasteAgeNs = 24 * 3600 * base::kNsPerSecond;

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
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Shelved& one : kept_) sum += one.bytes;
    return sum;
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

  Status drop_large() {
    while (options_.bytes_max && !kept_.empty() && bytes() > *options_.bytes_max) {
      if (Status status = remove(kept_.front()); !status.ok()) return status;
      kept_.erase(kept_.begin());
    }
    return {};
  }

  Status merge_small() {
    if (options_.merge_min == 0) return {};
    std::map<std::string, std::vector<Shelved>> groups;
    for (const Shelved& one : kept_) groups[folder_of_name(one.name)].push_back(one);
    for (auto& [folder, group] : groups) {
      if (group.size() < std::max<std::size_t>(options_.merge_min, 2)) continue;
      if (group.size() > options_.merge_max) group.resize(options_.merge_max);
      if (options_.key == nullptr && !options_.trust.unsigned_too) {
        done_.notes.push_back(
            fmt::format("{}: {} archives could be one, but there is no key to sign it with", folder,
                        group.size()));
        continue;
      }
      if (Status status = merge(folder, group); !status.ok()) return status;
    }
    return {};
  }

  // The new one is there before the others go: whoever looks meanwhile misses nothing. A dry run
  // reads and merges, too: only so it knows which are damaged, and how large the new one is.
  Status merge(const std::string& folder, const std::vector<Shelved>& group) {
    std::vector<std::unique_ptr<Archive>> archives;
    std::vector<Shelved> good;
    for (const Shelved& one : group) {
      auto archive = take(shelf_, one, options_.trust, scratch_, options_.threads);
      if (!archive.ok()) {
        done_.notes.push_back(archive.status().message());
        if (archive.status().code() != base::Code::corrupt) continue;
        // Of use to nobody, and in everybody's way.
        if (Status status = remove(one); !status.ok()) return status;
        std::erase_if(kept_, [&](const Shelved& kept) { return kept.name == one.name; });
        continue;
      }
      archives.push_back(std::move(*archive));
      good.push_back(one);
    }
    if (archives.size() < 2) return {};
    std::vector<const Archive*> list;
    for (const auto& archive : archives) list.push_back(archive.get());
    const std::string path = scratch_ + "/merged.hwc";
    auto merged =
        merge_archives(base::real_file_system(), list, path,
                       {.key = options_.key, .created_ns = options_.now_ns, .progress = {}});
    if (!merged.ok()) return merged.status();
    const std::string name = fmt::format("{}/{}{}", folder, merged->content, archive_suffix);
    if (!options_.dry_run) {
      if (auto put = shelf_.put(path, name); !put.ok()) return put.status();
    }
    for (const Shelved& one : good) {
      if (one.name == name) continue;  // it held all of the others
      if (Status status = remove(one); !status.ok()) return status;
      ++done_.merged;
      std::erase_if(kept_, [&](const Shelved& kept) { return kept.name == one.name; });
    }
    const bool there = std::ranges::find(kept_, name, &Shelved::name) != kept_.end();
    if (!there) kept_.push_back({name, merged->file_bytes, options_.now_ns});
    return {};
  }

  Shelf& shelf_;
  const CollectOptions& options_;
  const std::string& scratch_;
  std::vector<Shelved> kept_;
  Collected done_;
};

}  // namespace

Result<Collected> collect(Shelf& shelf, const CollectOptions& options, const std::string& scratch) {
  return Collector(shelf, options, scratch).run();
}

}  // namespace headway::cache
