// A slot: shared memory for the state of one rank after one step, in a file of its own
// (docs/formats/replica.md). The trainer fills it, the holder writes it to disk, the trainer's
// successor reads it or makes it its own memory. Any of them may be killed at any moment; what
// counts is the state word:
//
//   empty    nothing is in it
//   writing  a trainer fills it, or died while it did: garbage
//   sealed   whole
//   pinned   whole, and to be written to disk: nobody may change it before that is done
//   live     a trainer's own memory: changes with every step
//   applying the holder puts the rows of a newer step into it; whole again when it has done so,
//            which it may do again from the beginning
//   gone     the holder is about to remove its file: nobody begins anything with it
//
// The word is set last, with release order, after the facts and checksums; facts that do not agree
// with their own checksum are no facts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file.h"
#include "base/status.h"
#include "replica/image.h"

namespace headway::replica {

class CopyTeam;

enum class SlotState : std::uint32_t {
  empty = 0,
  writing = 1,
  sealed = 2,
  pinned = 3,
  live = 4,
  applying = 5,
  gone = 6
};
[[nodiscard]] std::string_view name_of(SlotState state);

// What is in a sealed slot.
struct SlotFacts {
  std::uint64_t sequence = 0;  // rises with every one that this rank seals
  std::uint64_t step = 0;
  std::int64_t data = 0;
  std::int64_t time_ns = 0;
  std::uint64_t attempt = 0;
  std::uint64_t layout_hash = 0;
  // Not 0: only what changed since the one with that sequence, to be put into its image (apply.h).
  std::uint64_t since = 0;
  // The sequence of the last one before it that was to get to the disk; 0: none.
  std::uint64_t saved = 0;
  std::uint64_t run = 0;  // of the attempt, drawn by lot: no other one has it, whoever counts anew
  Range own;
  Range rest;
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  friend bool operator==(const SlotFacts&, const SlotFacts&) = default;
};

inline constexpr std::uint64_t slot_image_bytes_max = std::uint64_t{1} << 44;

class Slot {
 public:
  // The holder's: a new file with room for such an image. Its memory is not there yet.
  static base::Result<std::shared_ptr<Slot>> create(const std::string& path,
                                                    std::uint64_t image_bytes);
  static base::Result<std::shared_ptr<Slot>> open(const std::string& path);
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // Gets the memory from the system, which takes seconds a GiB; `goes_on` is asked between pieces.
  base::Status allocate(const std::function<bool()>& goes_on);
  // Makes what is allocated known to this process, so that the first copy does not pay for it.
  void populate();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  // False: somebody has cut or removed the file since it was mapped. To touch what was cut off
  // kills a process (SIGBUS), so everybody asks before; what is cut off while it is in use cannot
  // be helped.
  [[nodiscard]] bool is_intact() const;
  [[nodiscard]] SlotState state() const;
  // empty, sealed or writing → writing. Not while it is pinned or live.
  [[nodiscard]] bool try_begin();
  // writing → sealed, or pinned. All checksums are in their table.
  void seal(const SlotFacts& facts, bool pinned);
  [[nodiscard]] bool try_pin();    // sealed → pinned
  void unpin();                    // pinned → sealed
  [[nodiscard]] bool try_adopt();  // sealed or writing → live
  void clear();  // → empty, whatever it was: the caller knows that its user is gone
  // sealed or applying → applying. The facts are still those of before.
  [[nodiscard]] bool try_apply();
  void applied(const SlotFacts& facts);           // applying → sealed
  [[nodiscard]] bool try_remove(SlotState from);  // empty or sealed, as it was judged → gone
  void abandon();                                 // writing → empty: who wrote is dead

  // None: not sealed or pinned, or no facts.
  [[nodiscard]] std::optional<SlotFacts> facts() const;
  // None: not being applied to, or no facts. Its checksums may be those of before, or not yet.
  [[nodiscard]] std::optional<SlotFacts> facts_before() const;
  [[nodiscard]] std::span<std::byte> image() { return {image_, capacity_}; }
  [[nodiscard]] std::span<const std::byte> image() const { return {image_, capacity_}; }
  // One a chunk, as chunks_of() counts them.
  [[nodiscard]] std::span<std::uint32_t> checksums();
  [[nodiscard]] std::span<const std::uint32_t> checksums() const;
  // Reads all of it. The error names the bytes.
  base::Status verify(const SlotFacts& facts, CopyTeam& team) const;

 private:
  struct Header;
  Slot(std::string path, base::UniqueFd fd, std::byte* memory, std::size_t bytes,
       std::uint64_t capacity);
  static base::Result<std::shared_ptr<Slot>> map(const std::string& path, base::UniqueFd fd,
                                                 std::uint64_t bytes, std::uint64_t capacity);
  [[nodiscard]] bool move(SlotState from, SlotState to);
  void close(const SlotFacts& facts, SlotState state);
  [[nodiscard]] std::optional<SlotFacts> read_facts() const;

  const std::string path_;
  const base::UniqueFd fd_;
  std::byte* const memory_;
  const std::size_t bytes_;
  const std::uint64_t capacity_;
  Header* const header_;
  std::byte* image_ = nullptr;
};

}  // namespace headway::replica
