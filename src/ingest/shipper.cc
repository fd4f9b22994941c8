#include "ingest/shipper.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "net/percent.h"
#include "record/journal_reader.h"

namespace headway::ingest {
namespace {

constexpr std::int64_t shortest_wait_ns = 500'000'000;
constexpr std::size_t answer_text_max = 200;  // of a refusal, in a note

bool is_ours(const event::HeaderFields& header, const std::string& host) {
  const base::BootId ours = base::boot_id();
  return std::equal(ours.begin(), ours.end(), header.boot_id) ||
         (!host.empty() && header.host == host);
}

std::optional<std::int64_t> retry_after_ns(const net::HttpAnswer& answer) {
  const std::string_view text = answer.header("retry-after");
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return {};
  return std::min<std::int64_t>(seconds, 3600) * base::kNsPerSecond;
}

// What a collector says of a refusal, as one short line.
std::string reason(const net::HttpAnswer& answer) {
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  std::string text;
  if (body.is_object() && body.contains("error") && body["error"].is_string()) {
    text = body["error"].get<std::string>().substr(0, answer_text_max);
    std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  }
  return text.empty() ? fmt::format("status {}", answer.status)
                      : fmt::format("{} (status {})", text, answer.status);
}

}  // namespace

Shipper::Shipper(net::Transport& transport, ShipOptions options, std::uint64_t seed)
    : transport_(transport),
      options_(std::move(options)),
      back_off_(shortest_wait_ns, longest_wait_ns, seed) {}

void Shipper::look() {
  const auto paths = record::list_journals(options_.job_dir);
  if (!paths.ok()) {
    all_open_ = false;
    return;
  }
  std::set<std::string> open_now;
  for (const auto& [place, tail] : tails_) open_now.insert(place.second);
  all_open_ = true;
  for (const std::string& path : paths.value()) {
    if (finished_.contains(path) || open_now.contains(path)) continue;
    if (tails_.size() >= tails_max) {
      all_open_ = false;
      return;
    }
    open(path);
  }
}

// A file that is none of ours, or none at all, is not looked at again. (A journal gets its name
// when its header is whole.)
void Shipper::open(const std::string& path) {
  auto journal = JournalTail::open(path);
  if (!journal.ok() || (*journal)->header().job != options_.job ||
      !(options_.every_host || is_ours((*journal)->header(), options_.host))) {
    finished_.insert(path);
    return;
  }
  const Place place((*journal)->header().attempt, path);
  if (!places_.try_emplace((*journal)->id(), place).second) {  // a copy of another
    finished_.insert(path);
    return;
  }
  tails_[place] = {std::move(*journal)};
}

Shipper::Tail* Shipper::find(const JournalId& id) {
  const auto place = places_.find(id);
  return place == places_.end() ? nullptr : &tails_.at(place->second);
}

// False: the batch is full.
bool Shipper::add(BatchWriter& batch, Tail& tail, bool over, bool sign_of_life) {
  if (batch.full()) return false;
  JournalTail& journal = *tail.journal;
  const bool dead = over || writer_is_gone(journal.header());
  const JournalTail::Read read = journal.read(batch.slots_left(), dead);
  tail.last_told = (read.chunk.flags & kChunkFinal) != 0;
  if (read.slots.empty() && !tail.last_told && tail.known && !sign_of_life) return true;
  if (!tail.known) batch.add_head(journal.header(), journal.name());
  batch.add_chunk(read.chunk, read.slots);
  return true;
}

// Of one group. Groups that have nothing to say are done with.
std::uint64_t Shipper::fill_suspects(BatchWriter& batch, bool over) {
  std::uint64_t attempt = 0;
  for (; !suspects_.empty(); suspects_.pop_front()) {
    for (const JournalId& id : suspects_.front()) {
      Tail* tail = find(id);
      if (tail == nullptr) continue;
      attempt = places_.at(id).first;
      add(batch, *tail, over, false);
    }
    if (!batch.empty()) break;
  }
  return attempt;
}

// One attempt's, the oldest that has something to say; which one. Of each journal no more than is
// read at once, so that no rank waits for another's backlog.
std::uint64_t Shipper::fill(BatchWriter& batch, bool over, bool sign_of_life) {
  more_attempts_ = !suspects_.empty();
  if (more_attempts_) {
    const std::uint64_t attempt = fill_suspects(batch, over);
    if (!batch.empty()) return attempt;
  }
  std::uint64_t attempt = 0;
  const std::uint64_t newest = tails_.empty() ? 0 : tails_.rbegin()->first.first;
  more_attempts_ = false;
  for (auto& [place, tail] : tails_) {
    more_attempts_ = place.first != attempt && !batch.empty();
    if (more_attempts_) break;
    attempt = place.first;
    if (!add(batch, tail, over, sign_of_life && attempt == newest && batch.empty())) break;
  }
  return attempt;
}

Shipper::Round Shipper::round(std::int64_t now_ns, std::int64_t real_ns, bool over) {
  look();
  BatchWriter batch;
  const std::uint64_t attempt = fill(batch, over, now_ns >= next_sign_ns_);
  if (!batch.empty()) return send(batch, attempt, now_ns, real_ns);
  done_ = over && all_open_ && tails_.empty();
  const std::int64_t look_in_ns = counts_.batches == 0 ? first_look_ns : look_ns;
  return {.wait_ns = done_ ? 0 : look_in_ns, .idle = true, .caught_up = true};
}

Shipper::Round Shipper::send(const BatchWriter& batch, std::uint64_t attempt, std::int64_t now_ns,
                             std::int64_t real_ns) {
  const std::vector<std::byte> bytes = batch.finish(real_ns);
  net::HttpRequest request;
  request.method = "POST";
  request.url = fmt::format("{}/api/v1/ingest/{}/{}", options_.to.url,
                            net::percent_encoded(options_.job, false), attempt);
  request.headers = {{"content-type", "application/vnd.headway.batch"}};
  if (!options_.to.token.empty()) {
    request.headers.emplace_back("authorization", "Bearer " + options_.to.token);
  }
  request.body = bytes;
  const net::Exchange exchange = transport_.send(request);
  const int status = exchange.failure == net::Failure::none ? exchange.answer.status : 0;
  switch (status) {
    case 200:
      next_sign_ns_ = now_ns + sign_of_life_ns;
      take_positions(exchange.answer.body);
      return taken(batch, bytes.size());
    case 409:  // it has less than we thought, and says what
      rewind(batch);
      take_positions(exchange.answer.body);
      ++counts_.retries;
      return told(back_off_.next_ns(), {});
    case 400:
    case 413:
    case 415:
    case 422:
      return refused(batch, reason(exchange.answer));
    default:
      rewind(batch);
      ++counts_.retries;
      return later(exchange);
  }
}

// Tails that have been told to their end are closed.
Shipper::Round Shipper::taken(const BatchWriter& batch, std::size_t bytes) {
  back_off_.reset();
  if (!suspects_.empty()) suspects_.pop_front();
  ++counts_.batches;
  counts_.slots += batch.slots();
  counts_.bytes += bytes;
  bool behind = batch.full() || more_attempts_;
  for (const ChunkRecord& chunk : batch.chunks()) {
    Tail* tail = find(chunk.journal);
    if (tail == nullptr) continue;
    tail->known = true;
    behind = behind || chunk.slots == JournalTail::read_slots ||
             tail->journal->position() < chunk.first_slot + chunk.slots;
    if (!tail->last_told || tail->journal->position() != chunk.first_slot) continue;
    const Place place = places_.at(chunk.journal);
    finished_.insert(place.second);
    places_.erase(chunk.journal);
    tails_.erase(place);
    behind = true;  // others may wait for its place, or nothing is left at all
  }
  const bool was_away = !last_note_.empty();
  last_note_.clear();
  return {.wait_ns = behind ? 0 : look_ns,
          .caught_up = !behind,
          .note = was_away ? "the collector has taken what had waited" : ""};
}

Shipper::Round Shipper::later(const net::Exchange& exchange) {
  const net::HttpAnswer& answer = exchange.answer;
  std::string why = exchange.failure != net::Failure::none ? exchange.why : reason(answer);
  if (exchange.failure == net::Failure::tls) why += ": see HEADWAY_CA_FILE";
  std::int64_t wait_ns = back_off_.next_ns();
  if (exchange.failure == net::Failure::none) {
    // Jitter on top: those who were told the same time do not come back together.
    if (const auto asked = retry_after_ns(answer)) wait_ns = *asked + wait_ns / 2;
    if (answer.status == 401 || answer.status == 403) {
      why += ": see HEADWAY_TOKEN";
      // A token that is taken back is that of a whole fleet.
      wait_ns = back_off_.spread_ns(longest_wait_ns);
    }
  }
  return told(wait_ns, fmt::format("the collector at {} does not take records: {}; they wait in {}",
                                   options_.to.url, why, options_.job_dir));
}

// Said once, not at each try.
Shipper::Round Shipper::told(std::int64_t wait_ns, const std::string& note) {
  if (note.empty() || note == last_note_) return {.wait_ns = wait_ns};
  last_note_ = note;
  return {.wait_ns = wait_ns, .note = note};
}

void Shipper::take_positions(const std::string& body) {
  const auto answer = nlohmann::json::parse(body, nullptr, false);
  if (!answer.is_object() || !answer.contains("journals") || !answer["journals"].is_array()) return;
  for (const auto& each : answer["journals"]) {
    if (!each.is_object() || !each.contains("id") || !each["id"].is_string() ||
        !each.contains("next") || !each["next"].is_number_unsigned()) {
      continue;
    }
    JournalId id;
    if (!base::bytes_of_hex(each["id"].get<std::string>(), id)) continue;
    Tail* tail = find(id);
    if (tail == nullptr) continue;
    const auto next = each["next"].get<std::uint64_t>();
    if (next <= tail->journal->header().slots_max) tail->journal->seek(next);
    if (next == 0) tail->known = false;
  }
}

// It may not have arrived: all of it goes again.
void Shipper::rewind(const BatchWriter& batch) {
  for (const ChunkRecord& chunk : batch.chunks()) {
    Tail* tail = find(chunk.journal);
    if (tail != nullptr) tail->journal->seek(std::min(tail->journal->position(), chunk.first_slot));
  }
}

// The answer need not say for which of its journals a batch was refused: halves of them are sent
// until it is known, and only that one is left out from then on.
Shipper::Round Shipper::refused(const BatchWriter& batch, const std::string& why) {
  if (!suspects_.empty()) suspects_.pop_front();
  const std::vector<ChunkRecord>& chunks = batch.chunks();
  if (chunks.size() > 1) {
    rewind(batch);
    const auto group = [&](std::size_t begin, std::size_t end) {
      std::vector<JournalId> ids;
      for (std::size_t i = begin; i < end; ++i) ids.push_back(chunks[i].journal);
      return ids;
    };
    suspects_.push_front(group(chunks.size() / 2, chunks.size()));
    suspects_.push_front(group(0, chunks.size() / 2));
    return {};
  }
  std::string path = options_.job_dir;
  const auto place = places_.find(chunks.front().journal);
  if (place != places_.end()) {
    path = place->second.second;
    finished_.insert(path);
    tails_.erase(place->second);
    places_.erase(place);
    ++counts_.refused_journals;
  }
  if (why == last_refusal_) return {};
  last_refusal_ = why;
  return {.note = fmt::format("the collector refuses {}: {}; it stays there", path, why)};
}

}  // namespace headway::ingest
