//===- device.cpp - memory of a device, as the host sees it ----------------===//

#include "runtime/device/device.h"

using namespace tplan::runtime;

Status HostView::open() {
  if (!device)
    return {};
  copy.resize(bytes);
  return mode & reads ? device->read(copy.data(), place, bytes) : Status();
}

Status HostView::close() {
  return device && (mode & writes) ? device->write(place, copy.data(), bytes) : Status();
}
