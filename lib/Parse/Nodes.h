//===- Nodes.h - how the grammar makes nodes of the syntax tree -------------===//
//
// Actions of Grammar.y are one line each; what they repeat is here.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_NODES_H
#define TPLAN_PARSE_NODES_H

#include "lib/Parse/Syntax.h"

namespace tplan::parse {

template <class T, class... A> T *make(Syntax &s, A &&...args) {
  return s.arena.make<T>(std::forward<A>(args)...);
}
/// A list that grows as the parser reduces; null stands for the empty one.
template <class T> std::vector<T> *push(Syntax &s, std::vector<T> *list, T item) {
  if (!list)
    list = s.arena.make<std::vector<T>>();
  list->push_back(std::move(item));
  return list;
}
template <class T> std::vector<T> *one(Syntax &s, T item) {
  return push<T>(s, nullptr, std::move(item));
}
template <class T> std::vector<T> take(std::vector<T> *list) {
  return list ? std::move(*list) : std::vector<T>();
}
inline Names takeNames(std::vector<Name> *list) {
  return list ? Names(list->begin(), list->end()) : Names();
}
inline Stmt *stmt(Syntax &s, Stmt::Kind kind, TplanRange at) {
  Stmt *made = s.arena.make<Stmt>();
  made->kind = kind;
  made->loc = Syntax::loc(at);
  return made;
}
inline TypeExpr *tensorType(Syntax &s, TplanRange at) {
  TypeExpr *made = s.arena.make<TypeExpr>();
  made->loc = Syntax::loc(at);
  return made;
}
inline Item *item(Syntax &s, TplanRange at) {
  Item *made = s.arena.make<Item>();
  made->loc = Syntax::loc(at);
  return made;
}
inline Item *named(Syntax &s, TplanRange at) {
  Item *made = item(s, at);
  made->name = s.name(at);
  return made;
}
inline Item *namedInQuotes(Syntax &s, TplanRange at) {
  Item *made = named(s, at);
  made->name.text = made->name.text.drop_front().drop_back();
  return made;
}
inline Item *quoted(Syntax &s, TplanRange at, TplanRange text) {
  Item *made = item(s, at);
  llvm::StringRef quotes = s.name(text).text;
  made->hasString = true;
  made->string = quotes.slice(1, quotes.size() - 1);
  return made;
}
inline Setting *setting(Syntax &s, TplanRange key, std::vector<Item> *items) {
  Setting *made = s.arena.make<Setting>();
  made->key = s.name(key).text;
  made->loc = Syntax::loc(key);
  made->items = take(items);
  return made;
}
inline BlockDecl *block(Syntax &s, BlockDecl::Kind kind, TplanRange name,
                        std::vector<Setting> *settings, Name base = {}, Name on = {}) {
  BlockDecl *made = s.arena.make<BlockDecl>();
  made->kind = kind;
  made->name = s.name(name);
  made->base = base;
  made->on = on;
  made->settings = take(settings);
  return made;
}

inline WeightPath *path(Syntax &s, TplanRange at) {
  Name word = s.name(at);
  return s.arena.make<WeightPath>(word.loc, word.text.str());
}
inline WeightPath *longer(WeightPath *path, llvm::StringRef segment) {
  path->text += "." + segment.str();
  return path;
}
inline WeightPath *numbered(WeightPath *path, Name placeholder) {
  path->twice = !path->placeholder.text.empty();
  path->placeholder = placeholder;
  return longer(path, "{i}");
}
inline Factor factor(Syntax &s, TplanRange at) { return {s.name(at), 0, Syntax::loc(at)}; }
inline Factor factor(TplanRange at, const Number &n) {
  return {{}, n.integer ? n.whole : -1, Syntax::loc(at)};
}
inline Segment *segment(Syntax &s, TplanRange at) {
  Segment *made = s.arena.make<Segment>();
  made->name = s.name(at);
  return made;
}
inline Segment *ranged(Segment *segment, TplanRange at, int64_t first, int64_t last) {
  segment->ranged = true;
  segment->first = first, segment->last = last;
  segment->rangeLoc = Syntax::loc(at);
  return segment;
}
inline SelectorItem *pathOf(Syntax &s, TplanRange at, const Segment &first) {
  SelectorItem *made = s.arena.make<SelectorItem>();
  made->loc = Syntax::loc(at);
  made->path.push_back(first);
  return made;
}
inline Selector *selecting(Syntax &s, const SelectorItem &path, SelectorItem *except = nullptr) {
  Selector *made = s.arena.make<Selector>();
  made->include.push_back(path);
  if (except)
    made->except.push_back(*except);
  return made;
}
inline Item *selected(Syntax &s, TplanRange at, const SelectorItem &path,
                      SelectorItem *except = nullptr) {
  Item *made = item(s, at);
  made->selector = selecting(s, path, except);
  return made;
}
inline Arg *namedArg(Syntax &s, TplanRange key, Expr *value) {
  Arg *made = s.arena.make<Arg>();
  made->key = s.name(key);
  made->value = value;
  return made;
}
/// A layer of a list in a selector; `sign` -1: from its end.
inline int64_t layerIndex(const Number &n, int64_t sign) {
  return n.integer ? sign * n.whole : kNoLayer;
}
inline ConfigValue *configValue(Syntax &s, TplanRange at, Expr *expr, std::vector<Name> *strings,
                                bool isList = false) {
  ConfigValue *made = s.arena.make<ConfigValue>();
  made->loc = Syntax::loc(at);
  made->expr = expr;
  made->strings = takeNames(strings);
  made->isList = isList;
  return made;
}

/// A token (a name, or else `found`) where only `expected` may stand; if none may, it is one too
/// many.
void reportUnexpected(Syntax &syntax, TplanRange range, bool isName, llvm::StringRef found,
                      llvm::ArrayRef<llvm::StringRef> expected);

} // namespace tplan::parse

#endif // TPLAN_PARSE_NODES_H
