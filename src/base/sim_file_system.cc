#include "base/sim_file_system.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/file.h"

namespace headway::base {

class SimOutput final : public OutputFile {
 public:
  SimOutput(SimFileSystem& files, std::string path, std::size_t node)
      : files_(files), path_(std::move(path)), node_(node) {}

  Status write(std::uint64_t offset, std::span<const std::byte> data) override {
    Status status = files_.begin_call(path_, SimFileSystem::Deed::grows);
    const bool torn = !status.ok() && files_.fault_ && files_.fault_->torn && !files_.off();
    if (torn) data = data.first(data.size() / 2);
    if (status.ok() || torn) files_.write(node_, offset, data);
    return status;
  }
  Status sync() override {
    auto& node = files_.nodes_[node_];
    if (Status status = files_.begin_call(path_, SimFileSystem::Deed::grows); !status.ok()) {
      if (files_.off()) return status;
      node.unsynced.clear();  // the pages are clean now, and nobody will write them
      return status;
    }
    for (const auto& write : node.unsynced) SimFileSystem::apply(write, node.durable);
    node.unsynced.clear();
    return {};
  }
  Status close() override { return files_.begin_call(path_, SimFileSystem::Deed::grows); }

 private:
  SimFileSystem& files_;
  const std::string path_;
  const std::size_t node_;
};

class SimInput final : public InputFile {
 public:
  SimInput(SimFileSystem& files, std::string path, std::size_t node)
      : files_(files), path_(std::move(path)), node_(node) {}

