//===- FunctionCut.cpp - a function of a layer becomes several --------------===//
#include "lib/Overlap/FunctionCut.h"
#include "lib/Overlap/Functions.h"
#include "lib/Schedule/Values.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using sched::use;
using sched::Use;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FunctionCut::FunctionCut(rt::FuncOp whole, ArrayRef<Kind> kinds,
                         llvm::DenseMap<Operation *, unsigned> kindOf, NameOf nameOf)
    : whole(whole), kinds(kinds), kindOf(std::move(kindOf)) {
  findFlights(nameOf);
}

/// What another function reads, and all that some kinds make.
void FunctionCut::findFlights(NameOf nameOf) {
  std::vector<llvm::StringSet<>> names(kinds.size());
  for (Operation &op : whole.getBlock().without_terminator())
    for (Value made : op.getResults()) {
      unsigned kind = kindOf.at(&op);
      bool isRead = llvm::any_of(made.getUsers(), [&](Operation *user) {
        auto reader = kindOf.find(user);
        return reader != kindOf.end() && reader->second != kind;
      });
      if (!isRead && !kinds[kind].givesAll)
        continue;
      std::string name = nameOf(made), unique = name;
      for (int n = 2; !names[kind].insert(unique).second; ++n)
        unique = name + " " + std::to_string(n);
      flightOf[made] = flights.size();
      flights.push_back({unique, made.getType(), {}});
    }
}

DictionaryAttr FunctionCut::labelOf(unsigned flight) {
  return nn::attributesOf(whole.getContext(), {nn::Role::InFlight, flights[flight].name});
}

bool FunctionCut::uses(unsigned kind, BlockArgument arg) const {
  return llvm::any_of(arg.getUsers(), [&](Operation *user) {
    auto known = kindOf.find(user);
    return known == kindOf.end() ? kinds[kind].isRest
                                 : known->second == kind; // or returned as it is
  });
}

Piece FunctionCut::begin(const Kind &kind) {
  OpBuilder b(whole);
  auto func = rt::FuncOp::create(
      b, whole.getLoc(), (whole.getSymName() + kind.suffix).str(), b.getFunctionType({}, {}),
      kind.isRest ? whole.getLayerAttr() : FlatSymbolRefAttr(),
      kind.isRest ? whole.getPartAttr() : nn::PartAttr(), ArrayAttr(), ArrayAttr());
  b.createBlock(&func.getBody());
  rt::ReturnOp::create(b, whole.getReturn().getLoc(), ValueRange());
  return {func, {}, {}};
}

/// Results: those of the whole, then what is in flight.
void FunctionCut::end(unsigned kind, Piece &piece, llvm::DenseMap<Value, Value> &inside) {
  auto give = [&](Value value, DictionaryAttr attributes, std::optional<unsigned> flight) {
    (void)piece.func.insertResult(piece.func.getNumResults(), value.getType(), attributes);
    rt::ReturnOp end = piece.func.getReturn();
    end->insertOperands(end->getNumOperands(), value);
    piece.makes.push_back(flight);
  };
  for (auto [i, value] : llvm::enumerate(whole.getReturn().getOperands())) {
    Operation *def = value.getDefiningOp();
    if (def ? kindOf.at(def) == kind : kinds[kind].isRest)
      give(def ? value : inside.at(value), whole.getResultAttrDict(i), std::nullopt);
  }
  for (auto [value, flight] : flightOf)
    if (kindOf.at(value.getDefiningOp()) == kind) {
      give(value, labelOf(flight), flight);
      flights[flight].maker = piece.func.getSymName().str();
    }
}

