// One descriptor that stands for many: an epoll set with a timer in it, to be put into somebody
// else's loop. Never waits. Single-threaded.
#pragma once

#include <sys/epoll.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"

namespace headway::cluster {

// The clock of leases. It goes on while the machine is suspended: a member that slept through its
// lease finds that out first of all.
inline std::int64_t lease_clock_ns() {
  return base::clock_ns(CLOCK_BOOTTIME);
}

class Poller {
 public:
  static constexpr std::size_t events_max = 256;  // at once; the rest is ready the next time

  base::Status open();
  [[nodiscard]] int fd() const { return epoll_.get(); }

  // `key` comes back with the events of `fd`; not 0, which is the timer's. Watching again changes
  // it.
  void watch(int fd, std::uint32_t events, std::uint64_t key);
  void unwatch(int fd);
  // Ready at this time of the lease clock, until armed again.
  void arm(std::optional<std::int64_t> deadline_ns);
  // What is ready now, without the timer. Valid until the next call.
  std::span<const epoll_event> ready();

 private:
  base::UniqueFd epoll_;
  base::UniqueFd timer_;
  std::optional<std::int64_t> armed_ns_;
  std::array<epoll_event, events_max> events_{};
};

}  // namespace headway::cluster
