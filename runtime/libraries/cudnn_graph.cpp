//===- cudnn_graph.cpp - graphs of operations for cuDNN ---------------------===//
//
// A plan that the heuristics offer may still fail to be made, or need more workspace than there is:
// the first plan that does neither is taken.
//
//===----------------------------------------------------------------------===//

#include "runtime/libraries/cudnn_graph.h"

#include <cinttypes>
#include <utility>

using namespace tplan::runtime;
using namespace tplan::runtime::cudnn;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

CudnnDescriptor &CudnnDescriptor::operator=(CudnnDescriptor &&other) noexcept {
  std::swap(library, other.library);
  std::swap(handle, other.handle);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle)
    library->BackendDestroyDescriptor(handle);
}

Status CudnnDescriptor::create(const Cudnn &dnn, int type) {
  library = &dnn;
  TP_CUDNN(BackendCreateDescriptor(type, &handle));
  return {};
}

Status CudnnDescriptor::set(int attribute, int type, int64_t count, const void *values) {
  const Cudnn &dnn = *library;
  TP_CUDNN(BackendSetAttribute(handle, attribute, type, count, values));
  return {};
}

Status CudnnDescriptor::set(int attribute, const CudnnDescriptor &value) {
  return set(attribute, typeDescriptor, 1, &value.handle);
}
Status CudnnDescriptor::set(int attribute, int64_t value) {
  return set(attribute, typeInt64, 1, &value);
}
Status CudnnDescriptor::set(int attribute, bool value) {
  return set(attribute, typeBoolean, 1, &value);
}
Status CudnnDescriptor::set(int attribute, int type, int value) {
  return set(attribute, type, 1, &value);
}

Status CudnnDescriptor::get(int attribute, int type, int64_t room, int64_t &count,
                            void *values) const {
  const Cudnn &dnn = *library;
  TP_CUDNN(BackendGetAttribute(handle, attribute, type, room, &count, values));
  return {};
}

