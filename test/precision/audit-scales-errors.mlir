// RUN: tplan-opt --audit-scales --verify-diagnostics %s
// expected-error@+1 {{no GEMM of this plan is in f8, so --audit-scales has nothing to record: name weights in `precision bf16, fp8(blockwise) for ..`, or leave it out}}
tplan.plan @p {precision = "f32"}
