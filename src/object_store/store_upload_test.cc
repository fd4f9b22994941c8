// Multipart uploads: whole, cut off at any request, against stores with habits of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/temp_dir.h"
#include "object_store/sim_store.h"

namespace headway::object_store {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPart = 10'000;

StoreOptions small_parts(std::size_t connections) {
  StoreOptions options;
  options.part_bytes = kPart;
  options.connections = connections;
  options.retry.tries = 3;
  return options;
}

struct Fixture {
  explicit Fixture(SimStore::Habits habits = {}, std::size_t connections = 1)
      : sim(habits),
        store(sim, test_settings(), SimStore::bucket, small_parts(connections), test_runtime()) {}
  SimStore sim;
  Store store;

  base::Result<UploadReport> upload(const std::string& data, const std::string& key = "k") {
    MemorySource source(base::bytes_of(data));
    return store.upload(key, source);
  }
  long count(const std::string& word) const {
    const auto log = sim.log();
    return std::count_if(log.begin(), log.end(), [&](const std::string& line) {
      return line.find(word) != std::string::npos;
    });
  }
};

const std::string& data_of_four_parts() {
  static const std::string data = some_bytes(3 * kPart + 1000, 11);
  return data;
}

TEST(Upload, SmallInOneLargeInParts) {
  Fixture f({}, 4);
  EXPECT_EQ(f.upload("tiny", "t")->parts, 1U);
  EXPECT_EQ(f.count("POST"), 0);
  const auto report = f.upload(data_of_four_parts());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().parts, 4U);
  EXPECT_EQ(report.value().parts_sent, 4U);
  EXPECT_EQ(report.value().bytes_sent, data_of_four_parts().size());
  EXPECT_EQ(f.sim.objects().at("k"), data_of_four_parts());
  EXPECT_EQ(f.sim.uploads(), 0U);
  EXPECT_EQ(f.upload("", "empty")->parts, 1U);
}

TEST(Upload, WhatIsThereIsNotSentAgain) {
  for (const SimStore::Habits habits :
       {SimStore::Habits{}, SimStore::Habits{.confirms_crc32c = false}}) {
    Fixture f(habits, 2);
    for (const std::string& data : {data_of_four_parts(), std::string("tiny")}) {
      EXPECT_FALSE(f.upload(data)->was_there);
      const auto again = f.upload(data);
      EXPECT_TRUE(again.value().was_there);
      EXPECT_EQ(again.value().bytes_sent, 0U);
      std::string other = data;
      other.back() = static_cast<char>(other.back() ^ 1);
      EXPECT_FALSE(f.upload(other)->was_there) << "the same size is not enough";
      EXPECT_EQ(f.sim.objects().at("k"), other);
    }
  }
}

// A process that dies before any of its requests leaves no object, and the next one sends only what
// is missing.
TEST(Upload, DeadAtAnyRequestAndResumed) {
  const std::string& data = data_of_four_parts();
  Fixture whole;
  ASSERT_TRUE(whole.upload(data).ok());
  const std::size_t requests = whole.sim.requests();
  ASSERT_GE(requests, 8U);  // head, list, begin, four parts, complete, head
  for (std::size_t dead_at = 0; dead_at < requests; ++dead_at) {
    Fixture f;
    f.sim.die_at(dead_at);
    EXPECT_FALSE(f.upload(data).ok());
    const long parts_before = f.count("partNumber=");
    const bool completed = f.sim.objects().contains("k");
    EXPECT_EQ(completed, dead_at == requests - 1);
    f.sim.die_at(std::nullopt);
    const auto report = f.upload(data);
    ASSERT_TRUE(report.ok()) << dead_at << ": " << report.status().message();
    EXPECT_EQ(report.value().parts_sent, completed ? 0U : 4U - static_cast<unsigned>(parts_before));
    EXPECT_EQ(f.sim.objects().at("k"), data);
    EXPECT_EQ(f.sim.uploads(), 0U);
  }
}

TEST(Upload, PartsAreComparedNotTrusted) {
  const std::string& data = data_of_four_parts();
  for (const bool lists_crc32c : {true, false}) {
    Fixture f({.lists_crc32c = lists_crc32c});
    f.sim.die_at(6);  // head, list, begin, three parts
    EXPECT_FALSE(f.upload(data).ok());
    f.sim.die_at(std::nullopt);
    std::string other = data;
    other[kPart + 5] ^= 1;  // in the second part
    const auto report = f.upload(other);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report.value().parts_sent, 2U) << "the second, and the fourth that was missing";
    EXPECT_EQ(f.sim.objects().at("k"), other);
  }
  // Neither a checksum nor an MD5 in the list: everything goes again.
  SimStore::Habits habits{.lists_crc32c = false, .md5_tags = false};
  Fixture f(habits);
  f.sim.die_at(6);
  EXPECT_FALSE(f.upload(data).ok());
  f.sim.die_at(std::nullopt);
  EXPECT_EQ(f.upload(data)->parts_sent, 4U);
}

