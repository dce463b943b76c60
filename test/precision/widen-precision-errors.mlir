// RUN: tplan-opt --widen-precision --split-input-file --verify-diagnostics %s
// GPUs alone round what GEMMs read.
// expected-error @+1 {{tf32 is how GPUs multiply: compile with --target=cuda:ARCH, or name another precision; found tf32}}
tplan.plan @p {precision = "tf32"}

// -----

module attributes {tplan.target = #tplan.target<{arch = "sm_90"}>} {
  tplan.plan @p {precision = "tf32"}
}
