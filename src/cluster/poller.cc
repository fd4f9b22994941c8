#include "cluster/poller.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace headway::cluster {
namespace {

constexpr std::uint64_t timer_key = 0;

}  // namespace

base::Status Poller::open() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  timer_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!epoll_.valid() || !timer_.valid()) {
    return base::errno_status("cluster", "cannot make an epoll set with a timer", errno);
  }
  epoll_event event{.events = EPOLLIN, .data = {.u64 = timer_key}};
  HW_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event) == 0);
  return {};
}

void Poller::watch(int fd, std::uint32_t events, std::uint64_t key) {
  HW_CHECK(key != timer_key);
  epoll_event event{.events = events, .data = {.u64 = key}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return;
  // Not being told of it is no worse than a network that is silent: the lease takes care of both.
  if (errno == ENOENT) (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Poller::unwatch(int fd) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::arm(std::optional<std::int64_t> deadline_ns) {
  if (deadline_ns == armed_ns_) return;
  armed_ns_ = deadline_ns;
  itimerspec when{};  // zero: off
  if (deadline_ns) {
    const std::int64_t at_ns = std::max<std::int64_t>(*deadline_ns, 1);
    when.it_value = {.tv_sec = at_ns / base::kNsPerSecond, .tv_nsec = at_ns % base::kNsPerSecond};
  }
  HW_CHECK(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr) == 0);
}

std::span<const epoll_event> Poller::ready() {
  const int found = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), 0);
  const auto end = events_.begin() + std::max(found, 0);
  const auto kept = std::remove_if(events_.begin(), end, [&](const epoll_event& event) {
    if (event.data.u64 != timer_key) return false;
    std::uint64_t count = 0;
    if (::read(timer_.get(), &count, sizeof(count)) > 0) armed_ns_.reset();
    return true;
  });
  return {events_.begin(), kept};
}

}  // namespace headway::cluster
