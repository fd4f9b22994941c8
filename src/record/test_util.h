// What the recorder's tests share: a folder that goes away, a recorder begun in it, a journal read
// to its end, and journals put together byte by byte.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/temp_dir.h"
#include "event/event.h"
#include "headway/headway.h"
#include "record/journal_header.h"
#include "record/journal_reader.h"

namespace headway::record {

using base::TempDir;

inline int init_in(const std::string& dir, std::uint64_t max_bytes = 0, std::uint32_t rank = 0) {
  hw_options options{};
  options.struct_size = sizeof(options);
  options.rank = rank;
  options.world_size = 4;
  options.attempt = 1;
  options.max_bytes = max_bytes;
  options.dir = dir.c_str();
  options.job = "test";
  options.host = "node1";
  return hw_init(&options);
}

inline hw_stats stats() {
  hw_stats s{};
  s.struct_size = sizeof(s);
  hw_get_stats(&s);
  return s;
}

// Until the keeper has made room for `records` more. False: it never did.
inline bool wait_for_room(std::uint64_t records) {
  for (int i = 0; i < 20000; ++i) {
    const hw_stats s = stats();
    if (s.bytes >= event::kHeaderBytes + (s.records + records) * sizeof(event::Record)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

struct Journal {
  base::Status status;
  event::NameTable names;
  event::StreamInfo info;
  event::StreamLoss loss;
  std::vector<event::Event> events;
};

inline std::unique_ptr<Journal> read_journal(const std::string& path) {
  auto journal = std::make_unique<Journal>();
  auto reader = JournalReader::open(path, journal->names);
  journal->status = reader.status();
  if (!reader.ok()) return journal;
  (*reader)->set_final();
  for (auto batch = (*reader)->next(); !batch.empty(); batch = (*reader)->next()) {
    journal->events.insert(journal->events.end(), batch.begin(), batch.end());
  }
  journal->info = (*reader)->info();
  journal->loss = (*reader)->loss();
  return journal;
}

// Runs `body` in a forked child and returns its wait status. The child never returns into gtest.
inline int in_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

// A journal as bytes, for tests that need one that no writer would write.
class JournalBytes {
 public:
  static constexpr std::uint64_t hz = 1'000'000'000;
  static constexpr std::uint64_t anchor_ticks = 1'000'000;
  static constexpr std::int64_t anchor_mono_ns = 5'000'000'000;
  static constexpr std::int64_t anchor_real_ns = 1'700'000'000'000'000'000;

  JournalBytes() {
    fixed.clock_kind = static_cast<std::uint32_t>(event::ClockKind::tsc);
    fixed.attempt = 7;
    fixed.rank = 3;
    fixed.world_size = 8;
    fixed.clock_hz = hz;
    fixed.anchor_ticks = anchor_ticks;
    fixed.anchor_monotonic_ns = anchor_mono_ns;
    fixed.anchor_real_ns = anchor_real_ns;
    std::strcpy(fixed.job, "bytes");
    std::strcpy(fixed.host, "node9");
    fixed.slots_max = 1 << 20;
    finish_header(fixed);
    live.limit = fixed.slots_max;
  }

  void add(event::EventType type, std::uint64_t t, std::int64_t a = 0, std::int64_t b = 0,
           std::uint16_t name = 0, std::uint16_t lane = 0) {
    event::Record r{t, a, b, name, lane, 0};
    r.commit = event::commit_word(event::record_check(t, a, b, name, lane, type), type);
    records.push_back(r);
    live.cursor = records.size();
  }
  void add_uncommitted() {
    records.push_back({});
    live.cursor = records.size();
  }
  [[nodiscard]] std::string bytes() const {
    std::string text(event::kHeaderBytes, '\0');
    std::memcpy(text.data(), &fixed, sizeof(fixed));
    std::memcpy(text.data() + event::kLiveOffset, &live, sizeof(live));
    text.append(reinterpret_cast<const char*>(records.data()),
                records.size() * sizeof(event::Record));
    return text;
  }

  event::HeaderFields fixed{};
  event::LiveFields live{};
  std::vector<event::Record> records;
};

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<long>(bytes.size()));
}

}  // namespace headway::record
