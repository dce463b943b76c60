//===- Scope.cpp - the names of a body, and what they stand for ------------===//
#include "lib/Parse/Scope.h"

using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

std::string Env::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto &[name, bound] : numbers) {
    os << name << "=";
    // All bits of a real: two sizes that print alike are still two.
    if (bound.number.integer)
      os << bound.number.whole;
    else
      os << "r" << llvm::bit_cast<uint64_t>(bound.number.real);
    os << ";";
  }
  for (auto &[name, layer] : layers)
    os << name << "=" << layer->key << ";";
  return text;
}

const Bound *Env::findOwn(StringRef name) const {
  auto it = numbers.find(name);
  return it != numbers.end() && own.count(name) ? &it->second : nullptr;
}

std::vector<StringRef> Env::ownNames() const {
  std::vector<StringRef> names;
  for (auto &[name, loc] : own)
    names.push_back(name);
  return names;
}

Variable *Scope::findVariable(StringRef name) {
  for (Scope *scope = this; scope; scope = scope->outer)
    if (auto it = scope->variables.find(name); it != scope->variables.end())
      return &it->second;
  return nullptr;
}

Member *Scope::findMember(StringRef name, bool *outer) {
  for (Scope *scope = this; scope; scope = scope->outer)
    if (auto it = scope->members.find(name); it != scope->members.end()) {
      if (outer)
        *outer = scope != this;
      return &it->second;
    }
  return nullptr;
}

std::vector<StringRef> Scope::visibleNames() {
  std::vector<StringRef> names;
  for (Scope *scope = this; scope; scope = scope->outer) {
    for (auto &[name, variable] : scope->variables)
      names.push_back(name);
    for (auto &[name, member] : scope->members)
      names.push_back(name);
  }
  llvm::append_range(names, env->ownNames());
  return names;
}

bool tplan::parse::declare(Report &report, const Name &name, Scope &scope) {
  SMLoc earlier;
  if (auto it = scope.variables.find(name.text); it != scope.variables.end())
    earlier = it->second.loc;
  else if (auto it = scope.members.find(name.text); it != scope.members.end())
    earlier = it->second.name.loc;
  else if (auto it = scope.env->own.find(name.text); it != scope.env->own.end())
    earlier = it->second;
  else
    return true;
  report.error(name.loc, "declared twice: {0}", name.text)
      .note(earlier, "{0} is declared here", name.text);
  return false;
}

void tplan::parse::warnUncalled(Report &report, const Scope &scope) {
  if (report.errors()) // what would have used it may have failed
    return;
  for (auto &[name, member] : scope.members)
    if (!member.called)
      report.warning(member.name.loc, "never used: {0}", name);
}
