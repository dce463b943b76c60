//===- safetensors.cpp - reading tensors by name from a file ---------------===//

#include "runtime/disk/safetensors.h"

#include "runtime/libraries/foreign_types.h"
#include "runtime/support/json.h"
#include "runtime/support/narrow.h"
#include "runtime/support/text.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace tplan::runtime;
using nlohmann::json;

namespace {

// The reference reader allows 100 MB. Each rank holds the header, and that of a hundred thousand
// tensors has 12 MB.
constexpr int64_t maxHeader = int64_t(32) << 20;
constexpr int64_t maxValues = 1'000'000; // seven a tensor
constexpr size_t maxShape = 8;           // sizes that an error shows

struct TypeName {
  const char *name;
  int32_t type; // -1: files of others may hold it, no program does
  int64_t bytes;
};
#define TYPE(ID, NAME, BYTES) {foreignTypes[ID].safetensors, ID, BYTES},
constexpr TypeName typeNames[] = {TP_TYPES(TYPE){"U8", -1, 1},
                                  {"I8", -1, 1},
                                  {"U16", -1, 2},
                                  {"I16", -1, 2},
                                  {"U32", -1, 4},
                                  {"U64", -1, 8},
                                  {"F8_E4M3", -1, 1},
                                  {"F8_E5M2", -1, 1}};
#undef TYPE

/// A shape in a message: a file may contain any, so a long one is cut.
std::string shownShape(const std::vector<int64_t> &shape) {
  if (shape.size() <= maxShape)
    return shapeText(shape);
  std::string text = shapeText({shape.begin(), shape.begin() + maxShape});
  return text.substr(0, text.size() - 1) + ", ..]";
}

bool isNonNegative(const json &value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= (uint64_t)INT64_MAX;
}

/// One entry of the header, with the offsets of its bytes.
Status readEntry(const std::string &file, const std::string &name, const json &entry,
                 StoredTensor &tensor, int64_t &begin, int64_t &end) {
  auto wrong = [&](const std::string &what) {
    return errorf("'%s': tensor '%s': %s", file.c_str(), shown(name).c_str(), what.c_str());
  };
  if (!entry.is_object())
    return wrong("its entry is not an object");
  for (auto &[key, value] : entry.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return wrong("unknown key '" + shown(key) + "'");
  auto dtype = entry.find("dtype"), shape = entry.find("shape"),
       offsets = entry.find("data_offsets");
  if (dtype == entry.end() || !dtype->is_string())
    return wrong("'dtype' is missing or is not a string");
  auto known = std::find_if(std::begin(typeNames), std::end(typeNames),
                            [&](const TypeName &t) { return dtype->get<std::string>() == t.name; });
  if (known == std::end(typeNames)) {
    std::string names;
    for (const TypeName &entry : typeNames)
      names += std::string(names.empty() ? "" : ", ") + entry.name;
    return wrong("dtype is not one of " + names + ": '" + shown(dtype->get<std::string>()) + "'");
  }
  tensor.type = known->type;
  tensor.dtype = known->name;
  if (shape == entry.end() || !shape->is_array())
    return wrong("'shape' is missing or is not an array");
  int64_t bytes = known->bytes;
  for (const json &size : *shape) {
    if (!isNonNegative(size))
      return wrong("a size in 'shape' is not a whole number of at least 0");
    tensor.shape.push_back(size.get<int64_t>());
    if (__builtin_mul_overflow(bytes, tensor.shape.back(), &bytes))
      return wrong("the product of its shape overflows: " + shownShape(tensor.shape));
  }
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
      !isNonNegative((*offsets)[0]) || !isNonNegative((*offsets)[1]))
    return wrong("'data_offsets' is not two whole numbers");
  begin = (*offsets)[0].get<int64_t>();
  end = (*offsets)[1].get<int64_t>();
  if (begin > end || end - begin != bytes)
    return wrong(format("its offsets [%" PRId64 ", %" PRId64 "] are not the %" PRId64
                        " bytes of %s %s",
                        begin, end, bytes, known->name, shownShape(tensor.shape).c_str()));
  tensor.bytes = bytes;
  return {};
}

Status checkMetadata(const std::string &file, const json &metadata) {
  if (!metadata.is_object())
    return errorf("'%s': '__metadata__' is not an object", file.c_str());
  for (auto &[key, value] : metadata.items())
    if (!value.is_string())
      return errorf("'%s': '__metadata__' holds a value that is not a string: '%s'", file.c_str(),
                    shown(key).c_str());
  return {};
}

} // namespace

