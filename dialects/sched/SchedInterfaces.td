//===- SchedInterfaces.td - what every op of a section answers -------------===//
#ifndef TPLAN_SCHED_INTERFACES
#define TPLAN_SCHED_INTERFACES

include "mlir/IR/OpBase.td"

def Sched_Step : OpInterface<"Step"> {
  let cppNamespace = "::tplan::sched";
  let description = [{
    Work of a section. Code that needs to know what a step does asks this and no list of ops: memory
    asks what is touched, the report what is called, a device which calls may run at once.

    (S1) what it touches, but an empty frame, lives as long as a section only if it is complete in its own.
  }];
  let verify = [{ return ::tplan::sched::verifyStep($_op); }];
  let methods = [
    InterfaceMethod<"values that it reads and writes, and which instance of each",
                    "::llvm::SmallVector<::tplan::sched::Use>", "getUses">,
    InterfaceMethod<"what runs it: the compute units, or the channel of a group of ranks",
                    "::tplan::sched::Resource", "getResource", (ins), [{}],
                    [{ return ::tplan::sched::Resource{}; }]>,
    InterfaceMethod<"the op at which its writes are complete and its reads are over: in this section, or "
                    "in one of the same microbatch",
                    "::mlir::Operation *", "getCompletion", (ins), [{}],
                    [{ return $_op.getOperation(); }]>,
    InterfaceMethod<"which instance of an event says that it is complete, if it is started",
                    "std::optional<::tplan::sched::Use>", "getSignal", (ins), [{}],
                    [{ return std::nullopt; }]>,
    InterfaceMethod<"what people know it by, in the report", "std::string", "getTitle", (ins), [{}],
                    [{ return $_op->getName().stripDialect().str(); }]>
  ];
}

#endif // TPLAN_SCHED_INTERFACES
