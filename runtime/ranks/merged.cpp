//===- merged.cpp - the tensors of a plan, over the programs of its ranks --===//

#include "runtime/ranks/merged.h"

#include "runtime/ranks/member.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>

using namespace tplan::runtime;

namespace {

/// An instance in the table of programs[program].
struct Entry {
  Instance instance;
  int64_t program;
};

/// What a tensor is known by beside its number.
using Family = std::tuple<std::string_view, std::string_view, int32_t>;
Family familyOf(const tp_tensor &row) { return {row.path, row.slot ? row.slot : "", row.role}; }

/// What the rows of one row of the merged list have in common.
using Key = std::tuple<Family, int32_t, std::vector<int64_t>>;
Key keyOf(const tp_tensor &row) {
  return {familyOf(row), row.type, std::vector<int64_t>(row.whole, row.whole + row.rank)};
}

/// A row of the merged list with what the tables have of it: by number, and for each number by
/// program.
struct Gathered {
  const tp_tensor *first; // row
  std::vector<Entry> entries;
};

void sortByNumber(std::vector<Entry> &entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.instance.number, a.program) < std::tie(b.instance.number, b.program);
  });
}

std::vector<Gathered> gather(const tp_program &program) {
  std::vector<Gathered> rows;
  auto add = [](Gathered &to, const tp_tensor &row, int64_t of) {
    bool isNumbered = strstr(row.path, "{i}");
    for (int64_t i = 0; i < row.count; ++i)
      to.entries.push_back({{&row, i, isNumbered ? row.first + i * row.step : 0}, of});
  };
  if (program.num_programs == 0) {
    for (const tp_tensor *row = program.tensors; row != program.tensors + program.num_tensors;
         ++row)
      add(rows.emplace_back(row), *row, 0);
    return rows;
  }
  std::map<Key, size_t> known;
  for (int64_t number = 0; number < program.num_programs; ++number) {
    const tp_program &of = *program.programs[number];
    for (const tp_tensor *row = of.tensors; row != of.tensors + of.num_tensors; ++row) {
      size_t at = known.try_emplace(keyOf(*row), rows.size()).first->second;
      if (at == rows.size())
        rows.emplace_back(row);
      add(rows[at], *row, number);
    }
  }
  for (Gathered &row : rows)
    sortByNumber(row.entries);
  return rows;
}

/// The map of names on disk speaks of weights of the merged list. Programs agree in the rest of it.
Status checkDisk(const tp_program &program, const std::vector<Gathered> &rows) {
  if (!program.disk)
    return {};
  for (int64_t i = 0; i < program.disk->num_tensors; ++i) {
    const tp_stored &stored = program.disk->tensors[i];
    if (stored.tensor < 0 || stored.tensor >= (int64_t)rows.size() ||
        rows[stored.tensor].first->role != TP_WEIGHT)
      return errorf(
          "'%s' on disk is to be a weight of the %zu rows of all programs, found row %lld",
          stored.name, rows.size(), (long long)stored.tensor);
    for (int64_t other = 1; other < program.num_programs; ++other) {
      const tp_disk *disk = program.programs[other]->disk;
      if (!std::equal(stored.strides, stored.strides + rows[stored.tensor].first->rank,
                      disk->tensors[i].strides))
        return errorf("the strides of '%s' on disk are others in program %lld", stored.name,
                      (long long)other);
    }
  }
  return {};
}

/// Checks that two entries of one tensor agree.
Status checkSame(const Entry &a, const Entry &b) {
  std::string name = nameOf(a.instance);
  const tp_tensor &one = *a.instance.row, &other = *b.instance.row;
  if (a.program == b.program)
    return errorf("the tensor '%s' stands twice in the table of program %lld", name.c_str(),
                  (long long)a.program);
  auto differ = [&](const char *what, double x, double y) {
    return errorf("the tensor '%s' has another %s in program %lld than in program %lld: %.17g, not "
                  "%.17g",
                  name.c_str(), what, (long long)b.program, (long long)a.program, y, x);
  };
  if (one.role == TP_WORKING_COPY) // its initial values are those of another one
    return {};
  if (one.init != other.init)
    return differ("kind of initial values", one.init, other.init);
  if (one.init_value != other.init_value)
    return differ("initial value", one.init_value, other.init_value);
  auto idOf = [](const Instance &it) { return it.row->id + it.index * it.row->id_step; };
  if (one.init == TP_NORMAL && idOf(a.instance) != idOf(b.instance))
    return differ("id", (double)idOf(a.instance), (double)idOf(b.instance));
  return {};
}

} // namespace

std::vector<MergedRow> tplan::runtime::mergedRows(const tp_program &program, int64_t number) {
  std::vector<MergedRow> merged;
  for (const Gathered &row : gather(program)) {
    std::vector<MergedTensor> &tensors = merged.emplace_back(row.first).tensors;
    for (const Entry &entry : row.entries) {
      const Instance &it = entry.instance;
      bool isKnown =
          program.num_programs && !tensors.empty() && tensors.back().first.number == it.number;
      if (!isKnown)
        tensors.push_back({entry.program, it, {}});
      if (entry.program == number)
        tensors.back().mine = it;
    }
  }
  return merged;
}

Status tplan::runtime::checkMerged(const tp_program &program) {
  for (int64_t number = 0; number < program.num_programs; ++number) {
    const tp_program &of = *program.programs[number];
    for (const tp_tensor *row = of.tensors; row != of.tensors + of.num_tensors; ++row)
      if (row->count < 1)
        return errorf("the tensor '%s' has %lld instances in the table of program %lld", row->path,
                      (long long)row->count, (long long)number);
  }
  std::vector<Gathered> rows = gather(program);
  std::map<Family, std::vector<const Gathered *>> families;
  for (const Gathered &row : rows) {
    for (size_t i = 1; i < row.entries.size(); ++i)
      if (row.entries[i - 1].instance.number == row.entries[i].instance.number)
        TP_TRY(checkSame(row.entries[i - 1], row.entries[i]));
    families[familyOf(*row.first)].push_back(&row);
  }
  // Layers of a list may differ from each other, but each layer must be the same everywhere.
  for (auto &[names, members] : families) {
    std::vector<Entry> all;
    for (const Gathered *row : members)
      if (members.size() > 1)
        all.insert(all.end(), row->entries.begin(), row->entries.end());
    sortByNumber(all);
    for (size_t i = 1; i < all.size(); ++i) {
      const Entry &a = all[i - 1], &b = all[i];
      if (a.instance.number == b.instance.number &&
          keyOf(*a.instance.row) != keyOf(*b.instance.row))
        return errorf("the tensor '%s' has another type or shape in program %lld than in program "
                      "%lld",
                      nameOf(a.instance).c_str(), (long long)b.program, (long long)a.program);
    }
  }
  return checkDisk(program, rows);
}

std::string tplan::runtime::withNumber(std::string path, int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = path.find("{i}"); at != std::string::npos;
       at = path.find("{i}", at + digits.size()))
    path.replace(at, 3, digits);
  return path;
}

std::string tplan::runtime::nameOf(const Instance &instance) {
  const tp_tensor &tensor = *instance.row;
  std::string name = withNumber(tensor.path, instance.number);
  if (tensor.slot && *tensor.slot)
    name += std::string(".") + tensor.slot;
  return name;
}
