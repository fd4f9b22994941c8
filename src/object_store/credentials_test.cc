#include "object_store/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "object_store/place.h"
#include "object_store/profile.h"

namespace headway::object_store {
namespace {

using testing::HasSubstr;
using Texts = std::map<std::string, std::string>;

base::Result<Settings> find(const Texts& environment, const Texts& files,
                            const SettingsRequest& request = {}) {
  return find_settings(
      request,
      [&](const std::string& name) {
        const auto it = environment.find(name);
        return it == environment.end() ? std::nullopt : std::optional(it->second);
      },
      [&](const std::string& path) -> base::Result<std::optional<std::string>> {
        const auto it = files.find(path);
        return it == files.end() ? std::optional<std::string>() : std::optional(it->second);
      });
}

const Texts kFiles = {
    {"/h/.aws/credentials",
     "# a comment\n[default]\naws_access_key_id = "
     "AKDEFAULT\naws_secret_access_key=hushhush-default\n"
     "\n[team]\r\naws_access_key_id=AKTEAM\r\naws_secret_access_key = hush+/=team\r\n"
     "aws_session_token=token-team\r\n[half]\naws_access_key_id=AKHALF\n"},
    {"/h/.aws/config",
     "[default]\nregion = eu-west-1\n[profile team]\nregion=eu-north-1\n"
     "s3 =\n  endpoint_url = http://nested.example\nendpoint_url = https://s3.team.example\n"
     "[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n"
     "[profile incfg]\naws_access_key_id=AKCFG\naws_secret_access_key=hush-cfg\n"},
};

TEST(Credentials, EnvironmentFirst) {
  const auto found = find({{"HOME", "/h"},
                           {"AWS_ACCESS_KEY_ID", "AKENV"},
                           {"AWS_SECRET_ACCESS_KEY", "hush-env"},
                           {"AWS_SESSION_TOKEN", "token-env"},
                           {"AWS_DEFAULT_REGION", "us-west-2"}},
                          kFiles);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const Settings& settings = found.value();
  EXPECT_EQ(settings.credentials.access_key_id, "AKENV");
  EXPECT_EQ(settings.credentials.secret_key.reveal(), "hush-env");
  EXPECT_EQ(settings.credentials.session_token.reveal(), "token-env");
  EXPECT_EQ(settings.region, "us-west-2");
  EXPECT_FALSE(settings.endpoint);
}

TEST(Credentials, Profiles) {
  auto found = find({{"HOME", "/h"}}, kFiles);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->credentials.access_key_id, "AKDEFAULT");
  EXPECT_EQ(found->credentials.secret_key.reveal(), "hushhush-default");
  EXPECT_TRUE(found->credentials.session_token.empty());
  EXPECT_EQ(found->region, "eu-west-1");

  found = find({{"HOME", "/h"}, {"AWS_PROFILE", "team"}, {"AWS_REGION", "ap-south-1"}}, kFiles);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->credentials.secret_key.reveal(), "hush+/=team");
  EXPECT_EQ(found->credentials.session_token.reveal(), "token-team");
  EXPECT_EQ(found->region, "ap-south-1");
  EXPECT_EQ(found->endpoint->text(), "https://s3.team.example") << "not the nested one";

  found = find({{"HOME", "/h"}, {"AWS_PROFILE", "incfg"}}, kFiles);
  EXPECT_EQ(found->credentials.access_key_id, "AKCFG");

  // A profile by name is meant, whatever is in the environment.
  found = find({{"HOME", "/h"}, {"AWS_ACCESS_KEY_ID", "AKENV"}, {"AWS_SECRET_ACCESS_KEY", "x"}},
               kFiles, {.endpoint = "", .profile = "team", .region = "xx-y-1"});
  EXPECT_EQ(found->credentials.access_key_id, "AKTEAM");
  EXPECT_EQ(found->region, "xx-y-1");

  found = find({{"HOME", "/h"}, {"AWS_SHARED_CREDENTIALS_FILE", "/o"}, {"AWS_CONFIG_FILE", "~/c"}},
               {{"/o", "[default]\naws_access_key_id=A\naws_secret_access_key=B\n"},
                {"/h/c", "[default]\nregion=rr-1\n"}});
  EXPECT_EQ(found->credentials.access_key_id, "A");
  EXPECT_EQ(found->region, "rr-1");
}

TEST(Credentials, WhatIsMissingIsNamed) {
  const auto message = [](const Texts& environment) {
    const auto found = find(environment, kFiles);
    EXPECT_FALSE(found.ok());
    const std::string& text = found.status().message();
    EXPECT_EQ(text.find("hush"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  };
  EXPECT_THAT(message({}), HasSubstr("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
  EXPECT_THAT(message({{"AWS_ACCESS_KEY_ID", "A"}}), HasSubstr("AWS_ACCESS_KEY_ID is set but not"));
  EXPECT_THAT(message({{"AWS_SECRET_ACCESS_KEY", "hush"}}),
              HasSubstr("AWS_SECRET_ACCESS_KEY is set but not"));
  EXPECT_THAT(message({{"HOME", "/h"}, {"AWS_PROFILE", "nobody"}}),
              HasSubstr("no profile 'nobody'"));
  EXPECT_THAT(message({{"HOME", "/h"}, {"AWS_PROFILE", "half"}}), HasSubstr("needs both"));
  EXPECT_THAT(message({{"HOME", "/h"}, {"AWS_PROFILE", "role"}}),
              HasSubstr("role_arn, which Headway does not do"));
  EXPECT_THAT(message({{"HOME", "/h"}, {"AWS_REGION", "us east\n"}}),
              HasSubstr("no region's name"));
  EXPECT_THAT(message({{"AWS_ACCESS_KEY_ID", "A\r\nX: y"}, {"AWS_SECRET_ACCESS_KEY", "hush"}}),
              HasSubstr("control character"));
  EXPECT_THAT(message({{"HOME", "/h"}, {"AWS_ENDPOINT_URL", "https://u:hush@h"}}),
              HasSubstr("AWS_ENDPOINT_URL: a character in the host"));
}

TEST(Credentials, Endpoints) {
  const Texts environment = {{"HOME", "/h"},
                             {"AWS_ENDPOINT_URL", "http://general:1"},
                             {"AWS_ENDPOINT_URL_S3", "http://s3:2"}};
  EXPECT_EQ(find(environment, kFiles)->endpoint->text(), "http://s3:2");
  EXPECT_EQ(
      find(environment, kFiles, {.endpoint = "https://mine:3/x/", .profile = "", .region = ""})
          ->endpoint->text(),
      "https://mine:3/x");
  EXPECT_EQ(parse_endpoint("https://h:443", "e")->host, "h");
  EXPECT_EQ(parse_endpoint("http://[::1]:9000", "e")->host, "[::1]:9000");
  for (const char* bad :
       {"", "h", "ftp://h", "https://", "https:///x", "http://h/a?b", "http://h h"}) {
    EXPECT_FALSE(parse_endpoint(bad, "e").ok()) << bad;
  }
}

TEST(Place, OfAPerson) {
  EXPECT_EQ(parse_place("s3://my-bucket").value().prefix, "");
  const Place place = parse_place("s3://my.bucket/a/b c//").value();
  EXPECT_EQ(place.bucket, "my.bucket");
  EXPECT_EQ(place.prefix, "a/b c");
  for (const char* bad : {"my-bucket/a", "s3://", "s3://A", "s3://ab", "s3://bucket//x",
                          "s3://bucket/a//b", "s3://-bucket/x", "s3://bucket/a\nb"}) {
    EXPECT_FALSE(parse_place(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace headway::object_store
