//===- toy_layouts.cpp - ways in which ranks share the toy -----------------===//

#include "toy_program.h"

#include <algorithm>

using namespace toy;

namespace {

const Layout table[] = {
    {.name = "Rows", .d = 2, .data = overD, .microbatches = 1},
    {.name = "RowsOfThree", .d = 3, .data = overD, .rows = 1, .countWhole = true},
    {.name = "RowsReadFirst",
     .d = 2,
     .b = 3,
     .data = overBD,
     .rows = 1,
     .microbatches = 1,
     .readFirst = true},
    {.name = "Replicas", .d = 2, .a = 2},
    {.name = "Columns",
     .a = 2,
     .weights = {.columns = overA},
     .states = {.columns = overA},
     .gradients = {.columns = overA}},
    {.name = "RowsOfWeightsPadded",
     .a = 3,
     .weights = {.rows = overA},
     .states = {.rows = overA},
     .gradients = {.rows = overA}},
    {.name = "BothDimensions",
     .d = 2,
     .a = 3,
     .b = 2,
     .data = overD,
     .microbatches = 1,
     .weights = {.rows = overB, .columns = overA},
     .states = {.rows = overA, .columns = overB},
     .gradients = {.columns = overD}},
    {.name = "ChunkedStates", .d = 2, .data = overD, .microbatches = 1, .states = {.chunk = overD}},
    {.name = "ChunkedGradients",
     .d = 3,
     .data = overD,
     .rows = 1,
     .states = {.chunk = overD},
     .gradients = {.chunk = overD, .inWhole = true}},
    {.name = "ChunkedWeightsInWhole",
     .d = 2,
     .a = 2,
     .data = overD,
     .microbatches = 1,
     .weights = {.columns = overA, .chunk = overD, .inWhole = true},
     .states = {.columns = overA, .chunk = overD},
     .gradients = {.columns = overA, .chunk = overD}},
    {.name = "AllApart",
     .d = 2,
     .b = 3,
     .data = overD,
     .microbatches = 1,
     .weights = {.chunk = overBD},
     .states = {.rows = overB, .columns = overD},
     .gradients = {.chunk = overAll, .inWhole = true}},
};

} // namespace

std::span<const Layout> toy::layouts() { return table; }

const Layout &toy::named(std::string_view name) {
  return *std::find_if(std::begin(table), std::end(table) - 1,
                       [&](const Layout &layout) { return layout.name == name; });
}
