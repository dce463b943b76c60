//===- Dist.cpp - registration, syntax and verifiers of the dist dialect ---===//
//
// Each check cites its constraint in Dist.td as (Cn): of the attribute, or of the operation. Those
// of operations on blocks stand in Kinds.cpp.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Dist.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <set>

using namespace mlir;
using namespace tplan;
using namespace tplan::dist;

#include "dialects/dist/DistDialect.cpp.inc"
#include "dialects/dist/DistEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/dist/DistOps.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/DistAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/DistOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Lists of axes
//===----------------------------------------------------------------------===//

std::string dist::spell(ArrayRef<StringAttr> axes) {
  return llvm::join(llvm::map_range(axes, [](StringAttr a) { return a.getValue(); }), ", ");
}

std::string dist::spell(CollectiveOp op) {
  return (stringifyCollectiveKind(op.getKind()) + " over " + spell(axesOf(op.getAxes()))).str();
}

Axes dist::axesOf(ArrayAttr names) {
  return llvm::map_to_vector<2>(names, [](Attribute a) { return cast<StringAttr>(a); });
}

ArrayAttr dist::arrayOf(MLIRContext *context, ArrayRef<StringAttr> axes) {
  return ArrayAttr::get(context, SmallVector<Attribute>(axes.begin(), axes.end()));
}

bool dist::intersects(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  return llvm::any_of(a, [&](StringAttr axis) { return llvm::is_contained(b, axis); });
}

Axes dist::difference(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  Axes left;
  for (StringAttr axis : a)
    if (!llvm::is_contained(b, axis))
      left.push_back(axis);
  return left;
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (AxisAttr axis : getAxes())
    ranks *= axis.getSize();
  return ranks;
}

int64_t MeshAttr::find(StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    if (axis.getName() == name)
      return i;
  return -1;
}

int64_t MeshAttr::sizeOf(StringAttr axis) const {
  int64_t i = find(axis.getValue());
  return i < 0 ? 1 : getAxes()[i].getSize();
}

int64_t MeshAttr::sizeOf(ArrayRef<StringAttr> axes) const {
  int64_t size = 1;
  for (StringAttr axis : axes)
    size *= sizeOf(axis);
  return size;
}

Axes MeshAttr::sorted(ArrayRef<StringAttr> axes) const {
  Axes all(axes);
  llvm::sort(all, [&](StringAttr a, StringAttr b) { return find(a) < find(b); });
  all.erase(llvm::unique(all), all.end());
  return all;
}

int64_t MeshAttr::blockOf(nn::DimAttr dim, ArrayRef<StringAttr> axes) const {
  int64_t block = dist::blockOf(dim.getSize(), sizeOf(axes));
  for (GranuleAttr granule : getGranules())
    if (granule.getDim() == dim.getName())
      return llvm::alignTo(block, granule.getSize());
  return block;
}

MeshAttr dist::meshOf(ModuleOp module) {
  auto mesh = module->getAttrOfType<MeshAttr>(kMesh);
  return mesh ? mesh : MeshAttr::get(module.getContext());
}

StringRef MeshAttr::planAxisOf(StringRef axis) const {
  int64_t i = find(axis);
  StringAttr whole = i < 0 ? StringAttr() : getAxes()[i].getPlanAxis();
  return whole ? whole.getValue() : axis;
}

