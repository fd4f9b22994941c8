#include "fleet/bucket_words.h"

#include <gtest/gtest.h>

#include <set>

namespace headway::fleet {
namespace {

using timeline::Bucket;

TEST(BucketWords, AreUniqueAndComeBack) {
  std::set<std::string_view> words, labels;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    words.insert(bucket_word(bucket));
    labels.insert(bucket_label(bucket));
    EXPECT_EQ(bucket_of(bucket_word(bucket)), bucket);
    EXPECT_EQ(bucket_advice(bucket).empty(), bucket == Bucket::effective) << bucket_word(bucket);
  }
  EXPECT_EQ(words.size(), timeline::kBuckets);
  EXPECT_EQ(labels.size(), timeline::kBuckets);
  EXPECT_FALSE(bucket_of("compile"));
}

TEST(BucketWords, AreThoseOfTheInterface) {
  EXPECT_EQ(bucket_word(Bucket::init_process_group), "process_group_init");
  EXPECT_EQ(bucket_word(Bucket::init_first_batch), "get_first_batch_data");
  EXPECT_EQ(bucket_word(Bucket::init_other), "init_other");
  EXPECT_EQ(bucket_word(Bucket::compile_cold), "compile_cold");
  EXPECT_EQ(bucket_word(Bucket::wasted_replay), "replay");
  EXPECT_EQ(bucket_word(Bucket::wasted_other), "wasted_other");
  EXPECT_EQ(bucket_word(Bucket::shutdown_other), "shutdown_other");
}

}  // namespace
}  // namespace headway::fleet
