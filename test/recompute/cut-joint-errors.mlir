// RUN: tplan-opt --cut-joint -verify-diagnostics %s
// expected-error @+1 {{recompute differs between layers, which is not built yet; write one policy for all, found rules: 1}}
tplan.plan @p {recompute = {default = "none", rules = [{layers = [0, 1], policy = "full"}]}}
