//===- safetensors-test.cpp - round trips and damaged files --------------------===//

#include "helpers.h"

#include "runtime/disk/checksum.h"
#include "runtime/disk/safetensors.h"
#include "runtime/support/bf16.h"
#include "runtime/support/f16.h"

#include <cmath>
#include <cstring>

using namespace tplan::runtime;
using helpers::readFile;
using helpers::Scratch;
using helpers::writeFile;

namespace {

/// A file from header text and data.
std::string fileOf(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string((const char *)&length, 8) + header + data;
}

LogicalTensor tensorOf(const char *name, int32_t type, const std::vector<int64_t> &shape,
                       void *data) {
  return {name, type, shape, (char *)data, Share(shape)};
}

/// As a rank alone writes.
Status write(const std::string &path, const std::vector<LogicalTensor> &tensors,
             std::string *checksum = nullptr, int64_t *bytes = nullptr) {
  Peers alone;
  Team team;
  return writeSafetensors(alone, team, path, tensors, checksum, bytes);
}

} // namespace

TEST(Safetensors, RoundTrip) {
  Scratch scratch;
  float a[6] = {1, 2, 3, 4, 5, -0.0f};
  bf16 b[3] = {roundTo<bf16>(1.5f), roundTo<bf16>(-2), 0x7F7F};
  double c[1] = {1e300};
  int32_t d[2] = {-7, 8};
  std::vector<LogicalTensor> tensors = {
      tensorOf("b \"quoted\"", TP_BF16, {3}, b), tensorOf("a", TP_F32, {2, 3}, a),
      tensorOf("c", TP_F64, {}, c), tensorOf("d", TP_I32, {2, 1}, d),
      tensorOf("empty", TP_F32, {0, 4}, a)};
  std::string checksum;
  int64_t bytes = 0;
  ASSERT_OK(write(scratch / "x.safetensors", tensors, &checksum, &bytes));
  std::string file = readFile(scratch / "x.safetensors");
  EXPECT_EQ((int64_t)file.size(), bytes);
  EXPECT_EQ(checksumOf(file.data(), bytes), checksum);
  EXPECT_EQ(file[8], '{');
  uint64_t header;
  memcpy(&header, file.data(), 8);
  EXPECT_EQ(header % 8, 0u);

  SafetensorsFile read;
  ASSERT_OK(read.open(scratch / "x.safetensors"));
  EXPECT_EQ(read.tensors().size(), 5u);
  ASSERT_OK(read.match(tensors, false));
  float a2[6] = {};
  bf16 b2[3] = {};
  double c2[1] = {};
  int32_t d2[2] = {};
  std::vector<LogicalTensor> into = {
      tensorOf("b \"quoted\"", TP_BF16, {3}, b2), tensorOf("a", TP_F32, {2, 3}, a2),
      tensorOf("c", TP_F64, {}, c2), tensorOf("d", TP_I32, {2, 1}, d2),
      tensorOf("empty", TP_F32, {0, 4}, a2)};
  EXPECT_OK(read.copyTo(into));
  EXPECT_EQ(memcmp(a, a2, sizeof a), 0);
  EXPECT_EQ(memcmp(b, b2, sizeof b), 0);
  EXPECT_EQ(memcmp(c, c2, sizeof c), 0);
  EXPECT_EQ(memcmp(d, d2, sizeof d), 0);
}

TEST(Safetensors, F16KeepsItsBitsAndConverts) {
  Scratch scratch;
  std::vector<f16> half(1 << 16), read(half.size());
  for (uint32_t bits = 0; bits < half.size(); ++bits)
    half[bits] = f16((bits & 0x7c00) == 0x7c00 ? 0 : bits); // what is not finite is not read
  ASSERT_OK(write(scratch / "x", {tensorOf("a", TP_F16, {1 << 16}, half.data())}));
  EXPECT_NE(readFile(scratch / "x").find(R"("dtype":"F16")"), std::string::npos);
  SafetensorsFile file;
  ASSERT_OK(file.open(scratch / "x"));
  std::vector<LogicalTensor> wanted = {tensorOf("a", TP_F16, {1 << 16}, read.data())};
  ASSERT_OK(file.match(wanted, false));
  EXPECT_OK(file.copyTo(wanted));
  EXPECT_TRUE(half == read);
  std::vector<float> wide(half.size());
  wanted = {tensorOf("a", TP_F32, {1 << 16}, wide.data())};
  ASSERT_OK(file.match(wanted, true));
  EXPECT_OK(file.copyTo(wanted));
  for (uint32_t bits = 0; bits < half.size(); ++bits)
    ASSERT_EQ(wide[bits], widen(half[bits])) << bits;
}