void FunctionCut::cut() {
  SmallVector<Operation *> ops;
  for (Operation &op : whole.getBlock().without_terminator())
    ops.push_back(&op);
  for (unsigned kind = 0; kind < kinds.size(); ++kind) {
    if (llvm::none_of(ops, [&](Operation *op) { return kindOf.at(op) == kind; }))
      continue;
    Piece piece = begin(kinds[kind]);
    llvm::DenseMap<Value, Value> inside;
    auto take = [&](Value value, DictionaryAttr attributes, std::optional<unsigned> flight) {
      unsigned n = piece.func.getNumArguments();
      (void)piece.func.insertArgument(n, value.getType(), attributes, value.getLoc());
      inside[value] = piece.func.getArgument(n);
      piece.reads.push_back(flight);
    };
    for (BlockArgument arg : whole.getArguments())
      if (uses(kind, arg))
        take(arg, whole.getArgAttrDict(arg.getArgNumber()), std::nullopt);
    for (Operation *op : ops) {
      if (kindOf.at(op) != kind)
        continue;
      for (OpOperand &operand : op->getOpOperands()) {
        Value value = operand.get();
        Operation *def = value.getDefiningOp();
        if (def && kindOf.at(def) != kind && !inside.count(value)) {
          unsigned flight = flightOf.lookup(value);
          take(value, labelOf(flight), flight);
        }
        if (auto known = inside.find(value); known != inside.end())
          operand.set(known->second);
      }
      op->moveBefore(piece.func.getReturn());
    }
    end(kind, piece, inside);
    pieces.push_back(std::move(piece));
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

CallCut::Label CallCut::labelOf(DictionaryAttr attributes) {
  return {attributes.get(nn::kRole), attributes.get(nn::kName)};
}

CallCut::CallCut(rt::FuncOp whole, ArrayRef<sched::CallOp> ofWhole) {
  for (sched::CallOp call : ofWhole) {
    Cut &each = calls.emplace_back();
    each.call = call;
    SmallVector<Use> uses = call.getUses();
    for (unsigned i = 0, e = whole.getNumArguments(); i < e; ++i)
      each.arguments[labelOf(whole.getArgAttrDict(i))] = uses[i];
    for (auto [i, result] : overlap::resultsOf(call))
      each.results[labelOf(whole.getResultAttrDict(i))] = result;
  }
}

/// A call has memory of its own for what it has in flight.
SmallVector<Value> CallCut::declare(sched::CallOp call, ArrayRef<FunctionCut::Flight> flights) {
  auto program = call->getParentOfType<sched::ProgramOp>();
  schedule::ProgramValues ofProgram(program);
  llvm::StringSet<> known;
  for (auto value : program.getBody().getOps<sched::ValueOp>())
    if (value.getKey().getKind() == sched::ValueKind::InFlight)
      known.insert(value.getKey().getName().getValue());
  SmallVector<Value> values;
  for (const FunctionCut::Flight &flight : flights) {
    std::string name = flight.maker + " " + flight.name, unique = name;
    for (int n = 2; !known.insert(unique).second; ++n)
      unique = name + ", call " + std::to_string(n);
    values.push_back(ofProgram.declareInFlight(unique, flight.type, 1, call.getLoc()).getMemory());
  }
  return values;
}

sched::CallOp CallCut::replace(Cut &each, FunctionCut &cut) {
  sched::CallOp call = each.call;
  SmallVector<Value> values = declare(call, cut.flights);
  OpBuilder b(call);
  sched::CallOp first;
  for (Piece &piece : cut.pieces) {
    rt::FuncOp func = piece.func;
    SmallVector<Use> from, to;
    for (auto [i, flight] : llvm::enumerate(piece.reads))
      from.push_back(flight ? use(values[*flight])
                            : each.arguments.at(labelOf(func.getArgAttrDict(i))));
    for (auto [i, flight] : llvm::enumerate(piece.makes))
      if (flight)
        to.push_back(use(values[*flight]));
      else if (!func.findUpdatedArg(i))
        to.push_back(each.results.at(labelOf(func.getResultAttrDict(i))));
    auto made = sched::createStep<sched::CallOp>(
        b, call.getLoc(), from, to, func.getSymName(),
        sched::isExchange(func) ? Value() : call.getFrame(), call.getLayers(), /*started=*/false);
    first = first ? first : made;
  }
  call.erase();
  return first;
}
