// The holder: one process a machine, beside the trainers, that owns their replicas. It gets the
// memory, writes pinned steps to disk in the background, and keeps everything while a trainer is
// dead, so that its successor finds the state where it was left.
//
// Everything it has to know is in the slots, so it may be killed at any time: the next one takes
// over. Trainers connect again by themselves. Files of its folder: docs/formats/replica.md.
//
// run() belongs to one thread; memory, disk and the store that checkpoints are copied to have one
// each beside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "checkpoint/archive.h"
#include "checkpoint/lock.h"
#include "replica/choose.h"
#include "replica/message.h"
#include "replica/rank_slots.h"
#include "replica/row_chain.h"
#include "replica/save_step.h"
#include "replica/save_together.h"
#include "replica/uploader.h"
#include "replica/worker.h"

namespace headway::replica {

inline constexpr const char* kHolderSocket = "holder.sock";
inline constexpr const char* kHolderLock = "lock";
inline constexpr const char* kHolderLog = "holder.log";  // what whoever starts it lets it write
inline constexpr const char* kHolderWanted = "wanted";   // somebody waits for it to end
// Its process's exit code, when the newest checkpoint has not got to the store.
inline constexpr int kExitNotUploaded = 3;

struct HolderOptions {
  std::string folder;       // in shared memory
  base::UniqueFd listener;  // made here if there is none
  // With no trainer for so long, what is newest is written to disk; then, what is there is given
  // back and run() ends. Negative: never, somebody else says when.
  std::int64_t orphan_ns = 10'000'000'000;
  std::int64_t linger_ns = 600'000'000'000;
  std::function<void(const std::string&)> note = [](const std::string&) {};
  // The way to an object store, of whoever links the network; none: nothing is uploaded.
  checkpoint::OpenArchive open_archive;
  // At the end, for the newest to get there; less if somebody waits for us (kHolderWanted).
  std::int64_t upload_wait_ns = 120'000'000'000;
  // For other machines, where they have a part of the ranks.
  TogetherLimits together;
  // For the lock of the checkpoints' folder, where it is this very job that has it: one that rank 0
  // has left, or a run that ends.
  std::int64_t lock_wait_ns = 15'000'000'000;
};

// HEADWAY_CKPT_UPLOAD_WAIT as it says ("30s"), or as above.
[[nodiscard]] base::Result<std::int64_t> upload_wait_of(const char* text);
// What the lock of a checkpoints' folder says of who has it.
[[nodiscard]] std::string lock_purpose(const std::string& job);
[[nodiscard]] base::Result<std::string> text_of(
    const base::Result<checkpoint::CheckpointName>& name);
// Other machines have ranks of it, too.
[[nodiscard]] bool is_shared(const Choice& choice);

class Holder {
 public:
  static base::Result<std::unique_ptr<Holder>> open(HolderOptions options);
  ~Holder();

  // Until `stop` is readable, or the last trainer is long gone. What is newest is on disk then, and
  // the memory given back; after an error it is kept.
  base::Status run(int stop);
  // After run(): what was to be uploaded is there.
  [[nodiscard]] bool all_uploaded() const { return !uploader_ || uploader_->settled(); }

 private:
  struct Rank {
    RankSlots slots;
    base::UniqueFd client{};
    Message hello{};
    std::uint64_t bytes = 0;  // that were asked for
    std::uint32_t count = 0;
    std::uint64_t rows_bytes = 0;
    std::uint32_t rows_count = 0;
    bool untold = false;  // of its slots: rows have to get into the images first
    bool allocating = false;
    bool done = false;  // it ended well
  };
  explicit Holder(HolderOptions options) : options_(std::move(options)) {}

  Rank& rank_of(std::uint32_t number);
  void serve_new();
  // False: it is gone.
  [[nodiscard]] bool serve(int client);
  void on_hello(base::UniqueFd client, const Message& message);
  static void refuse(const base::UniqueFd& client, const base::Status& why);
  void admit(base::UniqueFd client, const Message& message);
  void serve_parked();
  base::Status lock_folder(const Message& hello);
  base::Status keep_lock(const Message& hello);
  void remember_folder(const std::string& folder);
  [[nodiscard]] bool was_removed(const std::string& folder) const;
  void leave_folder();
  void unlock_folder();
  void on_reserve(Rank& rank, const Message& message);
  void on_look(const Rank& rank, const Message& message);
  void refill(Rank& rank);
  void allocate(Rank& rank, const RankSlots::Usable& missing);
  void drop_broken();
  void give_up(const SlotFacts& lost, const std::string& why);
  void tell_slots(Rank& rank);