TEST(Safetensors, DividesWhatIsScaled) {
  Scratch scratch;
  float a[3] = {1024, -3, 0x1p-140f}, read[3];
  LogicalTensor scaled = tensorOf("a", TP_F32, {3}, a);
  scaled.divisor = 1024;
  ASSERT_OK(write(scratch / "x", {scaled}));
  SafetensorsFile file;
  ASSERT_OK(file.open(scratch / "x"));
  EXPECT_OK(file.copyTo({tensorOf("a", TP_F32, {3}, read)}));
  EXPECT_EQ(read[0], 1);
  EXPECT_EQ(read[1], -3 * 0x1p-10f);
  EXPECT_EQ(read[2], 0); // 2^-150 is half of the least number
  EXPECT_EQ(a[0], 1024);
}

TEST(Safetensors, ConvertsFloatsOnlyWhenAsked) {
  Scratch scratch;
  float a[3] = {1.25f, -3, 0.1f};
  ASSERT_OK(write(scratch / "x", {tensorOf("a", TP_F32, {3}, a)}));
  SafetensorsFile file;
  ASSERT_OK(file.open(scratch / "x"));
  double wide[3];
  std::vector<LogicalTensor> wanted = {tensorOf("a", TP_F64, {3}, wide)};
  EXPECT_FAILS(file.match(wanted, false), "tensor 'a' has type F32",
               "wants F64 (--load converts it)");
  ASSERT_OK(file.match(wanted, true));
  EXPECT_OK(file.copyTo(wanted));
  EXPECT_EQ(wide[2], (double)0.1f);
  uint16_t narrow[3];
  EXPECT_OK(file.match({tensorOf("a", TP_BF16, {3}, narrow)}, false));
  int32_t whole[3];
  EXPECT_FAILS(file.match({tensorOf("a", TP_I32, {3}, whole)}, true), "wants I32");
}

TEST(Safetensors, MatchesNamesAndShapes) {
  Scratch scratch;
  float a[4] = {};
  ASSERT_OK(write(scratch / "x", {tensorOf("a", TP_F32, {2}, a), tensorOf("b", TP_F32, {2}, a)}));
  SafetensorsFile file;
  ASSERT_OK(file.open(scratch / "x"));
  EXPECT_FAILS(file.match({tensorOf("c", TP_F32, {2}, a)}, false), "lacks the tensor 'c'");
  EXPECT_FAILS(file.match({tensorOf("a", TP_F32, {2, 1}, a)}, false), "shape [2]", "wants [2, 1]");
  EXPECT_FAILS(file.match({tensorOf("a", TP_F32, {2}, a)}, false),
               "holds the tensor 'b', which this program lacks");
}