Axes MeshAttr::getAxesInStage() const {
  Axes all;
  for (AxisAttr axis : getAxes())
    if (!getStages() || axis.getName() != getStages())
      all.push_back(StringAttr::get(getContext(), axis.getName()));
  return all;
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> error, ArrayRef<AxisAttr> axes,
                               ArrayRef<GranuleAttr> granules, StringAttr stages) {
  llvm::StringSet<> seen, padded;
  for (AxisAttr axis : axes) // (C1) of the mesh
    if (!seen.insert(axis.getName()).second)
      return error() << "axis stands twice in a mesh: " << axis.getName();
  for (GranuleAttr granule : granules) {
    if (!padded.insert(granule.getDim()).second)
      return error() << "granule stands twice in a mesh: " << granule.getDim();
    if (granule.getSize() < 1)
      return error() << "granule must be positive, found " << granule.getSize();
  }
  if (stages && !seen.contains(stages)) // (C2) of the mesh
    return error() << "stages lie along an axis of the mesh, found " << stages;
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

ArrayRef<StringAttr> LayoutAttr::axesOf(StringRef dim) const {
  for (ShardAttr shard : getShards())
    if (shard.getDim() == dim)
      return shard.getAxes();
  return {};
}

Axes LayoutAttr::used() const {
  Axes all;
  for (ShardAttr shard : getShards())
    llvm::append_range(all, shard.getAxes());
  if (getRows())
    llvm::append_range(all, getRows().getAxes());
  llvm::append_range(all, getSum());
  llvm::append_range(all, getMax());
  return all;
}

LayoutAttr LayoutAttr::withAxes(StringAttr dim, ArrayRef<StringAttr> axes) const {
  SmallVector<ShardAttr> shards;
  for (ShardAttr shard : getShards())
    if (shard.getDim() != dim)
      shards.push_back(shard);
  if (!axes.empty())
    shards.push_back(ShardAttr::get(getContext(), dim, axes));
  llvm::sort(shards, [](ShardAttr a, ShardAttr b) {
    return a.getDim().getValue() < b.getDim().getValue();
  });
  return get(getContext(), shards, getRows(), getSum(), getMax());
}

LayoutAttr LayoutAttr::withRows(RowsAttr rows) const {
  return get(getContext(), getShards(), rows, getSum(), getMax());
}
LayoutAttr LayoutAttr::withSum(ArrayRef<StringAttr> axes) const {
  return get(getContext(), getShards(), getRows(), axes, getMax());
}
LayoutAttr LayoutAttr::withMax(ArrayRef<StringAttr> axes) const {
  return get(getContext(), getShards(), getRows(), getSum(), axes);
}

LayoutAttr dist::layoutOf(Value value) {
  Attribute found;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (auto layer = dyn_cast<nn::LayerOp>(arg.getOwner()->getParentOp()))
      found = layer.getArgAttr(arg.getArgNumber(), kLayout);
  } else if (auto all = value.getDefiningOp()->getAttrOfType<ArrayAttr>(kLayouts)) {
    found = all[cast<OpResult>(value).getResultNumber()];
  }
  auto layout = dyn_cast_or_null<LayoutAttr>(found);
  return layout ? layout : LayoutAttr::get(value.getContext(), {}, {}, {}, {});
}

//===----------------------------------------------------------------------===//
// Syntax of meshes: <"dp", 4>, <"pp", 2>, stages "pp", granules <"V", 8>
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisAttr> axes;
  SmallVector<GranuleAttr> granules;
  StringAttr stages;
  bool isGranule = false;
  auto part = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("stages")))
      return parser.parseAttribute(stages);
    isGranule |= succeeded(parser.parseOptionalKeyword("granules"));
    if (isGranule)
      granules.push_back(dyn_cast_or_null<GranuleAttr>(GranuleAttr::parse(parser, {})));
    else
      axes.push_back(dyn_cast_or_null<AxisAttr>(AxisAttr::parse(parser, {})));
    return success(isGranule ? bool(granules.back()) : bool(axes.back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, part))
    return {};
  return parser.getChecked<MeshAttr>(parser.getContext(), axes, granules, stages);
}

void MeshAttr::print(AsmPrinter &printer) const {
  bool first = true;
  auto comma = [&]() { printer << (std::exchange(first, false) ? "" : ", "); };
  printer << "<";
  for (AxisAttr axis : getAxes()) {
    comma();
    axis.print(printer);
  }
  if (getStages()) {
    comma();
    printer << "stages " << getStages();
  }
  for (GranuleAttr granule : getGranules()) {
    comma();
    printer << (granule == getGranules().front() ? "granules " : "");
    granule.print(printer);
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Syntax of layouts: B over [dp], rows [H, K] by 8 over [dp] in_whole, sum over [cp]
//===----------------------------------------------------------------------===//

static ParseResult parseNames(AsmParser &parser, SmallVectorImpl<StringAttr> &names) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  });
}

static void printNames(AsmPrinter &printer, ArrayRef<StringAttr> names) {
  printer << "[";
  llvm::interleaveComma(names, printer,
                        [&](StringAttr name) { printer.printKeywordOrString(name.getValue()); });
  printer << "]";
}

static ParseResult parseOver(AsmParser &parser, SmallVectorImpl<StringAttr> &axes) {
  return failure(parser.parseKeyword("over") || parseNames(parser, axes));
}

static FailureOr<RowsAttr> parseRows(AsmParser &parser) {
  SmallVector<StringAttr> dims, axes;
  int64_t block;
  if (parseNames(parser, dims) || parser.parseKeyword("by") || parser.parseInteger(block) ||
      parseOver(parser, axes))
    return failure();
  bool inWhole = succeeded(parser.parseOptionalKeyword("in_whole"));
  return RowsAttr::get(parser.getContext(), dims, block, axes, inWhole);
}

static void printRows(AsmPrinter &printer, RowsAttr rows) {
  printNames(printer, rows.getDims());
  printer << " by " << rows.getBlock() << " over ";
  printNames(printer, rows.getAxes());
  if (rows.getInWhole())
    printer << " in_whole";
}

