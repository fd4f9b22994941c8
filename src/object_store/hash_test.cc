#include "object_store/hash.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/file_system.h"
#include "object_store/parts.h"

namespace headway::object_store {
namespace {

TEST(Hash, KnownDigests) {
  EXPECT_EQ(hex(md5(base::bytes_of("abc"))), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hex(sha256(base::bytes_of(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(base64(md5(base::bytes_of(""))), "1B2M2Y8AsgTpgAmY7PhCfg==");
  EXPECT_EQ(base64({}), "");
}

TEST(Hash, Crc32cAsText) {
  EXPECT_EQ(crc32c_text(base::crc32c("123456789", 9)), "4waSgw==");
  EXPECT_EQ(crc32c_of_text("4waSgw=="), 0xE3069283U);
  for (const char* text : {"", "4waSgw", "4waSgx==", "4waSgw==-2", "!!!!!!==", "4waSgwA="}) {
    EXPECT_FALSE(crc32c_of_text(text)) << text;
  }
}

TEST(Hash, Md5AsText) {
  EXPECT_EQ(md5_of_hex("900150983CD24fb0d6963f7d28e17f72"), md5(base::bytes_of("abc")));
  EXPECT_FALSE(md5_of_hex("900150983cd24fb0d6963f7d28e17f72-2"));
  EXPECT_FALSE(md5_of_hex("900150983cd24fb0d6963f7d28e17f7g"));
}

TEST(Parts, OfAnObject) {
  constexpr std::uint64_t mib = 1 << 20;
  EXPECT_EQ(plan_parts(0, 16 * mib).value().parts(), 1U);
  EXPECT_EQ(plan_parts(16 * mib, 16 * mib).value().parts(), 1U);
  const PartPlan plan = plan_parts(16 * mib + 1, 16 * mib).value();
  EXPECT_EQ(plan.parts(), 2U);
  EXPECT_EQ(plan.size(0), 16 * mib);
  EXPECT_EQ(plan.begin(1), 16 * mib);
  EXPECT_EQ(plan.size(1), 1U);
  for (const std::uint64_t bytes : {160'000 * mib, 160'000 * mib + 1, object_bytes_max}) {
    const PartPlan large = plan_parts(bytes, 16 * mib).value();
    EXPECT_LE(large.parts(), parts_max) << bytes;
    EXPECT_EQ(large.part_bytes % (16 * mib), 0U);
    EXPECT_EQ(large.begin(large.parts() - 1) + large.size(large.parts() - 1), bytes);
  }
  EXPECT_FALSE(plan_parts(object_bytes_max + 1, 16 * mib).ok());
}

TEST(Parts, NamesOfTheWhole) {
  // Of 5 MiB of 'y' and ten more, as a real store called it.
  const std::string first(5 << 20, 'y'), second(10, 'y');
  const Md5 tags[] = {md5(base::bytes_of(first)), md5(base::bytes_of(second))};
  EXPECT_EQ(composite_etag(tags), "1e5f8f52295e87d0969b8dc363b0f2a9-2");
  const std::uint32_t crcs[] = {base::crc32c(first.data(), first.size()),
                                base::crc32c(second.data(), second.size())};
  EXPECT_EQ(crc32c_text(crcs[0]), "tutrIQ==");
  const std::string text = composite_crc32c(crcs);
  EXPECT_TRUE(text.ends_with("==-2")) << text;
}

}  // namespace
}  // namespace headway::object_store
