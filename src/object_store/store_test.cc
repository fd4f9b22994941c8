#include "object_store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "object_store/sim_store.h"

namespace headway::object_store {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Fixture {
  explicit Fixture(SimStore::Habits habits = {}, StoreOptions options = {})
      : sim(habits), store(sim, test_settings(), SimStore::bucket, options, test_runtime(&waits)) {}
  SimStore sim;
  std::vector<std::int64_t> waits;
  Store store;
};

std::span<std::byte> room_in(std::string& text) {
  return std::as_writable_bytes(std::span(text));
}

StoreOptions one_connection() {
  StoreOptions options;
  options.connections = 1;
  options.range_bytes = 100;
  return options;
}

TEST(Store, PutGetHeadListRemove) {
  Fixture f;
  for (const char* key : {"a/1", "a/2", "a/b c/ü+&<%41", "a/d/x", "a/d/y", "b/1", "c"}) {
    ASSERT_TRUE(f.store.put(key, base::bytes_of(key)).ok());
  }
  EXPECT_EQ(f.store.get_text("a/b c/ü+&<%41", 100).value(), "a/b c/ü+&<%41");
  EXPECT_EQ(f.store.head("a/1").value().bytes, 3U);
  EXPECT_EQ(f.store.head("nope").status().code(), base::Code::not_found);
  const Listing all = f.store.list("").value();
  EXPECT_EQ(all.objects.size(), 7U) << "over several pages";
  const Listing top = f.store.list("a/", "/").value();
  EXPECT_EQ(top.objects.size(), 2U);
  EXPECT_THAT(top.prefixes, testing::ElementsAre("a/b c/", "a/d/"));
  EXPECT_TRUE(f.store.remove("nope").ok());
  EXPECT_TRUE(f.store.remove_many({"a/1", "a/b c/ü+&<%41", "odd\x01key", "nope"}).ok());
  EXPECT_EQ(f.sim.objects().size(), 5U);
  const auto large = f.store.get_text("c", 0);
  EXPECT_FALSE(large.ok());
}

TEST(Store, RequestsAreSignedAndSaySo) {
  Fixture f;
  f.sim.before = [](const net::HttpRequest& request, std::size_t) -> std::optional<net::Exchange> {
    std::string names;
    for (const auto& [name, value] : request.headers) {
      names += name + " ";
      EXPECT_THAT(value, Not(HasSubstr("the-secret")));
    }
    EXPECT_THAT(names, HasSubstr("authorization"));
    EXPECT_THAT(names, HasSubstr("x-amz-checksum-crc32c"));
    return std::nullopt;
  };
  EXPECT_TRUE(f.store.put("k", base::bytes_of("x")).ok());
}

TEST(Store, AmazonsOwnHosts) {
  for (const auto& [bucket, region, url] :
       {std::tuple("plain", "eu-west-1", "https://plain.s3.eu-west-1.amazonaws.com/k"),
        std::tuple("with.dot", "eu-west-1", "https://s3.eu-west-1.amazonaws.com/with.dot/k"),
        std::tuple("plain", "cn-north-1", "https://plain.s3.cn-north-1.amazonaws.com.cn/k")}) {
    SimStore sim;
    std::string seen, hash;
    sim.before = [&](const net::HttpRequest& request, std::size_t) {
      seen = request.url;
      for (const auto& [name, value] : request.headers) {
        if (name == "x-amz-content-sha256") hash = value;
      }
      return std::optional(error_answer(403, "AccessDenied"));
    };
    Settings settings = test_settings();
    settings.endpoint.reset();
    settings.region = region;
    Store store(sim, settings, bucket, {}, test_runtime());
    EXPECT_FALSE(store.put("k", base::bytes_of("x")).ok());
    EXPECT_EQ(seen, url);
    EXPECT_EQ(hash, unsigned_payload) << "TLS covers the body";
  }
}

TEST(Store, TriesAgainAndGivesUp) {
  Fixture f;
  int left = 3;
  f.sim.before = [&](const net::HttpRequest&, std::size_t) -> std::optional<net::Exchange> {
    if (left-- <= 0) return std::nullopt;
    return left == 2   ? error_answer(503, "SlowDown")
           : left == 1 ? failed(net::Failure::cut)
                       : error_answer(500, "InternalError");
  };
  EXPECT_TRUE(f.store.put("k", base::bytes_of("x")).ok());
  EXPECT_EQ(f.waits.size(), 3U);
  for (const std::int64_t ns : f.waits) {
    EXPECT_GE(ns, RetryPolicy().shortest_ns);
    EXPECT_LE(ns, RetryPolicy().longest_ns);
  }
  left = 1000;
  f.waits.clear();
  const base::Status status = f.store.put("k", base::bytes_of("x"));
  EXPECT_THAT(status.message(), HasSubstr("put s3://bucket/k: 500 InternalError"));
  EXPECT_THAT(status.message(), HasSubstr("after 7 tries"));
  EXPECT_EQ(f.waits.size(), 6U);
  f.sim.before = [&](const net::HttpRequest&, std::size_t) {
    return std::optional(error_answer(403, "SignatureDoesNotMatch"));
  };
  f.waits.clear();
  EXPECT_THAT(f.store.put("k", base::bytes_of("x")).message(), Not(HasSubstr("tries")));
  EXPECT_TRUE(f.waits.empty()) << "a wrong key does not get better";
}

TEST(Store, TheServerMayAskForAWait) {
  Fixture f;
  int left = 2;
  f.sim.before = [&](const net::HttpRequest&, std::size_t) -> std::optional<net::Exchange> {
    if (left == 0) return std::nullopt;
    net::Exchange slow = error_answer(503, "SlowDown");
    slow.answer.headers.emplace_back("retry-after", left-- == 2 ? "15" : "99999");
    return slow;
  };
  EXPECT_TRUE(f.store.put("k", base::bytes_of("x")).ok());
  EXPECT_EQ(f.waits, (std::vector<std::int64_t>{15'000'000'000, RetryPolicy().longest_ns}));
}

TEST(Store, WhatWasPutIsConfirmed) {
  const auto put =
      [](SimStore::Habits habits, bool accept,
         const std::function<void(const net::HttpRequest&, net::Exchange&)>& after = {}) {
        StoreOptions options;
        options.accept_unconfirmed = accept;
        Fixture f(habits, options);
        f.sim.after = after;
        return f.store.put("k", base::bytes_of("some data")).message();
      };
  EXPECT_EQ(put({}, false), "");
  EXPECT_EQ(put({.confirms_crc32c = false}, false), "") << "by its MD5";
  EXPECT_THAT(put({.confirms_crc32c = false, .md5_tags = false}, false),
              HasSubstr("confirmed neither CRC32C nor MD5"));
  EXPECT_EQ(put({.confirms_crc32c = false, .md5_tags = false}, true), "");
  const auto wrong = [](const char* header, const char* value) {
    return [=](const net::HttpRequest&, net::Exchange& exchange) {
      for (auto& [name, each] : exchange.answer.headers) {
        if (name == header) each = value;
      }
    };
  };
  EXPECT_THAT(put({}, false, wrong("x-amz-checksum-crc32c", "4waSgw==")),
              HasSubstr("another CRC32C"));
  EXPECT_THAT(
      put({.confirms_crc32c = false}, false, wrong("etag", "\"900150983cd24fb0d6963f7d28e17f72\"")),
      HasSubstr("another MD5"));
}

TEST(Store, AListWithoutAnEnd) {
  Fixture f;
  f.sim.before = [](const net::HttpRequest&, std::size_t) {
    net::Exchange page;
    page.answer.status = 200;
    page.answer.body =
        "<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents><IsTruncated>true"
        "</IsTruncated><NextContinuationToken>same</NextContinuationToken></ListBucketResult>";
    return std::optional(page);
  };
  EXPECT_THAT(f.store.list("p").status().message(), HasSubstr("list s3://bucket/p: "));
  EXPECT_THAT(f.store.list("p").status().message(), HasSubstr("without an end"));
}

TEST(Store, RangesSideBySide) {
  StoreOptions options;
  options.range_bytes = 1000;
  Fixture f({}, options);
  const std::string data = some_bytes(12'345, 1);
  f.sim.set("k", data);
  const std::string etag = f.store.head("k").value().etag;
  std::string got(data.size(), '\0');
  ASSERT_TRUE(f.store.get("k", etag, 0, room_in(got)).ok());
  EXPECT_EQ(got, data);
  std::string middle(5001, '\0');
  ASSERT_TRUE(f.store.get("k", "", 77, room_in(middle)).ok());
  EXPECT_EQ(middle, data.substr(77, 5001));
  EXPECT_TRUE(f.store.get("k", "", 77, {}).ok());
  f.sim.set("k", data + "x");
  EXPECT_THAT(f.store.get("k", etag, 0, room_in(got)).message(), HasSubstr("was replaced"));
}

// The connection is cut within the body, several times: only the rest is asked for.
TEST(Store, ARangeGoesOnWhereItWasCut) {
  Fixture f({}, one_connection());
  const std::string data = some_bytes(100, 2);
  f.sim.set("k", data);
  int cuts = 3;
  std::vector<std::string> ranges;
  f.sim.after = [&](const net::HttpRequest& request, net::Exchange& exchange) {
    ranges.push_back(request.headers.front().second);
    if (cuts-- <= 0) return;
    exchange.answer.into_bytes = 30;
    std::memset(request.into.data() + 30, 'Z', request.into.size() - 30);
    exchange.failure = net::Failure::cut;
  };
  std::string got(100, '\0');
  ASSERT_TRUE(f.store.get("k", "", 0, room_in(got)).ok());
  EXPECT_EQ(got, data);
  EXPECT_THAT(ranges,
              testing::ElementsAre("bytes=0-99", "bytes=30-99", "bytes=60-99", "bytes=90-99"));
}

TEST(Store, ARangeThatIsNotWhatWasAskedFor) {
  const auto get = [](const std::function<void(const net::HttpRequest&, net::Exchange&)>& after) {
    Fixture f({}, one_connection());
    f.sim.set("k", some_bytes(300, 3));
    f.sim.after = after;
    std::string got(100, '\0');
    return f.store.get("k", "", 100, room_in(got)).message();
  };
  EXPECT_EQ(get({}), "");
  const auto range = [](const char* text) {
    return [=](const net::HttpRequest&, net::Exchange& exchange) {
      for (auto& [name, value] : exchange.answer.headers) {
        if (name == "content-range") value = text;
      }
    };
  };
  EXPECT_THAT(get(range("bytes 0-99/300")), HasSubstr("others came"));
  EXPECT_THAT(get(range("garbage")), HasSubstr("others came"));
  EXPECT_THAT(get([](const net::HttpRequest&, net::Exchange& e) { e.answer.status = 200; }),
              HasSubstr("others came"));
  EXPECT_THAT(get([](const net::HttpRequest&, net::Exchange& e) { e.answer.into_bytes = 0; }),
              HasSubstr("it ends at byte 100"));
}

TEST(Store, ADamagedSmallObject) {
  Fixture f;
  f.sim.set("k", "abc");
  f.sim.after = [](const net::HttpRequest&, net::Exchange& exchange) {
    exchange.answer.body = "abd";
  };
  EXPECT_EQ(f.store.get_text("k", 10).status().code(), base::Code::corrupt);
}

TEST(Store, PartOfTheKeysCouldNotBeRemoved) {
  Fixture f;
  int asked = 0;
  std::string code = "AccessDenied";
  f.sim.before = [&](const net::HttpRequest&, std::size_t) {
    ++asked;
    net::Exchange e;
    e.answer.status = 200;
    e.answer.body =
        "<DeleteResult><Error><Key>k2</Key><Code>" + code + "</Code></Error></DeleteResult>";
    return std::optional(e);
  };
  EXPECT_THAT(f.store.remove_many({"k1", "k2"}).message(),
              HasSubstr("remove s3://bucket/k2: 200 AccessDenied"));
  EXPECT_EQ(asked, 1);
  code = "InternalError";
  EXPECT_FALSE(f.store.remove_many({"k1", "k2"}).ok());
  EXPECT_EQ(asked, 8);
}

}  // namespace
}  // namespace headway::object_store
