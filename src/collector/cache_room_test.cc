// Compile caches on a collector: a real port, real shelves, and clients that mean harm.
#include "collector/cache_room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/file.h"
#include "base/temp_dir.h"
#include "cache/http_shelf.h"
#include "cache/share.h"
#include "cache/test_cache.h"
#include "collector/cache_api.h"
#include "collector/collector.h"
#include "net/curl_transport.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

using cache::HttpShelf;
using ::testing::HasSubstr;

// Loses every answer whose number is in it, as a connection that is cut does.
class CutTransport final : public net::Transport {
 public:
  explicit CutTransport(unsigned seed) : random_(seed) {}
  net::Exchange send(const net::HttpRequest& request) override {
    if (random_() % 3 == 0) return lost();  // on the way there
    net::Exchange exchange = real_.send(request);
    return random_() % 3 == 0 ? lost() : exchange;  // on the way back
  }

 private:
  static net::Exchange lost() {
    net::Exchange exchange;
    exchange.failure = net::Failure::cut;
    exchange.why = "cut";
    return exchange;
  }
  net::CurlTransport real_{net::CurlOptions{}};
  std::mt19937 random_;
};

class CollectorCaches : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(key_.ok()); }
  void start(std::uint64_t tenant_bytes_max = 1 << 30) {
    collector_.reset();
    CollectorOptions options;
    options.limits.mistakes_burst = 1000;
    options.caches.folder = dir_.path() + "/caches";
    options.caches.tenant_bytes_max = tenant_bytes_max;
    auto store = store::open_sqlite({dir_.path() + "/store.db"});
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto collector = Collector::start(std::move(options), std::move(*store));
    ASSERT_TRUE(collector.ok()) << collector.status().message();
    collector_ = std::move(*collector);
  }
  std::string add_token(store::Role role, const std::string& tenant) {
    auto store = store::open_sqlite({dir_.path() + "/store.db", store::Purpose::change});
    const std::string secret = draw_token();
    EXPECT_TRUE((*store)->add_token({0, tenant, role, "test", token_hash(secret), 0}).ok());
    EXPECT_TRUE(collector_->tend().ok());
    return secret;
  }
  [[nodiscard]] std::string url() const {
    return fmt::format("http://127.0.0.1:{}", collector_->port());
  }
  std::unique_ptr<HttpShelf> shelf(const std::string& token = {},
                                   std::unique_ptr<net::Transport> transport = nullptr) {
    if (!transport) transport = std::make_unique<net::CurlTransport>(net::CurlOptions{});
    return std::make_unique<HttpShelf>(std::move(transport), url(), token,
                                       std::chrono::milliseconds(1));
  }
  net::HttpAnswer ask(const std::string& method, const std::string& path,
                      const std::string& body = {}, net::Headers headers = {}) {
    net::CurlTransport transport{net::CurlOptions{}};
    net::HttpRequest request;
    request.method = method;
    request.url = url() + path;
    request.body = base::bytes_of(body);
    request.headers = std::move(headers);
    const net::Exchange exchange = transport.send(request);
    EXPECT_EQ(exchange.failure, net::Failure::none) << exchange.why;
    return exchange.answer;
  }
  std::unique_ptr<cache::Archive> make(const std::string& name, std::size_t bytes = 1000) {
    base::FileSystem& files = base::real_file_system();
    std::string content(bytes, '\0');  // that cannot be packed
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(name)));
    for (char& c : content) c = static_cast<char>(random());
    cache::write_tree(files, dir_.path() + "/" + name, {{"ab/c" + name + ".so", content}});
    const std::string path = dir_.path() + "/" + name + ".hwc";
    EXPECT_TRUE(cache::pack_tree(files, dir_.path() + "/" + name, path, cache::test_binding(),
                                 &key_.value())
                    .ok());
    return cache::open_archive(files, path);
  }
  static std::string name_of(const cache::Archive& archive) {
    return cache::shelf_name(archive.binding(), archive.index());
  }
  static std::string content_of(const cache::Archive& archive) {
    auto text = base::read_file(archive.path(), 1 << 28);
    EXPECT_TRUE(text.ok());
    return *text;
  }
  // Everything below the folder of caches, uploads included.
  std::vector<std::string> kept() {
    std::vector<std::string> names;
    auto files = base::list_files(dir_.path() + "/caches", "", 8, 1000);
    if (!files.ok()) return names;
    for (const std::string& file : *files) {
      names.push_back(file.substr(dir_.path().size() + 8));
    }
    return names;
  }
  std::vector<std::string> pulled(cache::Shelf& shelf, std::size_t* notes = nullptr) {
    const std::string scratch = fmt::format("{}/scratch{}", dir_.path(), ++scratches_);
    EXPECT_TRUE(base::make_dirs(scratch).ok());
    const cache::Trust trust{{key_.value().public_key()}, false};
    auto done = cache::pull(shelf, cache::test_binding(), trust, {}, scratch, 1);
    EXPECT_TRUE(done.ok()) << done.status().message();
    std::vector<std::string> names;
    if (!done.ok()) return names;
    if (notes != nullptr) *notes = done->notes.size();
    for (const auto& archive : done->archives) names.push_back(name_of(*archive));
    std::ranges::sort(names);
    return names;
  }
  std::string put_path(const std::string& name, std::uint64_t offset, std::uint64_t total,
                       const std::string& upload = std::string(32, 'a')) {
    return fmt::format("/api/v1/caches/{}?upload={}&offset={}&bytes={}", name, upload, offset,
                       total);
  }

  base::TempDir dir_;
  const base::Result<cache::SigningKey> key_ = cache::SigningKey::make();
  std::unique_ptr<Collector> collector_;
  int scratches_ = 0;
};

