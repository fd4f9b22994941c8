// For tests: a file system in memory that can fail at any call, and that can lose its power. What a
// crash leaves is what POSIX promises and no more: contents as of the last sync of the file, names
// as of the last sync of the folder, and of everything since any part: writes dropped, torn at a
// sector, out of order; a rename without the data, or the data without its name. Memory that was
// allocated ahead is a file of its full length and zeros, so that a length proves nothing. What a
// failed sync was to bring to the disk is not brought by a later one, as on Linux. Data that went
// past the page cache is no more durable before a sync than other data, so there is one way here.
//
// One thread.
#pragma once

#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace headway::base {

class SimFileSystem final : public FileSystem {
 public:
  static constexpr std::size_t sector_bytes = 512;

  SimFileSystem();

  // The n-th call from now on (from 0) fails, once; none: no call does.
  void fail_at(std::optional<std::size_t> call) {
    fault_ = call ? std::optional(Fault{.call = *call}) : std::nullopt;
    calls_ = 0;
  }
  // The n-th call from now on fails, in one of the ways that disks have.
  struct Fault {
    std::size_t call = 0;
    int error = ENOSPC;
    bool lasting = false;  // and all after it that this error can hit, until another fail()
    bool torn = false;     // of a write the first half is there nevertheless
  };
  void fail(std::optional<Fault> fault) { fault_ = fault, calls_ = 0; }
  // From the n-th call on nothing happens any more: the machine is off.
  void lose_power_at(std::optional<std::size_t> call) { off_at_ = call, calls_ = 0; }
  [[nodiscard]] std::size_t calls() const { return calls_; }
  // How much of what is not synced there is to keep or to lose.
  [[nodiscard]] std::size_t loose_ends() const;
  // What a machine finds that is switched on again. `keep(i)`: how much of loose end i has reached
  // the disk: 0 nothing, 1 all, between: a write is torn and has its front, or if it is negative
  // its back.
  [[nodiscard]] std::unique_ptr<SimFileSystem> after_crash(
      const std::function<double(std::size_t)>& keep) const;

  // The contents, by path; folders end in '/'.
  [[nodiscard]] std::map<std::string, std::string> contents() const;
  // Turns bits of one byte.
  void damage(const std::string& path, std::size_t offset, unsigned char bits);

  Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                             const CreateOptions& options) override;
  Result<std::unique_ptr<OutputFile>> reopen(const std::string& path) override;
  Result<std::unique_ptr<InputFile>> open(const std::string& path) override;
  Status make_folder(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove_file(const std::string& path) override;
  Status remove_folder(const std::string& path) override;
  Status sync_folder(const std::string& path) override;
  Result<std::vector<FolderEntry>> list(const std::string& path) override;

 private:
  friend class SimOutput;
  friend class SimInput;
  using NodeId = std::size_t;
  struct Write {
    std::uint64_t offset;
    std::string data;
  };
  struct Node {
    bool is_folder = false;
    std::string live, durable;                           // of a file
    std::vector<Write> unsynced;                         // of a file, in order
    std::map<std::string, NodeId> names, durable_names;  // of a folder
    // Of a folder, in order: the name and what it leads to, none for a name that goes. A rename is
    // one change of two names.
    using Change = std::vector<std::pair<std::string, std::optional<NodeId>>>;
    std::vector<Change> unsynced_names;
  };
  struct Place {
    NodeId folder;
    std::string name;
  };

  // What a call does decides which lasting errors hit it.
  enum class Deed : std::uint8_t { reads, grows, shrinks };
  Status begin_call(const std::string& path, Deed deed);
  [[nodiscard]] bool hits(std::size_t call, Deed deed) const;
  [[nodiscard]] bool off() const { return off_at_ && calls_ > *off_at_; }
  void write(NodeId node, std::uint64_t offset, std::span<const std::byte> data);
  [[nodiscard]] std::optional<NodeId> find(const std::string& path) const;
  [[nodiscard]] std::optional<Place> place_of(const std::string& path) const;
  void change(NodeId folder, const Node::Change& change);
  static void apply(const Node::Change& change, std::map<std::string, NodeId>& names);
  static void apply(const Write& write, std::string& content);

  std::vector<Node> nodes_;  // the first is the root
  std::size_t calls_ = 0;
  std::optional<Fault> fault_;
  std::optional<std::size_t> off_at_;
};

}  // namespace headway::base
