//===- TranscendentalsTable.h - coefficients of the elementary functions --===//
//
// Printed by scripts/minimax.py, constant term first. Beside each is the largest
// relative error of the polynomial in the sense that the script states.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_TRANSCENDENTALSTABLE_H
#define TPLAN_LOWER_TRANSCENDENTALSTABLE_H

namespace tplan::lower {

// relative error 2^-23.3
constexpr float kExp32[] = {0x1p+0f,        0x1.000002p+0f, 0x1.000014p-1f, 0x1.5554d4p-3f,
                            0x1.55471ap-5f, 0x1.112f5cp-7f, 0x1.72392p-10f, 0x1.9a93bp-13f};

// relative error 2^-54.7
constexpr double kExp64[] = {0x1p+0,
                             0x1p+0,
                             0x1p-1,
                             0x1.555555555554bp-3,
                             0x1.55555555555c8p-5,
                             0x1.1111111111fcap-7,
                             0x1.6c16c16c0bb15p-10,
                             0x1.a01a019dc014ep-13,
                             0x1.a01a01b030d47p-16,
                             0x1.71de3d65f851dp-19,
                             0x1.27e4efbde3414p-22,
                             0x1.ae601498e829fp-26,
                             0x1.1ef5839da3babp-29,
                             0x1.642441c396ee8p-33,
                             0x1.9091a670a7d58p-37};

// relative error 2^-28.7
constexpr float kExpm132[] = {0x1p-1f,        0x1.555554p-3f,  0x1.5554bp-5f,
                              0x1.11118ap-7f, 0x1.6d723ep-10f, 0x1.a032c4p-13f};

// relative error 2^-59.3
constexpr double kExpm164[] = {0x1p-1,
                               0x1.5555555555555p-3,
                               0x1.5555555555559p-5,
                               0x1.1111111111105p-7,
                               0x1.6c16c16c14e23p-10,
                               0x1.a01a01a02099dp-13,
                               0x1.a01a01ad967c8p-16,
                               0x1.71de3a3d635bcp-19,
                               0x1.27e4cc698281ap-22,
                               0x1.ae64997880b75p-26,
                               0x1.1f8ad4efc1efdp-29,
                               0x1.612821be46f1ep-33};

// relative error 2^-30.1
constexpr float kLog32[] = {0x1.555554p-1f, 0x1.999a7ap-2f, 0x1.2438d8p-2f, 0x1.e2f664p-3f};

// relative error 2^-60.6
constexpr double kLog64[] = {0x1.5555555555555p-1, 0x1.9999999999dfep-2, 0x1.249249242b515p-2,
                             0x1.c71c7258eaa13p-3, 0x1.745cde3b9a5ddp-3, 0x1.3b20aa88c7eb9p-3,
                             0x1.0f5ce045ab957p-3, 0x1.0f623d76d21f5p-3};

// relative error 2^-27.5
constexpr float kSin32[] = {-0x1.555546p-3f, 0x1.11076p-7f, -0x1.994e5cp-13f};

// relative error 2^-57.3
constexpr double kSin64[] = {-0x1.5555555555555p-3, 0x1.111111111110bp-7,   -0x1.a01a01a018ae4p-13,
                             0x1.71de3a5339716p-19, -0x1.ae6452984512cp-26, 0x1.612092b3ec17bp-33,
                             -0x1.aaa54589b689ap-41};

// relative error 2^-30.9
constexpr float kCos32[] = {0x1.55554ap-5f, -0x1.6c0c8ap-10f, 0x1.9a020ap-16f};

// relative error 2^-60.0
constexpr double kCos64[] = {0x1.5555555555555p-5,  -0x1.6c16c16c16c1p-10, 0x1.a01a01a018de9p-16,
                             -0x1.27e4fb75fd6fp-22, 0x1.1eed8ca3a2a1cp-29, -0x1.9393383a2a12p-37,
                             0x1.aac5a9e7e966cp-45};

// relative error 2^-26.0
constexpr float kErf32[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2d2p-4f, -0x1.b7fbb4p-6f,
                            0x1.5419f6p-8f, -0x1.a485ecp-11f, 0x1.4ae4dp-14f};

// relative error 2^-56.2
constexpr double kErf64[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379e7p-2,  0x1.ce2f21a042bdep-4,
                             -0x1.b82ce312889c2p-6,  0x1.565bcd0e65193p-8,   -0x1.c02db3fef0196p-11,
                             0x1.f9a326c2d90fdp-14,  -0x1.f4d2562a129bdp-17, 0x1.b9e6518df84b7p-20,
                             -0x1.5f6d9cbe67d62p-23, 0x1.fc43f0415034bp-27,  -0x1.4e635adf30178p-30,
                             0x1.7f171e37c084fp-34,  -0x1.29e149569732p-38};

// relative error 2^-26.6
constexpr float kErfTail32[] = {0x1.058672p-2f,   -0x1.b57034p-2f,  0x1.eeea7ep-3f,
                                -0x1.437eeep-4f,  0x1.e9487ep-9f,   0x1.ca5a4cp-8f,
                                -0x1.bc9f24p-11f, -0x1.ec6ec6p-11f, 0x1.b1b6e8p-15f};

// relative error 2^-56.5
constexpr double kErfTail64[] = {
    0x1.058671b52c776p-2,   -0x1.b57034efd3f72p-2,  0x1.eeea7dc8a78b3p-3,   -0x1.437f0b68c0c21p-4,
    0x1.e9471597a0895p-9,   0x1.ca95ed534458ep-8,   -0x1.bc25a47f800b2p-11, -0x1.016b5ceb1d66ap-10,
    0x1.6d5f042790f27p-15,  0x1.6da97931212a5p-13,  0x1.cdca618828acdp-16,  -0x1.ceb9171c5b07cp-16,
    -0x1.d47817967e91ep-17, 0x1.76234d78312dap-20,  0x1.f73672acffd65p-19,  0x1.4013ccf0b9c12p-20,
    -0x1.b6c2881db5875p-22, -0x1.0d8a1106cd433p-21, -0x1.523ab21e7a2cdp-23, 0x1.6057558b0ba2p-24,
    0x1.caac26396f4d1p-24,  -0x1.052903fec7938p-25};

} // namespace tplan::lower

#endif // TPLAN_LOWER_TRANSCENDENTALSTABLE_H