TEST_F(CollectorCaches, WhatIsPushedIsPulled) {
  start();
  const auto small = make("small"), large = make("large", 11 << 20);  // in three pieces
  const auto to = shelf();
  EXPECT_TRUE(to->list("")->empty());
  for (const auto* archive : {small.get(), large.get()}) {
    auto pushed = cache::push(*archive, *to, 1);
    ASSERT_TRUE(pushed.ok()) << pushed.status().message();
    EXPECT_FALSE(pushed->was_there);
    pushed = cache::push(*archive, *to, 1);
    ASSERT_TRUE(pushed.ok() && pushed->was_there);
  }
  std::vector<std::string> names{name_of(*small), name_of(*large)};
  std::ranges::sort(names);
  EXPECT_EQ(pulled(*to), names);
  EXPECT_EQ(to->list("tests")->size(), 2U);
  EXPECT_TRUE(to->list("other")->empty());
  EXPECT_EQ(kept().size(), 2U);
  // By one who has never seen them, after a restart.
  start();
  EXPECT_EQ(pulled(*shelf()), names);
  EXPECT_TRUE(shelf()->remove(name_of(*small)).ok());
  EXPECT_TRUE(shelf()->remove(name_of(*small)).ok());
  EXPECT_EQ(pulled(*shelf()), std::vector{name_of(*large)});
}

TEST_F(CollectorCaches, TenantsDoNotSeeEachOther) {
  start();
  const std::string ads = add_token(store::Role::ingest, "ads"),
                    odd = add_token(store::Role::ingest, "../ads"),
                    reader = add_token(store::Role::read, "ads"),
                    admin = add_token(store::Role::admin, "ads");
  const auto archive = make("a");
  ASSERT_TRUE(cache::push(*archive, *shelf(ads), 1).ok());
  EXPECT_EQ(pulled(*shelf(ads)).size(), 1U);
  EXPECT_TRUE(pulled(*shelf(odd)).empty());
  // Not by its name, either; and the same archive is another one there.
  EXPECT_FALSE(shelf(odd)->fetch({name_of(*archive), archive->file_bytes(), 0}, dir_.path()).ok());
  auto pushed = cache::push(*archive, *shelf(odd), 1);
  ASSERT_TRUE(pushed.ok()) << pushed.status().message();
  EXPECT_FALSE(pushed->was_there);
  for (const std::string& name : kept()) {
    EXPECT_TRUE(name.starts_with("ads/") || name.starts_with("~")) << name;
  }
  // Who may what.
  EXPECT_EQ(ask("GET", "/api/v1/caches").status, 401);
  auto refused = shelf("hw_wrong")->list("");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("no such token (status 401)"));
  EXPECT_FALSE(shelf(reader)->list("").ok());
  EXPECT_FALSE(shelf(ads)->remove(name_of(*archive)).ok());
  EXPECT_TRUE(shelf(admin)->remove(name_of(*archive)).ok());
  EXPECT_TRUE(pulled(*shelf(ads)).empty());
  EXPECT_EQ(pulled(*shelf(odd)).size(), 1U);
}

