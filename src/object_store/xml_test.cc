#include "object_store/xml.h"

#include <gtest/gtest.h>

#include "object_store/answers.h"

namespace headway::object_store {
namespace {

TEST(Xml, ElementsAndText) {
  auto xml = Xml::parse(
      "\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- c --><a:Root xmlns:a='x>y' b=\"/\">"
      "<K>a&lt;b&amp;&#65;&#x1F600;&apos;</K><Empty/><K>two</K><E> <![CDATA[<raw>&amp;]]></E>"
      "</a:Root>\n<!-- end -->");
  ASSERT_TRUE(xml.ok()) << xml.status().message();
  EXPECT_EQ(xml->name(xml->root()), "Root");
  EXPECT_EQ(xml->children(xml->root(), "K").size(), 2U);
  EXPECT_EQ(xml->child_text(xml->root(), "K"), "a<b&A\U0001F600'");
  EXPECT_EQ(xml->child_text(xml->root(), "E"), " <raw>&amp;");
  EXPECT_EQ(xml->child_text(xml->root(), "Empty"), "");
  EXPECT_FALSE(xml->child(xml->root(), "None"));
}

TEST(Xml, WhatItRefuses) {
  for (const char* text : {"",
                           " ",
                           "text",
                           "<a>",
                           "<a></b>",
                           "</a>",
                           "<a/><b/>",
                           "<a/>text",
                           "<a",
                           "<a b>",
                           "<a b=c>",
                           "<a b='x></a>",
                           "<a>&nope;</a>",
                           "<a>&#0;</a>",
                           "<a>&#xD800;</a>",
                           "<a>&#x110000;</a>",
                           "<a>&#;</a>",
                           "<a>& </a>",
                           "<a>&lt</a>",
                           "<a><!-- </a>",
                           "<a><![CDATA[ </a>",
                           "< a/>",
                           "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
                           "<a><!ENTITY x 'y'></a>",
                           "<?xml",
                           "<a/",
                           "<a></a",
                           "<a></a b>",
                           "<![CDATA[x]]><a/>"}) {
    EXPECT_FALSE(Xml::parse(text).ok()) << text;
  }
}

TEST(Xml, Bounds) {
  std::string deep, ends;
  for (std::size_t i = 0; i < xml_depth_max; ++i) {
    deep += "<a>";
    ends += "</a>";
  }
  EXPECT_TRUE(Xml::parse(deep + ends).ok());
  EXPECT_FALSE(Xml::parse(deep + "<a>" + ends + "</a>").ok());
  std::string many = "<a>";
  for (std::size_t i = 0; i < xml_elements_max; ++i) many += "<b/>";
  EXPECT_FALSE(Xml::parse(many + "</a>").ok());
  EXPECT_FALSE(Xml::parse("<a>" + std::string(xml_bytes_max, 'x') + "</a>").ok());
}

TEST(Xml, ThereAndBack) {
  const std::string text = "a<b>&\"'\r\n\tz";
  EXPECT_EQ(Xml::parse("<a>" + xml_escaped(text) + "</a>")->text(0), text);
}

TEST(Answers, Lists) {
  const auto page = parse_list(
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url"
      "</EncodingType><Contents><Key>a+b%2Fc%2B</Key><Size>18446744073709551615</Size>"
      "<ETag>&quot;x&quot;</ETag></Contents><CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      "</ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_EQ(page.value().objects[0].key, "a b/c+");
  EXPECT_EQ(page.value().objects[0].etag, "x");
  EXPECT_EQ(page.value().prefixes[0], "p/");
  EXPECT_EQ(page.value().next, "t");
  const auto plain = parse_list(
      "<ListBucketResult><Contents><Key>a+%41</Key><Size>1</Size></Contents>"
      "</ListBucketResult>");
  EXPECT_EQ(plain.value().objects[0].key, "a+%41") << "nobody said that it is encoded";
  for (const char* bad :
       {"<Other/>", "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    EXPECT_FALSE(parse_list(bad).ok()) << bad;
  }
}

TEST(Answers, PartsAndUploads) {
  const auto parts = parse_parts(
      "<ListPartsResult><Part><PartNumber>2</PartNumber><Size>5</Size><ETag>\"e\"</ETag>"
      "<ChecksumCRC32C>4waSgw==</ChecksumCRC32C></Part><IsTruncated>true</IsTruncated>"
      "<NextPartNumberMarker>2</NextPartNumberMarker></ListPartsResult>");
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts.value().parts[0].crc32c, 0xE3069283U);
  EXPECT_TRUE(parts.value().more);
  EXPECT_FALSE(parse_parts("<ListPartsResult><Part><PartNumber>0</PartNumber><Size>5</Size></Part>"
                           "</ListPartsResult>")
                   .ok());
  EXPECT_FALSE(parse_uploads("<ListMultipartUploadsResult><Upload><Key>k</Key></Upload>"
                             "</ListMultipartUploadsResult>")
                   .ok());
  EXPECT_FALSE(parse_upload_id("<InitiateMultipartUploadResult/>").ok());
  EXPECT_EQ(plain_etag("W/\"x\""), "x");
}

}  // namespace
}  // namespace headway::object_store