TEST(Upload, TwoHundredWithAnErrorInIt) {
  Fixture f;
  int left = 2;
  f.sim.before = [&](const net::HttpRequest& request, std::size_t) -> std::optional<net::Exchange> {
    const bool complete =
        request.method == "POST" && request.url.find("uploadId") != std::string::npos;
    if (!complete || left-- <= 0) return std::nullopt;
    return error_answer(200, "InternalError");
  };
  EXPECT_TRUE(f.upload(data_of_four_parts()).ok());
  EXPECT_EQ(left, -1);
  left = 1000;
  const auto report = f.upload(data_of_four_parts(), "other");
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.status().message(),
              HasSubstr("complete s3://bucket/other: 200 InternalError"));
  EXPECT_FALSE(f.sim.objects().contains("other"));
}

TEST(Upload, TheAnswerToCompleteGetsLost) {
  for (const bool crc : {true, false}) {
    Fixture f({.confirms_crc32c = crc});
    f.sim.after = [&](const net::HttpRequest& request, net::Exchange& exchange) {
      if (request.method == "POST" && request.url.find("uploadId") != std::string::npos) {
        exchange = exchange.answer.status == 200 ? failed(net::Failure::cut) : exchange;
      }
    };
    const auto report = f.upload(data_of_four_parts());
    EXPECT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(f.count("POST k?uploadId"), 2) << "the second try found no such upload";
  }
}

TEST(Upload, SomebodyElsesUploadOfTheSameKey) {
  struct Case {
    const char* method;
    const char* code;
    bool begins_again;
  };
  for (const Case& each : {Case{"POST", "InvalidRequest", true}, Case{"POST", "InvalidPart", true},
                           Case{"PUT", "NoSuchUpload", true}, Case{"POST", "AccessDenied", false},
                           Case{"PUT", "ExpiredToken", false}}) {
    SCOPED_TRACE(each.code);
    Fixture f;
    f.sim.die_at(6);  // after three parts
    EXPECT_FALSE(f.upload(data_of_four_parts()).ok());
    f.sim.die_at(std::nullopt);
    f.sim.before = [&](const net::HttpRequest& request,
                       std::size_t) -> std::optional<net::Exchange> {
      const bool old = request.url.find("uploadId=id0001") != std::string::npos;
      if (!old || request.method != each.method) return std::nullopt;
      return error_answer(each.code == std::string("NoSuchUpload") ? 404 : 400, each.code);
    };
    const auto report = f.upload(data_of_four_parts());
    ASSERT_EQ(report.ok(), each.begins_again) << report.status().message();
    if (!report.ok()) {
      EXPECT_EQ(f.sim.uploads(), 1U) << "what is there is kept for the next time";
      continue;
    }
    EXPECT_EQ(report.value().parts_sent, 4U);
    EXPECT_EQ(f.sim.uploads(), 0U);
    EXPECT_EQ(f.sim.objects().at("k"), data_of_four_parts());
  }
}

TEST(Upload, APartThatIsDamagedOnTheWay) {
  Fixture f;
  int damaged = 0;
  f.sim.before = [&](const net::HttpRequest& request, std::size_t) -> std::optional<net::Exchange> {
    const bool second = request.url.find("partNumber=2") != std::string::npos;
    if (!second || damaged++ > 0) return std::nullopt;
    return error_answer(400, "BadDigest");
  };
  EXPECT_TRUE(f.upload(data_of_four_parts()).ok());
  EXPECT_EQ(damaged, 2);
}

TEST(Upload, GivenUpOnesAreAborted) {
  Fixture f;
  for (const char* key : {"p/a", "p/b", "p/c", "p/d", "q/a"}) {
    f.sim.die_at(5);
    EXPECT_FALSE(f.upload(data_of_four_parts(), key).ok());
    f.sim.die_at(std::nullopt);
  }
  EXPECT_EQ(f.sim.uploads(), 5U);
  EXPECT_EQ(f.store.abort_uploads("p/").value(), 4U);
  EXPECT_EQ(f.sim.uploads(), 1U);
}

TEST(Upload, FromAFile) {
  const base::TempDir dir;
  const std::string path = dir.write("f", data_of_four_parts());
  Fixture f({}, 3);
  FileSource source(base::real_file_system(), path, data_of_four_parts().size());
  std::atomic<std::uint64_t> done = 0;
  ASSERT_TRUE(f.store.upload("k", source, &done).ok());
  EXPECT_EQ(done, data_of_four_parts().size());
  EXPECT_EQ(f.sim.objects().at("k"), data_of_four_parts());
  FileSource shorter(base::real_file_system(), path, 10);
  EXPECT_THAT(f.store.upload("k2", shorter).status().message(), HasSubstr("somebody changes it"));
}

TEST(Upload, TheFirstErrorEndsIt) {
  for (const std::size_t connections : {1U, 4U}) {
    Fixture f({}, connections);
    std::atomic<int> asked = 0;
    f.sim.before = [&](const net::HttpRequest& request,
                       std::size_t) -> std::optional<net::Exchange> {
      if (request.url.find("partNumber=") == std::string::npos) return std::nullopt;
      ++asked;
      return error_answer(403, "AccessDenied");
    };
    EXPECT_THAT(f.upload(data_of_four_parts()).status().message(), HasSubstr("put part "));
    EXPECT_FALSE(f.sim.objects().contains("k"));
    if (connections == 1) {
      EXPECT_EQ(asked, 1) << "the others were not begun";
    }
  }
}

}  // namespace
}  // namespace headway::object_store