bool tplan::runtime::isFloat(int32_t type) {
  return type == TP_F64 || type == TP_F32 || isNarrow(type);
}

const char *tplan::runtime::storedName(int32_t type) { return foreignTypes[type].safetensors; }

std::string tplan::runtime::shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

std::string tplan::runtime::placeText(const std::vector<int64_t> &shape, int64_t element) {
  std::vector<int64_t> place(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d])
    place[d] = element % shape[d];
  return shapeText(place);
}

int64_t FileTensor::bytes() const {
  int64_t count = bytesOf(type);
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::vector<FileTensor> tplan::runtime::asThemselves(const std::vector<LogicalTensor> &tensors) {
  std::vector<FileTensor> all;
  for (const LogicalTensor &tensor : tensors)
    all.push_back({tensor.name, tensor.type, tensor.shape, {{&tensor}}});
  return all;
}

/// Whether a weight's elements are next to each other in the tensor, in their order.
static bool isInOrder(const LogicalTensor &tensor, const tp_stored &place) {
  int64_t stride = 1;
  for (size_t d = tensor.shape.size(); d-- > 0; stride *= tensor.shape[d])
    if (place.strides[d] != stride && tensor.shape[d] != 1)
      return false;
  return true;
}

void FilePart::forEach(const std::function<void(const PlacedRun &)> &function) const {
  if (place && !isInOrder(*tensor, *place))
    return tensor->share.forEachPlaced(place->strides, place->first, function);
  int64_t first = place ? place->first : 0;
  tensor->share.forEach(
      [&](const ElementRun &run) { function({first + run.logical, run.memory, run.count, 1}); });
}

Status SafetensorsFile::open(const std::string &path) {
  name = path;
  TP_TRY(input.open(path));
  const char *file = path.c_str();
  if (input.size() < 8)
    return errorf("'%s' has %lld bytes, too few for a safetensors file", file,
                  (long long)input.size());
  uint64_t length;
  TP_TRY(input.read(0, &length, 8));
  if (length > (uint64_t)maxHeader || (int64_t)length > input.size() - 8)
    return errorf("'%s', byte 0: a header of %" PRIu64
                  " bytes does not fit: the file has %lld, the limit is %lld",
                  file, length, (long long)input.size(), (long long)maxHeader);
  std::string text(length, '\0');
  TP_TRY(input.read(8, text.data(), (int64_t)length));
  json header;
  TP_TRY(parseJson(text, path, 8, header, maxValues));
  if (!header.is_object())
    return errorf("'%s', byte 8: the header is not a JSON object", file);

  struct Place {
    int64_t begin, end;
    const std::string *name;
  };
  std::vector<Place> places;
  int64_t buffer = input.size() - 8 - (int64_t)length;
  for (auto &[key, value] : header.items()) {
    if (key == "__metadata__") {
      TP_TRY(checkMetadata(path, value));
      continue;
    }
    StoredTensor tensor;
    int64_t begin, end;
    TP_TRY(readEntry(path, key, value, tensor, begin, end));
    if (end > buffer)
      return errorf("'%s': tensor '%s' ends at byte %lld of %lld bytes of data: the file is "
                    "truncated or damaged",
                    file, shown(key).c_str(), (long long)end, (long long)buffer);
    tensor.offset = 8 + (int64_t)length + begin;
    auto placed = entries.emplace_hint(entries.end(), key, std::move(tensor)); // they are in order
    places.push_back({begin, end, &placed->first});
  }
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  int64_t at = 0;
  for (const Place &place : places) {
    if (place.begin != at)
      return errorf(
          "'%s': tensor '%s' begins at byte %lld of the data, the one before ends at %lld", file,
          shown(*place.name).c_str(), (long long)place.begin, (long long)at);
    at = place.end;
  }
  if (at != buffer)
    return errorf("'%s': its tensors have %lld bytes, its data %lld", file, (long long)at,
                  (long long)buffer);
  return {};
}

Status SafetensorsFile::match(const std::vector<LogicalTensor> &wanted, bool convert,
                              const char *wayOut) const {
  const char *file = name.c_str();
  for (const LogicalTensor &tensor : wanted) {
    auto found = entries.find(tensor.name);
    if (found == entries.end())
      return errorf("'%s' lacks the tensor '%s' of this program%s", file, tensor.name.c_str(),
                    wayOut);
    const StoredTensor &stored = found->second;
    if (stored.shape != tensor.shape)
      return errorf("'%s': tensor '%s' has shape %s, this program wants %s", file,
                    tensor.name.c_str(), shownShape(stored.shape).c_str(),
                    shapeText(tensor.shape).c_str());
    bool floats = isFloat(stored.type) && isFloat(tensor.type);
    bool wide = stored.type == TP_F64 || tensor.type == TP_F64;
    if (stored.type != tensor.type && !(floats && (convert || !wide)))
      return errorf("'%s': tensor '%s' has type %s, this program wants %s%s", file,
                    tensor.name.c_str(), stored.dtype, storedName(tensor.type),
                    floats ? " (--load converts it)" : "");
  }
  if (wanted.size() == entries.size())
    return {};
  std::vector<std::string> names;
  for (const LogicalTensor &tensor : wanted)
    names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  for (auto &[key, stored] : entries)
    if (!std::binary_search(names.begin(), names.end(), key))
      return errorf("'%s' holds the tensor '%s', which this program lacks%s", file,
                    shown(key).c_str(), wayOut);
  return errorf("two tensors of this program have one name");
}

namespace {

/// Reads bytes of a file in rising order. A rank may hold short runs of a tensor: where one follows
/// soon after the other, more is read than was asked for; where they are far apart, no more is.
class Window {
public:
  static constexpr int64_t most = 64 << 10, page = 4 << 10;
  explicit Window(const InputFile &file) : file(file), buffer(most) {}

  /// At most `most` bytes at `offset`; nothing is read from `limit` on.
  Status at(int64_t offset, int64_t bytes, int64_t limit, const char *&data) {
    if (offset < begin || offset + bytes > end) {
      bool isNear = offset - asked <= std::max(bytes / 4, page);
      begin = end = offset;
      int64_t ahead = isNear ? std::min(most, limit - offset) : bytes;
      TP_TRY(file.read(offset, buffer.data(), ahead));
      end = offset + ahead;
    }
    asked = offset + bytes;
    data = buffer.data() + (offset - begin);
    return {};
  }

private:
  const InputFile &file;
  std::vector<char> buffer;
  int64_t begin = 0, end = 0, asked = 0; // the last byte that was asked for is in front of `asked`
};

/// The first of `count` numbers whose exponent, the bits of `mask`, is all ones; -1: none.
template <typename Bits> int64_t firstNotFinite(const char *data, int64_t count, Bits mask) {
  auto bitsAt = [&](int64_t i) {
    Bits bits;
    memcpy(&bits, data + i * (int64_t)sizeof bits, sizeof bits);
    return bits;
  };
  Bits found = 0; // no branch, so that the loop is a vector's
  for (int64_t i = 0; i < count; ++i)
    found |= (Bits)((bitsAt(i) & mask) == mask);
  for (int64_t i = 0; found; ++i)
    if ((bitsAt(i) & mask) == mask)
      return i;
  return -1;
}

int64_t firstNotFinite(int32_t type, const char *data, int64_t count) {
  switch ((tp_type)type) {
  case TP_F64:
    return firstNotFinite<uint64_t>(data, count, 0x7ff0000000000000);
  case TP_F32:
    return firstNotFinite<uint32_t>(data, count, 0x7f800000);
#define TYPE(ID, T)                                                                                \
  case ID:                                                                                         \
    return firstNotFinite<NarrowBits<T>::Word>(data, count, NarrowBits<T>::exponent);
    TP_NARROW_TYPES(TYPE)
#undef TYPE
  case TP_I32:
  case TP_I64:
  case TP_I1:
  case TP_I8:
    return -1;
  case TP_NUM_TYPES:
    break;
  }
  abort(); // what is read has the type of a tensor, or a floating-point one
}

/// As getElement(), for bytes at any address.
double numberAt(const char *data, int32_t type, int64_t index) {
  alignas(8) char element[8];
  memcpy(element, data + index * bytesOf(type), bytesOf(type));
  return getElement(element, type, 0);
}

/// One piece of a tensor, from the file to where it belongs.
Status copyPiece(const std::string &file, const FileTensor &tensor, int32_t type,
                 const PlacedRun &run, const char *from, char *data) {
  if (int64_t bad = firstNotFinite(tensor.type, from, run.count); bad >= 0)
    return errorf("'%s': tensor '%s', element %s, is no finite number: %s", file.c_str(),
                  tensor.name.c_str(), placeText(tensor.shape, run.placed + bad).c_str(),
                  std::isnan(numberAt(from, tensor.type, bad)) ? "nan" : "infinity");
  int64_t size = bytesOf(type);
  if (tensor.type == type && run.step == 1) {
    memcpy(data + run.memory * size, from, run.count * size);
    return {};
  }
  for (int64_t e = 0; e < run.count; ++e) {
    int64_t at = run.memory + e * run.step;
    if (tensor.type == type) {
      memcpy(data + at * size, from + e * size, size);
      continue;
    }
    double number = numberAt(from, tensor.type, e);
    setElement(data, type, at, number);
    if (!std::isfinite(getElement(data, type, at)))
      return errorf("'%s': tensor '%s', element %s, is beyond the range of %s, which this program "
                    "wants: %g",
                    file.c_str(), tensor.name.c_str(),
                    placeText(tensor.shape, run.placed + e).c_str(), storedName(type), number);
  }
  return {};
}

/// What the rank holds of a part; `tensor` is as the file has it, its bytes from `offset` on.
Status copyPart(const InputFile &file, const FileTensor &tensor, int64_t offset,
                const FilePart &part) {
  const LogicalTensor &to = *part.tensor;
  if (!to.share.stored())
    return {};
  int64_t size = bytesOf(tensor.type), end = offset + tensor.bytes();
  HostView view(to.device, to.data, to.share.stored() * bytesOf(to.type),
                HostView::updates); // padding stays
  TP_TRY(view.open());
  Window window(file);
  Status status;
  auto copy = [&](const PlacedRun &run) -> Status {
    for (int64_t done = 0; done < run.count;) {
      int64_t here = std::min(run.count - done, Window::most / size);
      const char *from;
      TP_TRY(window.at(offset + (run.placed + done) * size, here * size, end, from));
      PlacedRun piece{run.placed + done, run.memory + done * run.step, here, run.step};
      TP_TRY(copyPiece(file.path(), tensor, to.type, piece, from, view.data()));
      done += here;
    }
    return {};
  };
  part.forEach([&](const PlacedRun &run) {
    if (status.ok())
      status = copy(run);
  });
  TP_TRY(std::move(status));
  return view.close();
}

} // namespace

Status SafetensorsFile::copyTo(const std::vector<FileTensor> &wanted) const {
  for (const FileTensor &tensor : wanted) {
    const StoredTensor &stored = entries.find(tensor.name)->second;
    for (const FilePart &part : tensor.parts)
      TP_TRY(copyPart(input, {tensor.name, stored.type, stored.shape, {}}, stored.offset, part));
  }
  return {};
}
