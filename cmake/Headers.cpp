//===- Headers.cpp - the target that owns the precompiled header ----------===//
