#include "event/event.h"

#include <gtest/gtest.h>

#include <cstring>

#include "event/record.h"

namespace headway::event {
namespace {

TEST(Vocabulary, EveryWordGoesThereAndBack) {
  for (PhaseId p = 1; p < kBuiltinPhases; ++p) EXPECT_EQ(phase_from_name(phase_name(p)), p);
  for (std::uint16_t m = HW_MARK_SUBMITTED; m <= HW_MARK_JOB_END; ++m) {
    EXPECT_EQ(mark_from_name(mark_name(m)), m);
  }
  for (int o = HW_ORIGIN_INFRA; o <= HW_ORIGIN_UNKNOWN; ++o) {
    EXPECT_EQ(origin_from_name(origin_name(o)), o);
  }
  EXPECT_EQ(phase_from_name("no_such_phase"), std::nullopt);
  EXPECT_EQ(phase_from_name(""), std::nullopt);
  EXPECT_EQ(mark_name(999), "");
}

TEST(EndInfo, SurvivesPacking) {
  const EndInfo in{
      .exit_code = -7, .signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 70000, .reason = 65000};
  const EndInfo out = unpack_end(pack_end_a(in), pack_end_b(in));
  EXPECT_EQ(out.exit_code, -7);
  EXPECT_EQ(out.signal, 9);
  EXPECT_EQ(out.origin, HW_ORIGIN_INFRA);
  EXPECT_EQ(out.rank, 70000u);
  EXPECT_EQ(out.reason, 65000);
}

TEST(NameTable, IsBoundedAndCounts) {
  NameTable table;
  const NameId a = table.intern("tokenise");
  EXPECT_EQ(table.intern("tokenise"), a);
  EXPECT_EQ(table.text(a), "tokenise");
  EXPECT_EQ(table.text(HW_PHASE_COMPILE), "compile");
  for (int i = 0; i < 100000; ++i) table.intern("name" + std::to_string(i));
  EXPECT_EQ(table.size(), NameTable::names_max);
  EXPECT_GT(table.overflowed(), 0u);
  EXPECT_EQ(table.intern("one more"), NameTable::kOtherName);
  EXPECT_EQ(table.text(a), "tokenise");
}

TEST(Record, CheckSeesEverySingleBitFlip) {
  const Record r{123456789012345ull, 42, -3, 12, 1, 0};
  const std::uint32_t check = record_check(r.t, r.a, r.b, r.name, r.lane, EventType::begin);
  unsigned char bytes[28];
  for (std::size_t bit = 0; bit < sizeof(bytes) * 8; ++bit) {
    std::memcpy(bytes, &r, sizeof(bytes));
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << (bit % 8)));
    Record f{};
    std::memcpy(&f, bytes, sizeof(bytes));
    EXPECT_NE(record_check(f.t, f.a, f.b, f.name, f.lane, EventType::begin), check) << bit;
  }
  EXPECT_NE(record_check(r.t, r.a, r.b, r.name, r.lane, EventType::end), check);
  EXPECT_LT(check, 1u << 24);
}

}  // namespace
}  // namespace headway::event