  [[nodiscard]] HeldByRank held() const;
  [[nodiscard]] std::uint32_t ranks_here() const;
  void consider();
  void write_newest();
  void start(const Choice& choice);
  [[nodiscard]] Message told_by(const Choice& choice) const;
  [[nodiscard]] SaveOrder order_of(const Message& told) const;
  base::Result<checkpoint::CheckpointName> save_whole(const SlotByRank& images,
                                                      const SaveOrder& order,
                                                      const std::function<bool()>& goes_on);
  [[nodiscard]] Patience patience_for(std::uint64_t attempt) const;
  base::Result<checkpoint::CheckpointName> save_shared(const Choice& choice, const SaveOrder& order,
                                                       bool end);
  void end_together(const std::vector<Choice>& steps, bool known);
  base::Result<std::string> save_end(const std::vector<Choice>& steps, bool wait,
                                     const SaveOrder& order, Choice& choice);
  void aim_upload(const Message& hello);
  void tell_all(const Message& message);
  [[nodiscard]] bool is_wanted() const;
  // For the last one: true while it should be waited for.
  bool waits_for_upload(std::int64_t now_ns);
  void finished(const Choice& choice, const base::Result<std::string>& name, std::int64_t took_ns);
  void tell_end(const Choice& choice, const base::Result<std::string>& name, std::int64_t took_ns);

  struct RowsDone {
    base::Status memory;  // of putting them into the images
    base::Status disk;
    std::string name;  // of the checkpoint; "": there is none
    bool is_delta = false;
    std::int64_t took_ns = 0;
  };
  void start_rows(const RowsChoice& choice);
  void work_off(const RowsChoice& choice, SaveOrder order, RowsDone& done);
  void rows_finished(const RowsChoice& choice, const RowsDone& done);
  void tell_waiting();
  void drop_rows(const std::shared_ptr<Slot>& slot, const std::string& why);
  void drop_lost_rows(const HeldByRank& held, std::uint64_t newest);
  void drop_cut_off_rows(const HeldByRank& held);
  [[nodiscard]] bool has_clients() const;
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] int wait_ms(std::int64_t now_ns) const;

  // From the workers' threads to run()'s.
  void post(std::function<void()> done);
  void serve_posts();

  HolderOptions options_;
  base::UniqueFd lock_;
  base::UniqueFd posts_fd_;
  std::mutex posts_mutex_;
  std::vector<std::function<void()>> posts_;
  std::map<std::uint32_t, std::unique_ptr<Rank>> ranks_;
  std::vector<base::UniqueFd> strangers_;  // connected, no hello yet
  struct Parked {
    base::UniqueFd client;
    Message hello;
    std::int64_t until_ns = 0;
  };
  std::vector<Parked> parked_;  // said hello; the folder is not ours yet
  std::optional<checkpoint::FolderLock> folder_lock_;
  std::string locked_;  // the folder
  // The one that somebody trained into last, by what it is: another of its name is not the same.
  struct KnownFolder {
    std::string path;
    std::uint64_t device = 0, inode = 0;
    bool operator==(const KnownFolder&) const = default;
  };
  static KnownFolder look_at_folder(const std::string& path);
  KnownFolder known_;
  // Checkpoints that trainers have read and found to be damaged: retention counts others. Kept for
  // those who come later and go on from memory.
  std::set<std::string> damaged_;
  HeldByRank seen_;  // when it was last looked at
  std::optional<Choice> writing_;
  RowChain chain_;                      // the disk's thread
  std::atomic<bool> applying_ = false;  // rows are on their way into images
  std::atomic<bool> hurry_ = false;     // somebody waits for them
  std::optional<std::pair<std::uint64_t, std::uint64_t>> tried_;  // attempt, step
  std::optional<std::pair<std::uint64_t, std::uint64_t>> ended_;  // the same, of end_together()
  // The same, of the last one on disk if it is a delta: a store has no use for it.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> last_delta_;
  base::Status last_;                                           // of the last write
  std::optional<std::pair<std::uint64_t, Message>> last_news_;  // attempt, what was said of it
  std::int64_t alone_since_ns_ = 0;
  std::optional<std::int64_t> upload_until_ns_;  // since the end began
  bool stopping_ = false;
  std::atomic<std::uint64_t> newest_attempt_ = 0;  // that said hello
  std::atomic<bool> nobody_trains_ = false;        // here
  std::atomic<bool> give_up_ = false;
  std::unique_ptr<Uploader> uploader_;  // from the first hello that asks for it
  UploadTarget aimed_;
  Worker memory_;
  Worker disk_;
};

}  // namespace headway::replica
