// Every secret here is made up and put together at run time, so that no scanner of repositories
// takes one for real.
#include "failure/redact.h"

#include <gtest/gtest.h>

#include <random>

namespace headway::failure {
namespace {

// `prefix` and so many bytes that no machine has ever issued.
std::string fake(const std::string& prefix, std::size_t bytes) {
  static constexpr std::string_view kFake = "FAKEfake0123";
  std::string text = prefix;
  for (std::size_t i = 0; i < bytes; ++i) text += kFake[i % kFake.size()];
  return text;
}
std::string fake_hex(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += "0fa4e0"[i % 6];
  return text;
}
std::string fake_jwt() {
  return fake(
             "ey"
             "J",
             20) +
         "." +
         fake(
             "ey"
             "J",
             30) +
         "." + fake("", 20);
}

struct Case {
  std::string before, secret, after;
  const char* kind;
};

const std::vector<Case>& secrets() {
  static const std::vector<Case> kSecrets = {
      // headers
      {"Authorization: Bearer ", fake("", 24), "", "authorization"},
      {"  'Authorization': 'Basic ", "dXNlcjpmYWtl", "', 'Accept': '*/*'", "authorization"},
      {"{\"authorization\": \"token ", fake("", 12), "\"}", "authorization"},
      {"curl -H \"Authorization: Bearer ", fake("", 30), "\" https://x.org", "authorization"},
      {"> Proxy-Authorization: Basic ", "ZmFrZTpmYWtl", "", "authorization"},
      {"authorization=", fake("", 20), "", "authorization"},
      {"sent bearer ", fake("", 32), " to the hub", "bearer"},
      {"Cookie: ", "session=fake0; theme=dark", "", "cookie"},
      {"< Set-Cookie: ", "sid=fakefake; Path=/; HttpOnly", "", "cookie"},
      {"X-Api-Key: ", fake("", 20), "", "key"},
      {"headers={'X-Auth-Token': '", "fake-one", "'}", "token"},
      // tokens known by their beginning
      {"login with ",
       fake("h"
            "f_",
            34),
       " ok", "huggingface-token"},
      {"HF_TOKEN=",
       fake("h"
            "f_",
            34),
       "", "huggingface-token"},
      {"huggingface-cli login --token ",
       fake("h"
            "f_",
            34),
       "", "huggingface-token"},
      {"old style ",
       fake("api"
            "_org_",
            34),
       "", "huggingface-token"},
      {"git clone https://",
       fake("gh"
            "p_",
            36),
       "@github.com/a/b", "github-token"},
      {"",
       fake("gh"
            "o_",
            36),
       "", "github-token"},
      {"GITHUB_TOKEN: ",
       fake("gh"
            "s_",
            36),
       "", "github-token"},
      {"pat ",
       fake("github"
            "_pat_",
            60),
       ".", "github-token"},
      {"glab ",
       fake("gl"
            "pat-",
            20),
       "", "gitlab-token"},
      {"openai key ",
       fake("s"
            "k-",
            48),
       " rejected", "api-key"},
      {"\"",
       fake("s"
            "k-proj-",
            48),
       "\"", "api-key"},
      {"stripe ",
       fake("s"
            "k_live_",
            24),
       "", "api-key"},
      {"nim ",
       fake("nv"
            "api-",
            64),
       "", "api-key"},
      {"maps?x=1&key=",
       fake("AI"
            "za",
            35),
       "&y=2", "api-key"},
      {"gcloud ",
       fake("ya"
            "29.",
            60),
       "", "access-token"},
      {"vault ",
       fake("hv"
            "s.",
            24),
       "", "access-token"},
      {"docker login -p ",
       fake("dckr"
            "_pat_",
            27),
       "", "access-token"},
      {"found ",
       "AK"
       "IA"
       "FAKEFAKEFAKE0123",
       " in config", "aws-key-id"},
      {"aws_access_key_id = ",
       "AS"
       "IA"
       "FAKEFAKEFAKE0123",
       "", "aws-key-id"},
      {"slack ",
       fake("xo"
            "xb-",
            40),
       "", "slack-token"},
      {"//registry.npmjs.org/:_authToken=",
       fake("np"
            "m_",
            36),
       "", "npm-token"},
      {"twine -u __token__ -p ",
       fake("py"
            "pi-",
            60),
       "", "pypi-token"},
      {"jwt ", fake_jwt(), " expired", "jwt"},
      {"id_token=", fake_jwt(), "&state=1", "jwt"},
      // names and values: environment, JSON, YAML, command lines, code
      {"AWS_SECRET_ACCESS_KEY=", fake("", 40), "", "key"},
      {"aws_secret_access_key = ", fake("", 40), "", "key"},
      {"export DB_PASSWORD=", "fake-pass", "", "password"},
      {"declare -x WANDB_API_KEY=\"", fake_hex(40), "\"", "key"},
      {"environ({'HOME': '/h', 'HF_TOKEN': '", "fake", "', 'LANG': 'C'})", "token"},
      {"os.environ[\"MLFLOW_TRACKING_PASSWORD\"] = \"", "fake one", "\"", "password"},
      {"{\"password\": \"", "fa\\\"ke", "\", \"user\": \"me\"}", "password"},
      {"{\\\"password\\\": \\\"", "fake", "\\\", \\\"user\\\": 1}", "password"},
      {"{\"client_secret\":\"", "fake", "\"}", "secret"},
      {"clientSecret: ", "fake", "", "secret"},
      {"  password: ", "correct fake battery", "", "password"},
      {"passphrase: '", "with a space", "'", "password"},
      {"Config(password=", "fake,fake", ", user=me)", "password"},
      {"Config(password=", "fake", ",user=me)", "password"},
      {"train.py --token ", "fake-one", " --lr 0.1", "token"},
      {"train.py --hf-token=", "fake-one", " --lr 0.1", "token"},
      {"train.py --api-key '", "fake", "' --lr 0.1", "key"},
      {"argv: ['--wandb-api-key', '", "fake", "', '--lr', '0.1']", "key"},
      {"mysql --password ", "fake", " db", "password"},
      {"token=", "fakefake", " user=me", "token"},
      {"token: ", fake("", 16), "", "token"},
      {"accessToken => ", "fake", "", "token"},
      {"refresh_token = b'", "fake", "'", "token"},
      {"AccountName=x;AccountKey=", fake("", 20) + "==", ";Endpoint=y", "key"},
      {"Server=x;Uid=me;Pwd=", "fake", ";", "password"},
      {"OPENAI_KEY=", "fake", "", "key"},
      {"private_key: ", "fake", "", "key"},
      {"session.get(url, auth=('me', '", "fake", "'))", "password"},
      {"curl -u me:", "fake", " https://x.org", "password"},
      {"sshpass -p ", "fake", " ssh me@host", "password"},
      {"machine api.wandb.ai login user password ", fake_hex(40), "", "password"},
      {"wandb.login(key=\"", fake_hex(40), "\")", "wandb-key"},
      {"$ wandb login ", fake_hex(40), "", "wandb-key"},
      // addresses
      {"postgres://me:", "fake", "@db:5432/x", "password"},
      {"redis://:", "fake!", "@cache:6379", "password"},
      {"pip install -i https://me:", "fake", "@pypi.x.org/simple", "password"},
      {"GET /o?X-Amz-Date=1&X-Amz-Signature=", fake_hex(64), "&x=1", "signature"},
      {"s?X-Amz-Security-Token=", "fake%2Ffake", "&X-Amz-Date=1", "signature"},
      {"blob?sv=2022-11-02&sig=", fake("", 20) + "%3D", "&se=1", "signature"},
      {"https://x.org/a?access_token=", "fake", "&b=1", "token"},
      // keys in a block
      {"",
       "-----BEGIN "
       "PRIVATE KEY-----\\nMIIFAKE\\n-----END "
       "PRIVATE KEY-----",
       "\\n", "private-key"},
  };
  return kSecrets;
}

const std::vector<std::string>& ordinary() {
  // clang-format off: several on a line
  static const std::vector<std::string> kOrdinary = {
      "step 100 | loss 2.31 | tokens=4096 | tokens/s 12000", "num_tokens: 128", "max_tokens=1",
      "max_new_tokens: 2048", "token_ids=[1, 2, 3]", "token_type_ids: tensor([0, 0])",
      "tokenizer: meta-llama/Llama-3-8B", "tokenizer=GPT2TokenizerFast(name_or_path='gpt2')",
      "pad_token=<pad>", "eos_token: </s>", "bos_token='<s>', eos_token='</s>', unk_token='<unk>'",
      "mask_token: [MASK]", "pad_token_id=50256", "image_token: image0001",
      "next_token = tok12345678", "time per token: 12.3ms/token", "us/token: 1.2e-05",
      "token: 50256", "token=0x7f3a12b4c0d0", "Unexpected token: '}' at line 3",
      "SyntaxError: invalid token: def", "token: the",
      "Token indices sequence length is longer than 512", "token usage: 0.95",
      "loading tokenizer from /models/tokenizer.json", "sentencepiece tokenization done",
      "commit 3f786850e387550fdab836ed7e6dc881de23001b", "HEAD is now at 3f78685 fix",
      "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "md5=d41d8cd98f00b204e9800998ecf8427e  shard-0001.tar",
      "checksum e3b0c44298fc1c149afb matches",
      "cache key: 3f786850e387550fdab836ed7e6dc881de23001b", "KeyError: 'model.layers.0.weight'",
      "Missing key(s) in state_dict: \"fc.weight\"", "key=model.embed_tokens.weight value=3",
      "sort_key: length", "primary key: id", "query, key, value = self.qkv(x)",
      "num_key_value_heads: 8", "keys: ['a', 'b']", "tcp://10.0.0.1:29500",
      "init_method='tcp://node-1:29500'", "s3://bucket/path@v2/file:1",
      "https://huggingface.co/meta-llama/Llama-3-8B/resolve/main/config.json?download=true",
      "GET https://x.org/a?page=2&sort=asc 200", "user@host:/path", "git@github.com:org/repo.git",
      "NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.0.0.1<0>",
      "100%|##########| 10/10 [00:01<00:00,  9.9it/s]", "PWD=/home/me", "OLDPWD=/home/me/src",
      "password authentication failed for user \"me\"", "Enter password:", "password: None",
      "password=***", "token=$HF_TOKEN", "HF_TOKEN=${HF_TOKEN}", "api_key: <your key>",
      "    login(token=token, password=self.password)", "def login(token: Optional[str] = None):",
      "  File \"auth.py\", line 3, in password", "    password = getpass.getpass()",
      "usage: train.py [--token TOKEN] [--password PASSWORD]", "--token --lr 0.1",
      "secret sharing among 3 parties", "No secrets found", "bearer of bad news arrives",
      "Bearer token authentication is required", "basic block BatchNorm2d", "authorization: denied",
      "cookies: 12", "signature=(int, str)", "sig=3", "hf_model_path=x", "hf_transfer enabled",
      "task-aware-training-of-large-language-models-2024", "sk-learn is not installed",
      "npm_config_cache=/tmp/npm", "ASIA pacific region", "eyJ is how a header begins",
      "wandb: Run 3f786850 key metrics: loss 1.0", "wandb: Synced 5 W&B file(s), 0 media file(s)",
      "-----BEGIN CERTIFICATE-----", "ssh key fingerprint SHA256:abcdef", "auth=oauth2",
      "machine learning login password hints", "tokens: {'input': 12, 'output': 3}",
      "loss/token=1.25e+00", "author: me", "secret: None", "std::token::value",
      "private key file not found", "credentials: default chain",
  };
  // clang-format on
  return kOrdinary;
}

TEST(Redact, WhatMustGo) {
  ASSERT_GE(secrets().size(), 60u);
  for (const Case& c : secrets()) {
    const std::string expected = c.before + "[redacted:" + c.kind + "]" + c.after;
    EXPECT_EQ(redact_line(c.before + c.secret + c.after), expected);
    EXPECT_EQ(redact_line(expected), expected) << "twice";
  }
}

TEST(Redact, WhatMustStay) {
  ASSERT_GE(ordinary().size(), 60u);
  for (const std::string& line : ordinary()) EXPECT_EQ(redact_line(line), line);
}

TEST(Redact, SeveralOnOneLine) {
  EXPECT_EQ(redact_line("password=one token=" +
                        fake("h"
                             "f_",
                             34) +
                        " me:two http://a:b@c"),
            "password=[redacted:password] token=[redacted:huggingface-token] me:two "
            "http://a:[redacted:password]@c");
}

TEST(Redact, APrivateKeyOverLines) {
  Redactor redactor;
  const std::string body = fake("", 64);
  const std::string begin =
      "-----BEGIN RSA "
      "PRIVATE KEY-----";
  const std::string end =
      "-----END RSA "
      "PRIVATE KEY-----";
  EXPECT_EQ(redactor.line("[rank0]: " + begin), "[rank0]: [redacted:private-key]");
  EXPECT_EQ(redactor.line("[rank0]: " + body), "[rank0]: [redacted:private-key]");
  EXPECT_EQ(redactor.line(body), "[redacted:private-key]");
  EXPECT_EQ(redactor.line("[rank0]: " + fake("", 20) + "=="), "[rank0]: [redacted:private-key]");
  EXPECT_EQ(redactor.line(end), end);
  EXPECT_EQ(redactor.line(body), body) << "the key is over";
}

TEST(Redact, APrivateKeyWithoutEndDoesNotEatTheRest) {
  Redactor redactor;
  const std::string begin =
      "-----BEGIN "
      "PRIVATE KEY-----";
  (void)redactor.line(begin);
  (void)redactor.line(fake("", 64));
  EXPECT_EQ(redactor.line("step 10 loss 1.0"), "step 10 loss 1.0");
  EXPECT_EQ(redactor.line("KeyError"), "KeyError");
  (void)redactor.line(begin);
  for (int i = 0; i < private_key_lines_max; ++i) (void)redactor.line(fake("", 64));
  EXPECT_EQ(redactor.line(fake("", 64)), fake("", 64));
}

TEST(Redact, ALongLineIsCut) {
  const std::string line =
      "token=" + fake("", 30) + " " + std::string(3 * redacted_line_bytes_max, 'x');
  const std::string out = redact_line(line);
  EXPECT_LE(out.size(), redacted_line_bytes_max);
  EXPECT_TRUE(out.starts_with("token=[redacted:token] x")) << out.substr(0, 80);
  EXPECT_TRUE(out.ends_with("-bytes]"));
  EXPECT_EQ(redact_line(out), out);
}

// Half-made secrets, marks and noise in any order: a second time changes nothing.
TEST(Redact, TwiceIsOnce) {
  constexpr unsigned kSeed = 20261116;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::vector<std::string> parts = {
      "=",  ":",        " ", "\"",  "'", "\\", "[redacted:", "]", "token", ",", "[redacted:token]",
      "--", "password", "@", "://", "x", "\n", "&"};
  for (const Case& c : secrets()) {
    parts.insert(parts.end(), {c.before, c.secret, c.after, c.secret.substr(c.secret.size() / 2)});
  }
  for (int round = 0; round < 4000; ++round) {
    Redactor first, second;
    for (int line = 0; line < 3; ++line) {
      std::string text;
      for (auto i = random() % 12; i > 0; --i) text += parts[random() % parts.size()];
      if (random() % 50 == 0) text.insert(text.size() / 2, redacted_line_bytes_max, 'y');
      const std::string once = first.line(text);
      ASSERT_EQ(second.line(once), once) << text;
      ASSERT_LE(once.size(), redacted_line_bytes_max + 256);
    }
  }
}

TEST(Redact, ACommandLinesWords) {
  EXPECT_EQ(redact_line("train.py --password hunter2 --lr 0.1"),
            "train.py --password [redacted:password] --lr 0.1");
  EXPECT_EQ(redact_line("train.py --db-password 'hunter two' --lr 0.1"),
            "train.py --db-password '[redacted:password]' --lr 0.1");
  EXPECT_EQ(redact_line("train.py --password hunter2"), "train.py --password [redacted:password]");
}

TEST(Redact, ATextOfSeveralLines) {
  const std::string begin =
      "-----BEGIN "
      "PRIVATE KEY-----";
  EXPECT_EQ(redact_text("ValueError: no\npassword: a b\n" + begin + "\n" + fake("", 64) +
                        "\n\nstep 10 loss 1.0\n"),
            "ValueError: no\npassword: [redacted:password]\n[redacted:private-key]\n"
            "[redacted:private-key]\n[redacted:private-key]\nstep 10 loss 1.0\n");
  EXPECT_EQ(redact_text(""), "");
  EXPECT_EQ(redact_text("\n\n"), "\n\n");
}

TEST(Redact, ASettingThatItsNameMakesASecret) {
  EXPECT_EQ(redact_setting("password", "hunter2"), "[redacted:password]");
  EXPECT_EQ(redact_setting("db_password", "correct, \"horse\" battery\nstaple"),
            "[redacted:password]");
  EXPECT_EQ(redact_setting("password", "[redacted:password]"), "[redacted:password]");
  EXPECT_EQ(redact_setting("family", "dlrm \"v2\""), "dlrm \"v2\"");
  EXPECT_EQ(redact_setting("pad_token", "<pad>"), "<pad>");
  EXPECT_EQ(redact_setting("argv", "train.py --token fake-one --lr 1"),
            "train.py --token [redacted:token] --lr 1");
  EXPECT_EQ(redact_setting("", "x"), "x");
}

TEST(Redact, AnyBytes) {
  EXPECT_EQ(redact_line(""), "");
  const std::string bytes("password=\xff\xfe\0x \0token", 20);
  EXPECT_EQ(redact_line(bytes),
            "password=[redacted:password]" + std::string(" \0token", 7).substr(0, 7));
}

}  // namespace
}  // namespace headway::failure