Attribute RowsAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<RowsAttr> rows = parseRows(parser);
  return failed(rows) || parser.parseGreater() ? Attribute() : *rows;
}
void RowsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printRows(printer, *this);
  printer << ">";
}

Attribute ShardAttr::parse(AsmParser &parser, Type) {
  std::string dim;
  SmallVector<StringAttr> axes;
  if (parser.parseLess() || parser.parseKeywordOrString(&dim) || parseOver(parser, axes) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), StringAttr::get(parser.getContext(), dim), axes);
}
void ShardAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printKeywordOrString(getDim().getValue());
  printer << " over ";
  printNames(printer, getAxes());
  printer << ">";
}

/// What a part of a layout that is no dimension may begin with.
static bool isLayoutWord(StringRef word) {
  return word == "rows" || word == "sum" || word == "max";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  LayoutAttr layout = LayoutAttr::get(context, {}, {}, {}, {});
  SmallVector<StringAttr> used;
  std::set<std::pair<bool, std::string>> parts;
  auto part = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    std::string word;
    // A name in quotes is a dimension, whatever it is.
    bool isDim = succeeded(parser.parseOptionalString(&word));
    if (!isDim && parser.parseKeywordOrString(&word))
      return failure();
    if (!parts.insert({isDim || !isLayoutWord(word), word}).second) // (C3) of the layout
      return parser.emitError(loc, "stands twice in a layout: ") << word;
    SmallVector<StringAttr> axes;
    if (!isDim && word == "rows") {
      FailureOr<RowsAttr> rows = parseRows(parser);
      if (failed(rows))
        return failure();
      layout = layout.withRows(*rows);
      axes.assign(rows->getAxes().begin(), rows->getAxes().end());
    } else if (parseOver(parser, axes)) {
      return failure();
    } else {
      layout = isDim || !isLayoutWord(word) ? layout.withAxes(StringAttr::get(context, word), axes)
               : word == "sum"              ? layout.withSum(axes)
                                            : layout.withMax(axes);
    }
    for (StringAttr axis : axes) // (C1) of the layout
      if (llvm::is_contained(used, axis))
        return parser.emitError(loc, "axis occurs twice in a layout: ") << axis.getValue();
      else
        used.push_back(axis);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater, part))
    return {};
  return layout;
}

void LayoutAttr::print(AsmPrinter &printer) const {
  bool first = true;
  auto comma = [&]() { printer << (std::exchange(first, false) ? "" : ", "); };
  auto over = [&](StringRef what, ArrayRef<StringAttr> axes) {
    if (axes.empty())
      return;
    comma();
    printer << what << " over ";
    printNames(printer, axes);
  };
  printer << "<";
  for (ShardAttr shard : getShards()) {
    comma();
    if (StringRef dim = shard.getDim(); isLayoutWord(dim))
      printer.printString(dim);
    else
      printer.printKeywordOrString(dim);
    printer << " over ";
    printNames(printer, shard.getAxes());
  }
  if (getRows()) {
    comma();
    printer << "rows ";
    printRows(printer, getRows());
  }
  over("sum", getSum());
  over("max", getMax());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult dist::verifyAxes(Operation *op, ArrayAttr axes) {
  if (axes.empty())
    return op->emitOpError("needs an axis of the mesh, found none");
  MeshAttr mesh;
  if (auto module = op->getParentOfType<ModuleOp>(); module && module->hasAttr(kMesh))
    mesh = meshOf(module);
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr axis : dist::axesOf(axes)) {
    if (mesh && mesh.find(axis) < 0)
      return op->emitOpError("axis is not of the mesh: ") << axis;
    if (!seen.insert(axis).second)
      return op->emitOpError("axis given twice: ") << axis;
  }
  return success();
}

LogicalResult OwnOp::verify() { return verifyAxes(*this, getAxes()); }

LogicalResult dist::verifyPlace(Operation *op, ArrayAttr axes) {
  if (failed(verifyAxes(op, axes)))
    return failure();
  Type whole = op->getOperand(1).getType(), result = op->getResult(0).getType();
  if (result != whole) // (C2)
    return op->emitOpError("makes all of ") << whole << ", found " << result;
  return success();
}

LogicalResult ReshapeOp::verify() {
  int64_t bytes = nn::bytesOf(getX()), made = nn::bytesOf(getResult());
  if (bytes != made) // (C1)
    return emitOpError("has ") << bytes << " bytes, and makes " << made;
  return success();
}

LogicalResult PlaceOp::verify() { return verifyPlace(*this, getAxes()); }