TEST_F(CollectorCaches, CutConnectionsGoOnWhereTheyWere) {
  start();
  const auto archive = make("a", 10 << 20);
  int put = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto flaky = shelf("", std::make_unique<CutTransport>(seed));
    // Four in a row are one too many: then it is an error, and nothing is there.
    auto pushed = flaky->put(archive->path(), name_of(*archive));
    if (pushed.ok()) {
      ++put;
      EXPECT_EQ(pulled(*shelf()), std::vector{name_of(*archive)});
      ASSERT_TRUE(shelf()->remove(name_of(*archive)).ok());
    } else {
      EXPECT_THAT(pushed.status().message(), HasSubstr("cut"));
      // All of it may have got there, and only the word of it not.
      const auto there = pulled(*shelf());
      if (!there.empty()) {
        ASSERT_TRUE(shelf()->remove(name_of(*archive)).ok());
      }
    }
  }
  EXPECT_GT(put, 0);
}

TEST_F(CollectorCaches, HostileBodiesLeaveNothing) {
  start();
  const auto archive = make("a"), other = make("b");
  const std::string good = content_of(*archive), name = name_of(*archive);
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    std::string bad = good;
    if (seed % 4 == 0) bad.resize(1 + random() % (good.size() - 1));
    if (seed % 4 == 1) bad = std::string(1 + random() % 5000, static_cast<char>(random()));
    if (seed % 4 >= 2) bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    const net::HttpAnswer answer = ask("PUT", put_path(name, 0, bad.size()), bad);
    EXPECT_EQ(answer.status, 422) << answer.body;
  }
  // A good one under another one's name.
  const std::string stranger = content_of(*other);
  EXPECT_EQ(ask("PUT", put_path(name, 0, stranger.size()), stranger).status, 422);
  EXPECT_TRUE(kept().empty());
  // Pieces that do not fit.
  EXPECT_EQ(ask("PUT", put_path(name, 0, good.size()), good + "x").status, 400);
  EXPECT_EQ(ask("PUT", put_path(name, 5, good.size()), good.substr(5)).status, 409);
  EXPECT_EQ(ask("PUT", put_path(name, UINT64_MAX, UINT64_MAX), good).status, 400);
  EXPECT_EQ(ask("PUT", put_path(name, 0, 1ULL << 62), good).status, 400);
  EXPECT_EQ(ask("PUT", put_path(name, 0, 0), "").status, 400);
  EXPECT_EQ(ask("PUT", put_path(name, 0, good.size(), "../../../x"), good).status, 400);
  EXPECT_EQ(ask("PUT", put_path(name, 0, good.size(), std::string(32, 'G')), good).status, 400);
  EXPECT_EQ(ask("PUT", "/api/v1/caches/" + name, good).status, 400);
  EXPECT_EQ(ask("PUT", put_path(name, 0, 5 << 20), std::string(5 << 20, 'x')).status, 413);
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(ask("PUT", put_path(name, 0, good.size()), good).status, 201);
  EXPECT_EQ(kept().size(), 1U);
}

TEST_F(CollectorCaches, NamesLeadNowhereElse) {
  start();
  const auto archive = make("a");
  const std::string content = content_of(*archive), name = name_of(*archive);
  const std::string rest = name.substr(name.find('/'));
  dir_.write("secret.hwc", "secret");
  for (const char* bad :
       {"../secret.hwc", "..%2fsecret.hwc", "%2e%2e/%2e%2e/secret.hwc", "../x/secret.hwc",
        "tests/../../secret.hwc", "tests/x/secret.hwc", "tests", "tests/", "tests//x.hwc"}) {
    for (const char* method : {"GET", "PUT", "DELETE"}) {
      const bool has_body = *method == 'P';
      const auto answer = ask(method, "/api/v1/caches/" + std::string(bad), has_body ? "x" : "",
                              {{"range", "bytes=0-5"}});
      EXPECT_EQ(answer.status, 404) << method << " " << bad << " " << answer.body;
    }
  }
  for (const std::string family : {"..", ".incoming", "~x", "a%20b", ""}) {
    EXPECT_EQ(ask("PUT", put_path(family + rest, 0, content.size()), content).status, 404);
  }
  for (const char* folder : {"..", "../..", "/", "tests/..", "tests/x", ".incoming"}) {
    EXPECT_EQ(ask("GET", std::string("/api/v1/caches?folder=") + folder).status, 400) << folder;
  }
  EXPECT_EQ(ask("POST", "/api/v1/caches/" + name, "x").status, 405);
  EXPECT_EQ(ask("PUT", "/api/v1/caches", "x").status, 405);
  EXPECT_TRUE(kept().empty());
}

