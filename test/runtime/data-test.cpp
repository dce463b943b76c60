//===- data-test.cpp - order, range and formats of token files ----------------===//

#include "helpers.h"

#include "runtime/disk/data.h"
#include "runtime/support/random.h"

#include <set>

using namespace tplan::runtime;
using helpers::Scratch;
using helpers::writeFile;

TEST(Random, PhiloxKnownAnswers) {
  // Random123's kat_vectors for philox4x32-10.
  auto zero = philox(0, 0, 0);
  EXPECT_EQ(zero, (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  auto ones = philox(~0ull, ~0ull, ~0ull);
  EXPECT_EQ(ones, (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, PermutationHitsEachOnce) {
  for (uint64_t size : {1, 2, 3, 5, 16, 17, 1000}) {
    Permutation order(5, dataOrderStream, 2, size), other(5, dataOrderStream, 3, size);
    std::set<uint64_t> seen;
    uint64_t moved = 0;
    for (uint64_t i = 0; i < size; ++i) {
      seen.insert(order[i]);
      moved += order[i] != other[i];
    }
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
    if (size > 100) {
      EXPECT_GT(moved, size / 2); // another epoch is another order
    }
  }
}

TEST(Random, PermutationIsTheOneOfTheOracle) {
  // test/oracle/make_oracle.py reads its rows in this order.
  Permutation order(1, dataOrderStream, 0, 80);
  const uint64_t first[] = {2, 10, 26, 33, 24, 38, 69, 11};
  for (size_t i = 0; i < std::size(first); ++i)
    EXPECT_EQ(order[i], first[i]);
}

TEST(Data, PredictsEachTokenOnceInAnEpoch) {
  Scratch scratch;
  std::string text;
  for (int i = 0; i < 97; ++i)
    text += char(i + 1); // each token is its place in the stream
  writeFile(scratch / "a", text.substr(0, 40));
  writeFile(scratch / "b", text.substr(40));
  TokenStream stream;
  constexpr int64_t length = 9;
  ASSERT_OK(stream.open({scratch / "a", scratch / "b"}, length, length - 1));
  EXPECT_EQ(stream.tokens(), 99); // a separator before each
  EXPECT_EQ(stream.windows(), (99 - 9) / 8 + 1);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::multiset<int32_t> targets;
    for (int64_t i = 0; i < stream.windows(); ++i) {
      int32_t row[length];
      ASSERT_OK(stream.readRow(11, epoch * stream.windows() + i, length, 128, row));
      targets.insert(row + 1, row + length);
    }
    for (int32_t token = 1; token <= 95; ++token)
      EXPECT_EQ(targets.count(token), 1u) << token;
    EXPECT_EQ(targets.count(0), 1u); // the separator before b; tokens 96, 97 fill no window
  }
}

TEST(Data, OrderIsAFunctionOfSeedAndPosition) {
  Scratch scratch;
  writeFile(scratch / "a", helpers::someText(5000));
  TokenStream one, two;
  ASSERT_OK(one.open({scratch / "a"}, 17, 16));
  ASSERT_OK(two.open({scratch / "a"}, 17, 16));
  int different = 0;
  for (int64_t position : {0, 5, 311, 312, 313, 100000}) {
    int32_t a[17], b[17], c[17];
    ASSERT_OK(one.readRow(1, position, 17, 256, a));
    ASSERT_OK(two.readRow(1, position, 17, 256, b));
    ASSERT_OK(one.readRow(2, position, 17, 256, c));
    EXPECT_TRUE(std::equal(a, a + 17, b));
    different += !std::equal(a, a + 17, c);
  }
  EXPECT_GE(different, 4);
}

TEST(Data, ChecksEachTokenAgainstTheVocabulary) {
  Scratch scratch;
  std::string text(64, 'a');
  text[37] = char(200);
  writeFile(scratch / "a", text);
  TokenStream stream;
  ASSERT_OK(stream.open({scratch / "a"}, 65, 64));
  int32_t row[65];
  EXPECT_FAILS(stream.readRow(1, 0, 65, 128, row), scratch / "a", "byte 37", "token 200",
               "vocabulary of 128");
  EXPECT_OK(stream.readRow(1, 0, 65, 256, row));
}

TEST(Data, ReadsSixteenBitTokens) {
  Scratch scratch;
  writeFile(scratch / "t.bin", std::string("\x01\x00\x00\x02\xff\xff", 6));
  TokenFile file;
  ASSERT_OK(file.open("u16:" + (scratch / "t.bin")));
  EXPECT_EQ(file.size(), 3);
  int32_t tokens[3];
  ASSERT_OK(file.read(0, 3, 65536, tokens));
  EXPECT_EQ(tokens[0], 1);
  EXPECT_EQ(tokens[1], 512);
  EXPECT_EQ(tokens[2], 65535);
  EXPECT_FAILS(file.read(0, 3, 50257, tokens), "byte 4: token 65535", "50257");
  writeFile(scratch / "odd.bin", "abc");
  TokenFile odd;
  EXPECT_FAILS(odd.open("u16:" + (scratch / "odd.bin")), "3 bytes", "no multiple of the 2 bytes");
}

TEST(Data, ReadsSignedTokens) {
  Scratch scratch;
  const std::vector<int32_t> written = {0, 1, -1, 60, INT32_MIN, 65536, INT32_MAX, -2};
  writeFile(scratch / "t.i32", std::string((const char *)written.data(), 4 * written.size()));
  TokenFile file;
  ASSERT_OK(file.open("i32:" + (scratch / "t.i32")));
  EXPECT_EQ(file.size(), 8);
  std::vector<int32_t> tokens(8);
  ASSERT_OK(file.read(0, 8, int64_t(1) << 31, tokens.data()));
  EXPECT_EQ(tokens, written);
  int64_t counted = 0;
  ASSERT_OK(file.countTokens(0, 8, counted));
  EXPECT_EQ(counted, 5);
  ASSERT_OK(file.countTokens(2, 3, counted));
  EXPECT_EQ(counted, 6);
  // Any number below zero is legal in any vocabulary, no number beyond the vocabulary is.
  EXPECT_OK(file.read(0, 5, 61, tokens.data()));
  EXPECT_FAILS(file.read(0, 5, 60, tokens.data()), "byte 12: token 60", "vocabulary of 60");
  EXPECT_FAILS(file.read(4, 3, 65537, tokens.data()), "byte 24: token 2147483647", "65537");
  writeFile(scratch / "odd", "abcdef");
  TokenFile odd;
  EXPECT_FAILS(odd.open("i32:" + (scratch / "odd")), "6 bytes", "no multiple of the 4 bytes");
}

TEST(Data, RowsGoOverFilesOfAnyFormat) {
  Scratch scratch;
  const int32_t padded[] = {7, -1, 9};
  writeFile(scratch / "padded", std::string((const char *)padded, sizeof padded));
  writeFile(scratch / "text", "ab");
  TokenStream stream;
  ASSERT_OK(stream.open({"i32:" + (scratch / "padded"), scratch / "text"}, 6, 5));
  EXPECT_EQ(stream.tokens(), 6); // a separator before the text alone
  int32_t row[6];
  ASSERT_OK(stream.readRow(1, 0, 6, 128, row));
  EXPECT_EQ(std::vector<int32_t>(row, row + 6), (std::vector<int32_t>{7, -1, 9, 0, 'a', 'b'}));
}

TEST(Data, RefusesFilesThatAreTooShortOrNone) {
  Scratch scratch;
  writeFile(scratch / "short", "abc");
  writeFile(scratch / "empty", "");
  TokenStream a, b, c, d;
  EXPECT_FAILS(a.open({scratch / "short"}, 5, 4), scratch / "short", "4 tokens", "needs 5");
  EXPECT_FAILS(b.open({scratch / "empty"}, 5, 4), "1 tokens", "needs 5");
  EXPECT_FAILS(c.open({scratch.path}, 5, 4), "is a directory");
  EXPECT_FAILS(d.open({scratch / "absent"}, 5, 4), scratch / "absent", "No such file");
}

TEST(Data, ExpandsFileLists) {
  Scratch scratch;
  writeFile(scratch / "list", "x\ny\n\nz");
  std::vector<std::string> names;
  ASSERT_OK(expandFileList("a,@" + (scratch / "list") + ",b", names));
  EXPECT_EQ(names, (std::vector<std::string>{"a", "x", "y", "z", "b"}));
  EXPECT_FAILS(expandFileList("a,,b", names), "empty name: 'a,,b'");
  writeFile(scratch / "none", "\n\n");
  EXPECT_FAILS(expandFileList("@" + (scratch / "none"), names), "lists no file");
}
