// The Supervisor's second half: carrying the ranks' output.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "agent/supervisor.h"
#include "base/check.h"

namespace headway::agent {

Sink& Supervisor::sink_of(const Stream& stream) {
  return stream.is_stderr ? console_.err() : console_.out();
}

void Supervisor::close_stream(Stream& stream) {
  HW_CHECK(stream.fd.valid());
  std::string lines;
  stream.cutter.finish(lines);
  sink_of(stream).push(std::move(lines));
  if (!stream.paused) unwatch(stream.fd.get());
  stream.fd.reset();
}

void Supervisor::read_stream(Rank& rank, Stream& stream, bool until_empty) {
  do {
    const ssize_t got = ::read(stream.fd.get(), buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      close_stream(stream);
      return;
    }
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
    rank.log.append(bytes);
    rank.tail.feed(bytes);
    std::string lines;
    stream.cutter.feed(bytes, lines);
    sink_of(stream).push(std::move(lines));
  } while (until_empty);
}

void Supervisor::watch_sink(Sink& sink, bool& watched) {
  sink.flush();
  if (sink.pending() == watched) return;
  if (watched) {
    unwatch(sink.fd());
    watched = false;
  } else {
    // A regular file cannot be watched and need not be: it always takes what it is given.
    watched = watch(sink.fd(), EPOLLOUT, Watch::sink, 0);
  }
}

// Writes what the sinks can take; lets ranks' pipes fill while a sink is full.
void Supervisor::update_flow() {
  watch_sink(console_.out(), out_watched_);
  if (&console_.err() != &console_.out()) watch_sink(console_.err(), err_watched_);
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    for (Stream& stream : ranks_[index].streams) {
      if (!stream.fd.valid() || sink_of(stream).full() == stream.paused) continue;
      if (stream.paused) {
        const Watch kind = stream.is_stderr ? Watch::rank_err : Watch::rank_out;
        HW_CHECK(watch(stream.fd.get(), EPOLLIN, kind, static_cast<int>(index)));
      } else {
        unwatch(stream.fd.get());
      }
      stream.paused = !stream.paused;
    }
  }
}

// All processes are gone. What is left in the pipes is read, what is left in the queues is written,
// however slow the reader is; a signal ends the wait.
void Supervisor::drain_output() {
  for (Rank& rank : ranks_) {
    for (Stream& stream : rank.streams) {
      if (stream.fd.valid()) read_stream(rank, stream, true);
      if (stream.fd.valid()) close_stream(stream);
    }
  }
  for (Sink* sink : {&console_.out(), &console_.err()}) {
    sink->flush();
    if (policy_.hurried() && sink->pending()) sink->abandon();  // nobody reads
    for (; sink->pending(); sink->flush()) {
      pollfd ready[2] = {{sink->fd(), POLLOUT, 0}, {signals_.fd(), POLLIN, 0}};
      ::poll(ready, 2, -1);
      const auto signal = ready[1].revents != 0 ? signals_.next() : std::nullopt;
      if (signal && is_stop_signal(signal->number)) sink->abandon();
    }
  }
}

}  // namespace headway::agent