Status CudnnDescriptor::finalize() {
  const Cudnn &dnn = *library;
  TP_CUDNN(BackendFinalize(handle));
  return {};
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

bool CudnnGraph::isGood(Status made) {
  if (status.ok())
    status = std::move(made);
  return status.ok();
}

Status CudnnGraph::makeTensor(Tensor &tensor, const Sizes &strides, int type, Kind kind,
                              int64_t alignment) {
  CudnnDescriptor &it = tensor.descriptor;
  TP_TRY(it.create(dnn, tensorDescriptor));
  TP_TRY(it.set(tensorDataType, typeDataType, type));
  TP_TRY(it.set(tensorDimensions, typeInt64, 4, tensor.dims.data()));
  TP_TRY(it.set(tensorStrides, typeInt64, 4, strides.data()));
  TP_TRY(it.set(tensorUniqueId, int64_t(tensors.size() + 1)));
  TP_TRY(it.set(tensorAlignment, alignment));
  TP_TRY(it.set(tensorIsVirtual, kind == inside));
  TP_TRY(it.set(tensorIsByValue, kind == byValue));
  return it.finalize();
}

CudnnGraph::Value CudnnGraph::add(const Sizes &dims, const Sizes &strides, int type, Kind kind,
                                  int64_t alignment) {
  Tensor tensor;
  tensor.dims = dims;
  if (status.ok())
    isGood(makeTensor(tensor, strides, type, kind, alignment));
  tensors.push_back(std::move(tensor));
  return (Value)tensors.size() - 1;
}

CudnnGraph::Value CudnnGraph::array(const Sizes &dims, const Sizes &strides, int type,
                                    int64_t alignment) {
  Value made = add(dims, strides, type, inMemory, alignment);
  arrays.push_back(made + 1);
  return made;
}

CudnnGraph::Value CudnnGraph::between(const Sizes &dims, int type) {
  return between(dims, {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}, type);
}
CudnnGraph::Value CudnnGraph::between(const Sizes &dims, const Sizes &strides, int type) {
  return add(dims, strides, type, inside);
}

CudnnGraph::Value CudnnGraph::scalar(float value) {
  Value made = add({1, 1, 1, 1}, {1, 1, 1, 1}, float32, byValue);
  numbers.push_back(made + 1);
  scalars.push_back(value);
  return made;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Status CudnnGraph::makeOperation(int type, std::initializer_list<Operand> operands,
                                 int settingAttribute, CudnnDescriptor setting) {
  CudnnDescriptor operation;
  TP_TRY(operation.create(dnn, type));
  if (setting.get())
    TP_TRY(operation.set(settingAttribute, setting));
  for (Operand operand : operands)
    TP_TRY(operation.set(operand.attribute, tensors[operand.value].descriptor));
  TP_TRY(operation.finalize());
  settings.push_back(std::move(setting));
  operations.push_back(std::move(operation));
  return {};
}

CudnnGraph::Value CudnnGraph::matmul(Value a, Value b, Value to) {
  auto make = [&]() -> Status {
    CudnnDescriptor setting;
    TP_TRY(setting.create(dnn, matmulDescriptor));
    TP_TRY(setting.set(matmulPrecision, typeDataType, float32));
    TP_TRY(setting.finalize());
    return makeOperation(matmulOperation,
                         {{matmulOperationA, a}, {matmulOperationB, b}, {matmulOperationC, to}},
                         matmulOperationMatmul, std::move(setting));
  };
  if (status.ok())
    isGood(make());
  return to;
}

/// `axis` < 0: it has none.
Status CudnnGraph::makePointwise(int mode, int precision, int64_t axis, CudnnDescriptor &setting) {
  TP_TRY(setting.create(dnn, pointwiseDescriptor));
  TP_TRY(setting.set(pointwiseMode, typePointwiseMode, mode));
  TP_TRY(setting.set(pointwisePrecision, typeDataType, precision));
  if (axis >= 0)
    TP_TRY(setting.set(pointwiseAxis, axis));
  return setting.finalize();
}

CudnnGraph::Value CudnnGraph::pointwise(int mode, Value x, Value to) {
  CudnnDescriptor setting;
  if (status.ok() && isGood(makePointwise(mode, float32, -1, setting)))
    isGood(makeOperation(pointwiseOperation, {{pointwiseOperationX, x}, {pointwiseOperationY, to}},
                         pointwiseOperationPointwise, std::move(setting)));
  return to;
}

CudnnGraph::Value CudnnGraph::pointwise(int mode, Value x, Value b, Value to, int precision) {
  CudnnDescriptor setting;
  if (status.ok() && isGood(makePointwise(mode, precision, -1, setting)))
    isGood(makeOperation(
        pointwiseOperation,
        {{pointwiseOperationX, x}, {pointwiseOperationB, b}, {pointwiseOperationY, to}},
        pointwiseOperationPointwise, std::move(setting)));
  return to;
}

CudnnGraph::Value CudnnGraph::select(Value x, Value b, Value t, Value to) {
  CudnnDescriptor setting;
  if (status.ok() && isGood(makePointwise(pointwiseSelect, float32, -1, setting)))
    isGood(makeOperation(pointwiseOperation,
                         {{pointwiseOperationX, x},
                          {pointwiseOperationB, b},
                          {pointwiseOperationT, t},
                          {pointwiseOperationY, to}},
                         pointwiseOperationPointwise, std::move(setting)));
  return to;
}

CudnnGraph::Value CudnnGraph::index(Value x, int64_t axis) {
  Value to = between(dimsOf(x), int32);
  CudnnDescriptor setting;
  if (status.ok() && isGood(makePointwise(pointwiseIndex, float32, axis, setting)))
    isGood(makeOperation(pointwiseOperation, {{pointwiseOperationX, x}, {pointwiseOperationY, to}},
                         pointwiseOperationPointwise, std::move(setting)));
  return to;
}

CudnnGraph::Value CudnnGraph::reduce(int reduction, Value x, Value to) {
  auto make = [&]() -> Status {
    CudnnDescriptor setting;
    TP_TRY(setting.create(dnn, reductionDescriptor));
    TP_TRY(setting.set(reductionOperator, typeReduction, reduction));
    TP_TRY(setting.set(reductionPrecision, typeDataType, float32));
    TP_TRY(setting.finalize());
    return makeOperation(reductionOperation, {{reductionOperationX, x}, {reductionOperationY, to}},
                         reductionOperationReduction, std::move(setting));
  };
  if (status.ok())
    isGood(make());
  return to;
}

CudnnGraph::Value CudnnGraph::transpose(Value x, Value to) {
  if (status.ok())
    isGood(
        makeOperation(reshapeOperation, {{reshapeOperationX, x}, {reshapeOperationY, to}}, 0, {}));
  return to;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Configurations of engines for the graph, the most promising first.
Status CudnnGraph::candidates(const CudnnDescriptor &graph, const CudnnTarget &target, int mode,
                              std::vector<CudnnDescriptor> &configs) {
  CudnnDescriptor heuristic;
  TP_TRY(heuristic.create(dnn, heuristicDescriptor));
  TP_TRY(heuristic.set(heuristicGraph, graph));
  TP_TRY(heuristic.set(heuristicMode, typeHeuristicMode, mode));
  if (target.properties)
    TP_TRY(heuristic.set(heuristicDeviceProperties, *target.properties));
  TP_TRY(heuristic.finalize());
  int64_t count = 0;
  TP_TRY(heuristic.get(heuristicResults, typeDescriptor, 0, count, nullptr));
  configs.resize(count);
  std::vector<DescriptorHandle> handles;
  for (CudnnDescriptor &config : configs) {
    TP_TRY(config.create(dnn, engineConfigDescriptor));
    handles.push_back(config.get());
  }
  if (count)
    TP_TRY(heuristic.get(heuristicResults, typeDescriptor, (int64_t)handles.size(), count,
                         handles.data()));
  configs.resize(count);
  return {};
}

Status CudnnGraph::tryConfig(const CudnnDescriptor &config, const CudnnTarget &target,
                             int64_t workspace, CudnnPlan &plan) {
  CudnnDescriptor engine;
  TP_TRY(engine.create(dnn, engineDescriptor));
  int64_t count = 0;
  DescriptorHandle handle = engine.get();
  TP_TRY(config.get(engineConfigEngine, typeDescriptor, 1, count, &handle));
  int notes[mostNotes] = {};
  TP_TRY(engine.get(engineNumericalNote, typeNumericalNote, mostNotes, count, notes));
  for (int64_t i = 0; i < count; ++i)
    if (notes[i] == noteNondeterministic)
      return errorf("an engine whose sums differ from run to run");

  CudnnDescriptor made;
  TP_TRY(made.create(dnn, planDescriptor));
  if (target.handle)
    TP_TRY(made.set(planHandle, typeHandle, 1, &target.handle));
  TP_TRY(made.set(planEngineConfig, config));
  if (target.properties)
    TP_TRY(made.set(planDeviceProperties, *target.properties));
  TP_TRY(made.finalize());
  TP_TRY(made.get(planWorkspaceBytes, typeInt64, 1, count, &plan.workspace));
  if (plan.workspace > workspace)
    return errorf("a workspace of %" PRId64 " bytes, of which there are %" PRId64, plan.workspace,
                  workspace);
  plan.plan = std::move(made);
  return {};
}

Status CudnnGraph::plan(const CudnnTarget &target, int64_t workspace, CudnnPlan &plan) {
  TP_TRY(std::move(status));
  std::vector<DescriptorHandle> handles;
  for (const CudnnDescriptor &operation : operations)
    handles.push_back(operation.get());
  CudnnDescriptor graph;
  TP_TRY(graph.create(dnn, graphDescriptor));
  if (target.handle)
    TP_TRY(graph.set(graphHandle, typeHandle, 1, &target.handle));
  TP_TRY(graph.set(graphOperations, typeDescriptor, (int64_t)handles.size(), handles.data()));
  TP_TRY(graph.finalize());

  plan.scalars = scalars;
  plan.ids = arrays;
  plan.ids.insert(plan.ids.end(), numbers.begin(), numbers.end());
  Status last = errorf("no engine");
  for (int mode : {heuristicA, heuristicFallback}) {
    std::vector<CudnnDescriptor> configs;
    if (Status found = candidates(graph, target, mode, configs); !found.ok()) {
      last = std::move(found);
      continue;
    }
    for (const CudnnDescriptor &config : configs) {
      last = tryConfig(config, target, workspace, plan);
      if (last.ok())
        return {};
    }
  }
  return errorf("cuDNN %s has no engine for it: %s", dnn.version().c_str(), last.message().c_str());
}

Status tplan::runtime::execute(const Cudnn &dnn, Handle *handle, const CudnnPlan &plan,
                               void *const *arrays, size_t count, void *workspace) {
  std::vector<void *> pointers(arrays, arrays + count);
  for (const float &value : plan.scalars)
    pointers.push_back((void *)&value);
  CudnnDescriptor pack;
  TP_TRY(pack.create(dnn, variantPackDescriptor));
  TP_TRY(pack.set(variantPackUniqueIds, typeInt64, (int64_t)plan.ids.size(), plan.ids.data()));
  TP_TRY(pack.set(variantPackPointers, typeVoidPointer, (int64_t)pointers.size(), pointers.data()));
  TP_TRY(pack.set(variantPackWorkspace, typeVoidPointer, 1, &workspace));
  TP_TRY(pack.finalize());
  TP_CUDNN(BackendExecute(handle, plan.plan.get(), pack.get()));
  return {};
}