namespace {

struct Broken {
  const char *name;
  std::string bytes, message;
};

void PrintTo(const Broken &b, std::ostream *to) { *to << b.name; }

std::vector<Broken> brokenFiles() {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  auto one = [](const std::string &entry) {
    return fileOf("{\"a\":" + entry + "}", std::string(8, 'x'));
  };
  auto header = [](uint64_t n) { return std::string((const char *)&n, 8) + "{}"; };
  std::string nested;
  for (int i = 0; i < 100000; ++i)
    nested += "[";
  return {
      {"Empty", "", "0 bytes, too few"},
      {"Short", "1234567", "7 bytes, too few"},
      {"HeaderBeyondFile", header(100), "byte 0: a header of 100 bytes does not fit"},
      {"HeaderHuge", header(uint64_t(1) << 63),
       "a header of 9223372036854775808 bytes does not fit"},
      {"HeaderAllOnes", header(~uint64_t(0)), "does not fit"},
      {"NotJson", fileOf("hello!!!", ""), "malformed"},
      {"CutJson", fileOf("{" + a, std::string(8, 'x')), "byte 61: JSON is malformed"},
      {"TextAfterJson", fileOf("{" + a + "} extra", std::string(8, 'x')), "malformed"},
      {"NotAnObject", fileOf("[1, 2]  ", ""), "the header is not a JSON object"},
      {"DepthBomb", fileOf(nested, ""), "nests deeper than 8"},
      {"DuplicateTensor", fileOf("{" + a + "," + a + "}", std::string(8, 'x')),
       "the key 'a' stands twice"},
      {"DuplicateKey", one(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
       "'dtype' stands twice"},
      {"EntryNotAnObject", one("5"), "tensor 'a': its entry is not an object"},
      {"UnknownKey", one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"strides":[1]})"),
       "unknown key 'strides'"},
      {"UnknownType", one(R"({"dtype":"F31","shape":[2],"data_offsets":[0,8]})"), "F8_E5M2: 'F31'"},
      {"NoType", one(R"({"shape":[2],"data_offsets":[0,8]})"), "'dtype' is missing"},
      {"NoShape", one(R"({"dtype":"F32","data_offsets":[0,8]})"), "'shape' is missing"},
      {"NegativeSize", one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
       "a size in 'shape'"},
      {"FractionalSize", one(R"({"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})"),
       "a size in 'shape'"},
      {"ShapeOverflow",
       one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})"), "overflows"},
      {"OneOffset", one(R"({"dtype":"F32","shape":[2],"data_offsets":[8]})"),
       "not two whole numbers"},
      {"OffsetsBackward", one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
       "offsets [8, 0] are not the 8 bytes"},
      {"OffsetsDisagree", one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
       "not the 12 bytes of F32 [3]"},
      {"Truncated", fileOf("{" + a + "}", "1234"), "ends at byte 8 of 4 bytes"},
      {"TrailingBytes", fileOf("{" + a + "}", std::string(12, 'x')),
       "its tensors have 8 bytes, its data 12"},
      {"Hole",
       fileOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", std::string(8, 'x')),
       "begins at byte 4 of the data, the one before ends at 0"},
      {"Overlap",
       fileOf(
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
           std::string(8, 'x')),
       "tensor 'b' begins at byte 4"},
      {"BadMetadata", fileOf(R"({"__metadata__":{"n":1},)" + a + "}", std::string(8, 'x')),
       "not a string: 'n'"},
      {"MetadataNoObject", fileOf(R"({"__metadata__":1,)" + a + "}", std::string(8, 'x')),
       "'__metadata__' is not"},
  };
}

class BrokenFile : public testing::TestWithParam<Broken> {};
INSTANTIATE_TEST_SUITE_P(All, BrokenFile, testing::ValuesIn(brokenFiles()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

TEST_P(BrokenFile, IsRefusedByName) {
  Scratch scratch;
  writeFile(scratch / "broken.safetensors", GetParam().bytes);
  SafetensorsFile file;
  EXPECT_FAILS(file.open(scratch / "broken.safetensors"), scratch / "broken.safetensors",
               GetParam().message);
}

TEST(Safetensors, AnyFlippedHeaderByteIsRefusedOrRead) {
  Scratch scratch;
  float a[4] = {1, 2, 3, 4};
  ASSERT_OK(write(scratch / "x", {tensorOf("a", TP_F32, {2}, a), tensorOf("b", TP_F32, {2}, a)}));
  std::string good = readFile(scratch / "x");
  int refused = 0;
  for (size_t at = 0; at + 16 < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] ^= char(1 << bit);
      writeFile(scratch / "bad", bad);
      SafetensorsFile file; // must neither crash nor hand out bytes beyond the file
      Status status = file.open(scratch / "bad");
      refused += !status.ok();
      for (auto &[name, tensor] : file.tensors())
        if (status.ok()) {
          ASSERT_LE(tensor.offset + tensor.bytes, file.file().size());
        }
    }
  EXPECT_GT(refused, 500);
}

TEST(Safetensors, LeavesNothingWhenItCannotWrite) {
  Scratch scratch;
  float a[1] = {};
  EXPECT_FAILS(write(scratch / "no/such/x", {tensorOf("a", TP_F32, {1}, a)}), "cannot create");
  std::vector<std::string> names;
  ASSERT_OK(listDirectory(scratch.path, names));
  EXPECT_TRUE(names.empty());
}
