#include "collector/live_feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/answers.h"

namespace headway::collector {

net::ServerAnswer LiveFeed::head() {
  net::ServerAnswer head;
  head.content_type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  return head;
}

void LiveFeed::add(const std::string& tenant, std::int64_t token,
                   const std::shared_ptr<net::Reply>& reply) {
  const std::lock_guard lock(mutex_);
  const auto own = std::ranges::count(readers_, tenant, &Reader::tenant);
  if (readers_.size() + static_cast<std::size_t>(own) >= readers_max) {
    return reply->send(later_answer(503, "too many are listening", 30));
  }
  auto stream = reply->stream(head());
  if (!stream) return;
  // At once, so that a reader knows that it is connected; and how soon to come back.
  stream->write("retry: 2000\n: connected\n\n");
  readers_.push_back({tenant, token, std::move(stream)});
}

void LiveFeed::keep_only(const std::function<bool(std::int64_t token)>& is_good) {
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [&](const Reader& reader) {
    if (is_good(reader.token)) return false;
    reader.stream->close();
    return true;
  });
}

void LiveFeed::write_to(const std::string* tenant, const std::string& text) {
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [&](const Reader& reader) {
    if (tenant != nullptr && reader.tenant != *tenant) return false;
    return !reader.stream->write(text);
  });
}

void LiveFeed::publish(const std::string& tenant, std::string_view event, std::string_view data) {
  write_to(&tenant, fmt::format("event: {}\ndata: {}\n\n", event, data));
}

void LiveFeed::tend(std::int64_t now_ns) {
  if (now_ns < next_comment_ns_) return;
  next_comment_ns_ = now_ns + comment_ns;
  write_to(nullptr, ": still here\n\n");
}

void LiveFeed::close() {
  const std::lock_guard lock(mutex_);
  for (const Reader& reader : readers_) reader.stream->close();
  readers_.clear();
}

std::size_t LiveFeed::readers() const {
  const std::lock_guard lock(mutex_);
  return readers_.size();
}

}  // namespace headway::collector
