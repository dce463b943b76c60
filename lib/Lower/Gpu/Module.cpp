//===- Gpu/Module.cpp - kernels for GPUs as functions ---------------------===//
#include "lib/Lower/Gpu/Module.h"
#include "lib/Lower/Gpu/Names.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

gpu::GPUModuleOp lower::kernelsOf(ModuleOp module) {
  if (auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(kGpuModule))
    return kernels;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  return gpu::GPUModuleOp::create(b, module.getLoc(), kGpuModule);
}

static MemRefType inSpace(MemRefType type, MemorySpace space) {
  auto number = IntegerAttr::get(IntegerType::get(type.getContext(), 64), space);
  return MemRefType::get(type.getShape(), type.getElementType(), MemRefLayoutAttrInterface(),
                         number);
}

std::string lower::ptxName(StringRef kernel) {
  std::string name = kernel.str();
  std::replace(name.begin(), name.end(), '.', '$');
  return name;
}

void lower::keepForHost(gpu::GPUModuleOp kernels, StringRef dictionary, StringRef kernel,
                        Attribute fact) {
  NamedAttrList all;
  if (auto before = kernels->getAttrOfType<DictionaryAttr>(dictionary))
    all = NamedAttrList(before);
  all.set(kernel, fact);
  kernels->setAttr(dictionary, all.getDictionary(kernels.getContext()));
}

gpu::GPUFuncOp lower::makeKernel(ImplicitLocOpBuilder &b, gpu::GPUModuleOp kernels, StringRef name,
                                 ArrayRef<Type> arguments, int64_t block, int64_t grid,
                                 bool counts) {
  auto args = llvm::map_to_vector(arguments, [](Type type) -> Type {
    auto memory = dyn_cast<MemRefType>(type);
    return memory ? inSpace(memory, MemorySpace::Global) : type;
  });
  b.setInsertionPointToEnd(kernels.getBody());
  auto func = gpu::GPUFuncOp::create(b, ptxName(name), b.getFunctionType(args, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSize(ArrayRef<int32_t>{int32_t(block), 1, 1});
  if (grid)
    func.setKnownGridSize(ArrayRef<int32_t>{int32_t(grid), 1, 1});
  keepForHost(kernels, kLaunches, name,
              rt::DeviceKernelAttr::get(b.getContext(), grid, block, counts));
  b.setInsertionPointToStart(&func.getBody().front());
  b.setInsertionPoint(gpu::ReturnOp::create(b));
  return func;
}

Value lower::sharedMemory(gpu::GPUFuncOp func, Type element, int64_t size) {
  unsigned number = func.getNumWorkgroupAttributions();
  Value memory = func.addWorkgroupAttribution(
      inSpace(MemRefType::get({size}, element), MemorySpace::Shared), func.getLoc());
  auto align = IntegerAttr::get(IntegerType::get(func.getContext(), 64), 16);
  func.setWorkgroupAttributionAttr(number, LLVM::LLVMDialect::getAlignAttrName(), align);
  return memory;
}

Value lower::exchange(ImplicitLocOpBuilder &b, Value x, int64_t distance) {
  auto number = [&](int64_t n) -> Value { return arith::ConstantIntOp::create(b, n, 32); };
  auto shuffle = [&](Value v) -> Value {
    return NVVM::ShflOp::create(b, v.getType(), number(-1), v, number(distance), number(kWarp - 1),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  if (!x.getType().isF64())
    return shuffle(x);
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value bits = arith::BitcastOp::create(b, i64, x), half = arith::ConstantIntOp::create(b, 32, 64);
  Value high = arith::ShRUIOp::create(b, bits, half);
  Value low = shuffle(arith::TruncIOp::create(b, i32, bits));
  high = shuffle(arith::TruncIOp::create(b, i32, high));
  high = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, high), half);
  bits = arith::OrIOp::create(b, high, arith::ExtUIOp::create(b, i64, low));
  return arith::BitcastOp::create(b, x.getType(), bits);
}