TEST_F(CollectorCaches, PiecesAreAskedForOneByOne) {
  start();
  const auto archive = make("a", 3000);
  ASSERT_TRUE(cache::push(*archive, *shelf(), 1).ok());
  const std::string path = "/api/v1/caches/" + name_of(*archive), all = content_of(*archive);
  const auto get = [&](const std::string& range) {
    return ask("GET", path, "", {{"range", range}});
  };
  const auto piece = get("bytes=7-16");
  EXPECT_EQ(piece.status, 206);
  EXPECT_EQ(piece.body, all.substr(7, 10));
  EXPECT_EQ(piece.header("content-range"), fmt::format("bytes 7-16/{}", all.size()));
  EXPECT_EQ(get("bytes=0-999999999").body, all);
  EXPECT_EQ(get(fmt::format("bytes={}-{}", all.size(), all.size() + 5)).status, 416);
  for (const char* bad : {"", "bytes=5", "bytes=5-", "bytes=-5", "bytes=9-5", "bytes=0-1,3-4",
                          "lines=0-5", "bytes=0-18446744073709551615"}) {
    EXPECT_EQ(get(bad).status, 400) << bad;
  }
}

void set_used(const std::string& path, std::int64_t seconds_ago) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= seconds_ago;
  const timespec times[2] = {now, now};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST_F(CollectorCaches, OverTheBoundTheLongestUnusedGoes) {
  start(3'500'000);
  const std::string below = dir_.path() + "/caches/default/";
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) {
    const auto archive = make(fmt::format("a{}", i), 1'000'000);
    ASSERT_TRUE(cache::push(*archive, *shelf(), 1).ok());
    names.push_back(name_of(*archive));
    set_used(below + names.back(), 1000 - i);
  }
  // The first is read again, so it is the second that goes.
  EXPECT_EQ(ask("GET", "/api/v1/caches/" + names[0], "", {{"range", "bytes=0-9"}}).status, 206);
  const auto fresh = make("fresh", 1'000'000);
  ASSERT_TRUE(cache::push(*fresh, *shelf(), 1).ok());
  std::vector<std::string> left{names[0], names[2], name_of(*fresh)};
  std::ranges::sort(left);
  EXPECT_EQ(pulled(*shelf()), left);
  // One that could never fit is refused, and costs the others nothing.
  const auto pushed = cache::push(*make("huge", 4'000'000), *shelf(), 1);
  ASSERT_FALSE(pushed.ok());
  EXPECT_THAT(pushed.status().message(), HasSubstr("an archive may have 1 to 3500000"));
  EXPECT_EQ(pulled(*shelf()), left);
}

TEST_F(CollectorCaches, ForsakenUploadsGo) {
  start();
  const auto archive = make("a", 100'000);
  const std::string content = content_of(*archive), name = name_of(*archive);
  const auto begun = ask("PUT", put_path(name, 0, content.size()), content.substr(0, 100));
  EXPECT_EQ(begun.status, 200) << begun.body;
  EXPECT_EQ(nlohmann::json::parse(begun.body)["next"], 100);
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_TRUE(shelf()->list("")->empty());
  EXPECT_EQ(ask("GET", "/api/v1/caches/" + name, "", {{"range", "bytes=0-9"}}).status, 404);
  set_used(dir_.path() + "/caches/" + kept()[0], 3600);
  ASSERT_TRUE(cache::push(*make("b"), *shelf(), 1).ok());
  EXPECT_EQ(kept().size(), 1U);
}

TEST_F(CollectorCaches, ManyAtOnce) {
  start();
  std::vector<std::unique_ptr<cache::Archive>> archives;
  for (int i = 0; i < 3; ++i) archives.push_back(make(fmt::format("a{}", i), 5 << 20));
  std::vector<std::thread> threads;
  std::atomic<int> put = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      const cache::Archive& archive = *archives[static_cast<std::size_t>(i) % archives.size()];
      auto done = shelf()->put(archive.path(), name_of(archive));
      EXPECT_TRUE(done.ok()) << done.status().message();
      if (done.ok() && *done) ++put;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(put, 3);
  EXPECT_EQ(pulled(*shelf()).size(), 3U);
  EXPECT_EQ(kept().size(), 3U);
}

TEST_F(CollectorCaches, WhereNoneAreKeptItSaysSo) {
  CollectorOptions options;
  options.caches.why_not = "keep them in an object store";
  auto store = store::open_sqlite({dir_.path() + "/store.db"});
  auto collector = Collector::start(std::move(options), std::move(*store));
  ASSERT_TRUE(collector.ok());
  collector_ = std::move(*collector);
  const auto listed = shelf()->list("");
  ASSERT_FALSE(listed.ok());
  EXPECT_THAT(listed.status().message(), HasSubstr("keep them in an object store (status 501)"));
}

}  // namespace
}  // namespace headway::collector