  [[nodiscard]] std::uint64_t bytes() const override { return files_.nodes_[node_].live.size(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) override {
    if (Status status = files_.begin_call(path_, SimFileSystem::Deed::reads); !status.ok()) {
      return status;
    }
    const std::string& live = files_.nodes_[node_].live;
    if (offset > live.size() || into.size() > live.size() - offset) {
      return Status::corrupt(path_ + ": ends too early");
    }
    if (!into.empty()) std::memcpy(into.data(), live.data() + offset, into.size());
    return {};
  }

 private:
  SimFileSystem& files_;
  const std::string path_;
  const std::size_t node_;
};

SimFileSystem::SimFileSystem() {
  nodes_.emplace_back().is_folder = true;
}

bool SimFileSystem::hits(std::size_t call, Deed deed) const {
  if (!fault_ || call < fault_->call) return false;
  if (call == fault_->call) return true;
  if (!fault_->lasting) return false;
  if (fault_->error == ENOSPC) return deed == Deed::grows;  // a full disk can be read and emptied
  return fault_->error != EROFS || deed != Deed::reads;
}

Status SimFileSystem::begin_call(const std::string& path, Deed deed) {
  const std::size_t call = calls_++;
  if (off_at_ && call >= *off_at_) return errno_status(path, "the power is off", EIO);
  if (hits(call, deed)) return errno_status(path, "injected", fault_->error);
  return {};
}

void SimFileSystem::write(NodeId node, std::uint64_t offset, std::span<const std::byte> data) {
  Write made{offset, {}};
  made.data.assign(reinterpret_cast<const char*>(data.data()), data.size());
  apply(made, nodes_[node].live);
  nodes_[node].unsynced.push_back(std::move(made));
}

std::optional<SimFileSystem::NodeId> SimFileSystem::find(const std::string& path) const {
  NodeId at = 0;
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    const auto it = nodes_[at].names.find(name);
    if (it == nodes_[at].names.end()) return std::nullopt;
    at = it->second;
  }
  return at;
}

std::optional<SimFileSystem::Place> SimFileSystem::place_of(const std::string& path) const {
  const auto folder = find(folder_of(path));
  if (!folder || !nodes_[*folder].is_folder) return std::nullopt;
  return Place{*folder, path.substr(path.rfind('/') + 1)};
}

void SimFileSystem::apply(const Node::Change& change, std::map<std::string, NodeId>& names) {
  for (const auto& [name, node] : change) {
    if (node) {
      names[name] = *node;
    } else {
      names.erase(name);
    }
  }
}

void SimFileSystem::apply(const Write& write, std::string& content) {
  const std::size_t end = static_cast<std::size_t>(write.offset) + write.data.size();
  if (content.size() < end) content.resize(end, '\0');
  content.replace(static_cast<std::size_t>(write.offset), write.data.size(), write.data);
}

void SimFileSystem::change(NodeId folder, const Node::Change& change) {
  apply(change, nodes_[folder].names);
  nodes_[folder].unsynced_names.push_back(change);
}

Result<std::unique_ptr<OutputFile>> SimFileSystem::create(const std::string& path,
                                                          const CreateOptions& options) {
  if (Status status = begin_call(path, Deed::grows); !status.ok()) return status;
  const auto place = place_of(path);
  if (!place) return errno_status(path, "create", ENOENT);
  if (find(path)) return errno_status(path, "create", EEXIST);
  nodes_.push_back({});
  change(place->folder, {{place->name, nodes_.size() - 1}});
  if (options.bytes > 0) {
    write(nodes_.size() - 1, 0, std::vector<std::byte>(static_cast<std::size_t>(options.bytes)));
  }
  return std::unique_ptr<OutputFile>(std::make_unique<SimOutput>(*this, path, nodes_.size() - 1));
}

Result<std::unique_ptr<OutputFile>> SimFileSystem::reopen(const std::string& path) {
  if (Status status = begin_call(path, Deed::shrinks); !status.ok()) return status;
  const auto node = find(path);
  if (!node) return errno_status(path, "open", ENOENT);
  if (nodes_[*node].is_folder) return errno_status(path, "open", EISDIR);
  return std::unique_ptr<OutputFile>(std::make_unique<SimOutput>(*this, path, *node));
}

Result<std::unique_ptr<InputFile>> SimFileSystem::open(const std::string& path) {
  if (Status status = begin_call(path, Deed::reads); !status.ok()) return status;
  const auto node = find(path);
  if (!node) return errno_status(path, "open", ENOENT);
  if (nodes_[*node].is_folder) return errno_status(path, "open", EISDIR);
  return std::unique_ptr<InputFile>(std::make_unique<SimInput>(*this, path, *node));
}

Status SimFileSystem::make_folder(const std::string& path) {
  if (Status status = begin_call(path, Deed::grows); !status.ok()) return status;
  if (const auto node = find(path)) {
    return nodes_[*node].is_folder ? Status() : errno_status(path, "mkdir", EEXIST);
  }
  const auto place = place_of(path);
  if (!place) return errno_status(path, "mkdir", ENOENT);
  nodes_.emplace_back().is_folder = true;
  change(place->folder, {{place->name, nodes_.size() - 1}});
  return {};
}

// From one folder into another it is two changes: a crash may keep either, both or none.
Status SimFileSystem::rename(const std::string& from, const std::string& to) {
  if (Status status = begin_call(to, Deed::grows); !status.ok()) return status;
  const auto node = find(from);
  const auto old_place = place_of(from), new_place = place_of(to);
  if (!node || !old_place || !new_place) return errno_status(to, "rename", ENOENT);
  if (const auto there = find(to); there && nodes_[*there].is_folder) {
    if (!nodes_[*there].names.empty()) return errno_status(to, "rename", ENOTEMPTY);
  }
  if (old_place->folder == new_place->folder) {
    change(old_place->folder, {{old_place->name, std::nullopt}, {new_place->name, *node}});
  } else {
    change(new_place->folder, {{new_place->name, *node}});
    change(old_place->folder, {{old_place->name, std::nullopt}});
  }
  return {};
}

Status SimFileSystem::remove_file(const std::string& path) {
  if (Status status = begin_call(path, Deed::shrinks); !status.ok()) return status;
  const auto node = find(path);
  if (!node) return errno_status(path, "remove", ENOENT);
  if (nodes_[*node].is_folder) return errno_status(path, "remove", EISDIR);
  const auto place = place_of(path);
  change(place->folder, {{place->name, std::nullopt}});
  return {};
}

Status SimFileSystem::remove_folder(const std::string& path) {
  if (Status status = begin_call(path, Deed::shrinks); !status.ok()) return status;
  const auto node = find(path);
  if (!node) return errno_status(path, "remove", ENOENT);
  if (!nodes_[*node].is_folder) return errno_status(path, "remove", ENOTDIR);
  if (!nodes_[*node].names.empty()) return errno_status(path, "remove", ENOTEMPTY);
  const auto place = place_of(path);
  change(place->folder, {{place->name, std::nullopt}});
  return {};
}

Status SimFileSystem::sync_folder(const std::string& path) {
  if (Status status = begin_call(path, Deed::grows); !status.ok()) return status;
  const auto node = find(path);
  if (!node || !nodes_[*node].is_folder) return errno_status(path, "fsync", ENOENT);
  Node& folder = nodes_[*node];
  folder.durable_names = folder.names;
  folder.unsynced_names.clear();
  return {};
}

Result<std::vector<FolderEntry>> SimFileSystem::list(const std::string& path) {
  if (Status status = begin_call(path, Deed::reads); !status.ok()) return status;
  const auto node = find(path);
  if (!node || !nodes_[*node].is_folder) return errno_status(path, "list", ENOENT);
  std::vector<FolderEntry> entries;
  for (const auto& [name, id] : nodes_[*node].names) {
    entries.push_back({name, nodes_[id].is_folder, false, nodes_[id].live.size()});
  }
  return entries;
}

std::size_t SimFileSystem::loose_ends() const {
  std::size_t count = 0;
  for (const Node& node : nodes_) count += node.unsynced.size() + node.unsynced_names.size();
  return count;
}

std::unique_ptr<SimFileSystem> SimFileSystem::after_crash(
    const std::function<double(std::size_t)>& keep) const {
  auto after = std::make_unique<SimFileSystem>();
  after->nodes_ = nodes_;
  std::size_t end = 0;
  for (Node& node : after->nodes_) {
    node.live = node.durable;
    node.names = node.durable_names;
    for (Write& write : node.unsynced) {
      const double kept = keep(end++);
      if (kept == 0) continue;
      if (std::abs(kept) < 1) {
        const auto sectors =
            std::floor(std::abs(kept) * static_cast<double>(write.data.size() / sector_bytes + 1));
        const std::size_t bytes =
            std::min(write.data.size(), static_cast<std::size_t>(sectors) * sector_bytes);
        if (kept < 0) {
          write.offset += bytes;
          write.data.erase(0, bytes);
        } else {
          write.data.resize(bytes);
        }
      }
      apply(write, node.live);
    }
    for (const Node::Change& change : node.unsynced_names) {
      if (keep(end++) >= 0.5) apply(change, node.names);
    }
    node.durable = node.live;
    node.durable_names = node.names;
    node.unsynced.clear();
    node.unsynced_names.clear();
  }
  return after;
}

std::map<std::string, std::string> SimFileSystem::contents() const {
  std::map<std::string, std::string> out;
  const std::function<void(NodeId, const std::string&)> walk = [&](NodeId id,
                                                                   const std::string& path) {
    const Node& node = nodes_[id];
    out[node.is_folder ? path + "/" : path] = node.live;
    for (const auto& [name, child] : node.names) walk(child, path + "/" + name);
  };
  walk(0, "");
  return out;
}

void SimFileSystem::damage(const std::string& path, std::size_t offset, unsigned char bits) {
  const auto node = find(path);
  HW_CHECK(node && offset < nodes_[*node].live.size());
  char& byte = nodes_[*node].live[offset];
  byte = static_cast<char>(static_cast<unsigned char>(byte) ^ bits);
  nodes_[*node].durable = nodes_[*node].live;
}

}  // namespace headway::base
