//===- safetensors.cpp - tensors by name in a file --------------------------===//

#include "runtime/safetensors.h"

#include "runtime/checksum.h"
#include "runtime/json.h"
#include "runtime/text.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

using namespace tplan::runtime;
using nlohmann::json;

namespace {

// The reference reader takes 100 MB; each rank holds its header, and a hundred thousand tensors
// have 12.
constexpr int64_t maxHeader = int64_t(32) << 20;
constexpr int64_t maxValues = 1'000'000; // seven a tensor
constexpr size_t maxShape = 8;           // sizes that an error shows
constexpr int64_t headerAlignment = 8;

struct TypeName {
  const char *name;
  int32_t type;
};
constexpr TypeName typeNames[] = {{"F64", TP_F64}, {"F32", TP_F32}, {"BF16", TP_BF16},
                                  {"F16", TP_F16}, {"I32", TP_I32}, {"I64", TP_I64},
                                  {"BOOL", TP_I1}};

const char *storedName(int32_t type) {
  for (const TypeName &entry : typeNames)
    if (entry.type == type)
      return entry.name;
  return "?";
}

bool isFloat(int32_t type) {
  return type == TP_F64 || type == TP_F32 || type == TP_BF16 || type == TP_F16;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (size_t d = 0; d < std::min(shape.size(), maxShape); ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  if (shape.size() > maxShape)
    text += ", ..";
  return "[" + text + "]";
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
  if (known == std::end(typeNames))
    return wrong("dtype is not one of F64, F32, BF16, F16, I32, I64, BOOL: '" +
                 shown(dtype->get<std::string>()) + "'");
  tensor.type = known->type;
  if (shape == entry.end() || !shape->is_array())
    return wrong("'shape' is missing or is not an array");
  int64_t bytes = bytesOf(tensor.type);
  for (const json &size : *shape) {
    if (!isNonNegative(size))
      return wrong("a size in 'shape' is not a whole number of at least 0");
    tensor.shape.push_back(size.get<int64_t>());
    if (__builtin_mul_overflow(bytes, tensor.shape.back(), &bytes))
      return wrong("the product of its shape overflows: " + shapeText(tensor.shape));
  }
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
      !isNonNegative((*offsets)[0]) || !isNonNegative((*offsets)[1]))
    return wrong("'data_offsets' is not two whole numbers");
  begin = (*offsets)[0].get<int64_t>();
  end = (*offsets)[1].get<int64_t>();
  if (begin > end || end - begin != bytes)
    return wrong(format("its offsets [%" PRId64 ", %" PRId64 "] are not the %" PRId64
                        " bytes of %s %s",
                        begin, end, bytes, known->name, shapeText(tensor.shape).c_str()));
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
    auto placed = entries.emplace(key, std::move(tensor)).first;
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

Status SafetensorsFile::match(const std::vector<LogicalTensor> &wanted, bool convert) const {
  const char *file = name.c_str();
  const char *wayOut = convert ? "" : " (--load takes the weights of a model.safetensors alone)";
  for (const LogicalTensor &tensor : wanted) {
    auto found = entries.find(tensor.name);
    if (found == entries.end())
      return errorf("'%s' lacks the tensor '%s' of this program%s", file, tensor.name.c_str(),
                    wayOut);
    const StoredTensor &stored = found->second;
    if (stored.shape != tensor.shape)
      return errorf("'%s': tensor '%s' has shape %s, this program wants %s", file,
                    tensor.name.c_str(), shapeText(stored.shape).c_str(),
                    shapeText(tensor.shape).c_str());
    bool convertible = convert && isFloat(stored.type) && isFloat(tensor.type);
    if (stored.type != tensor.type && !convertible)
      return errorf("'%s': tensor '%s' has type %s, this program wants %s%s", file,
                    tensor.name.c_str(), storedName(stored.type), storedName(tensor.type),
                    isFloat(stored.type) && isFloat(tensor.type) ? " (--load converts it)" : "");
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

/// Bytes of a file in rising order, read ahead a little: a rank may hold short runs of a tensor.
class Window {
public:
  static constexpr int64_t most = 64 << 10;
  explicit Window(const InputFile &file) : file(file), buffer(most) {}

  /// At most `most` bytes at `offset`; nothing is read from `limit` on.
  Status at(int64_t offset, int64_t bytes, int64_t limit, const char *&data) {
    if (offset < begin || offset + bytes > end) {
      begin = end = offset;
      int64_t ahead = std::min(most, limit - offset);
      TP_TRY(file.read(offset, buffer.data(), ahead));
      end = offset + ahead;
    }
    data = buffer.data() + (offset - begin);
    return {};
  }

private:
  const InputFile &file;
  std::vector<char> buffer;
  int64_t begin = 0, end = 0;
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
  switch (type) {
  case TP_F64:
    return firstNotFinite<uint64_t>(data, count, 0x7ff0000000000000);
  case TP_F32:
    return firstNotFinite<uint32_t>(data, count, 0x7f800000);
  case TP_BF16:
    return firstNotFinite<uint16_t>(data, count, 0x7f80);
  case TP_F16:
    return firstNotFinite<uint16_t>(data, count, 0x7c00);
  default:
    return -1;
  }
}

/// "[1, 3]": where in a tensor an element is.
std::string placeText(const std::vector<int64_t> &shape, int64_t element) {
  std::vector<int64_t> place(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d])
    place[d] = element % shape[d];
  return shapeText(place);
}

/// As getElement(), of bytes that may lie anywhere.
double numberAt(const char *data, int32_t type, int64_t index) {
  alignas(8) char element[8];
  memcpy(element, data + index * bytesOf(type), bytesOf(type));
  return getElement(element, type, 0);
}

/// One piece of a tensor, from the file to where it belongs.
Status copyPiece(const std::string &file, const LogicalTensor &tensor, const StoredTensor &stored,
                 const ElementRun &run, const char *from, char *data) {
  if (int64_t bad = firstNotFinite(stored.type, from, run.count); bad >= 0)
    return errorf("'%s': tensor '%s', element %s, is no finite number: %s", file.c_str(),
                  tensor.name.c_str(), placeText(stored.shape, run.logical + bad).c_str(),
                  std::isnan(numberAt(from, stored.type, bad)) ? "nan" : "infinity");
  if (stored.type == tensor.type) {
    int64_t size = bytesOf(stored.type);
    memcpy(data + run.memory * size, from, run.count * size);
    return {};
  }
  for (int64_t e = 0; e < run.count; ++e) {
    double number = numberAt(from, stored.type, e);
    setElement(data, tensor.type, run.memory + e, number);
    if (!std::isfinite(getElement(data, tensor.type, run.memory + e)))
      return errorf("'%s': tensor '%s', element %s, is beyond the range of %s, which this program "
                    "wants: %g",
                    file.c_str(), tensor.name.c_str(),
                    placeText(stored.shape, run.logical + e).c_str(), storedName(tensor.type),
                    number);
  }
  return {};
}

} // namespace

Status SafetensorsFile::copyTo(const std::vector<LogicalTensor> &wanted) const {
  Window window(input);
  for (const LogicalTensor &tensor : wanted) {
    const StoredTensor &stored = entries.find(tensor.name)->second;
    int64_t size = bytesOf(stored.type), held = tensor.share.stored() * bytesOf(tensor.type);
    HostView view(tensor.device, tensor.data, held, HostView::updates); // padding stays
    TP_TRY(view.open());
    Status status;
    auto copy = [&](const ElementRun &run) -> Status {
      for (int64_t done = 0; done < run.count;) {
        int64_t here = std::min(run.count - done, Window::most / size);
        const char *from;
        TP_TRY(window.at(stored.offset + (run.logical + done) * size, here * size,
                         stored.offset + stored.bytes, from));
        ElementRun piece{run.logical + done, run.memory + done, here};
        TP_TRY(copyPiece(name, tensor, stored, piece, from, view.data()));
        done += here;
      }
      return {};
    };
    tensor.share.forEach([&](const ElementRun &run) {
      if (status.ok())
        status = copy(run);
    });
    TP_TRY(std::move(status));
    TP_TRY(view.close());
  }
  return {};
}

namespace {

/// A tensor and where its bytes begin in the file.
struct Placed {
  const LogicalTensor *tensor;
  int64_t offset;
};

/// In the reference's order: wide types first, then by name, so that all are aligned.
/// Yields the bytes before the data, and the size of the file.
std::string placeTensors(const std::vector<LogicalTensor> &tensors, std::vector<Placed> &placed,
                         int64_t &bytes) {
  for (const LogicalTensor &tensor : tensors)
    placed.push_back({&tensor, 0});
  std::sort(placed.begin(), placed.end(), [](const Placed &a, const Placed &b) {
    int64_t wideA = bytesOf(a.tensor->type), wideB = bytesOf(b.tensor->type);
    return wideA != wideB ? wideA > wideB : a.tensor->name < b.tensor->name;
  });
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  int64_t at = 0;
  for (auto &[tensor, offset] : placed) {
    offset = at;
    at += tensor->bytes();
    header += "," + quoteJson(tensor->name) + ":{\"dtype\":\"" + storedName(tensor->type) +
              "\",\"shape\":" + shapeText(tensor->shape) +
              format(",\"data_offsets\":[%lld,%lld]}", (long long)offset, (long long)at);
  }
  header += "}";
  header.resize((header.size() + headerAlignment - 1) / headerAlignment * headerAlignment, ' ');
  uint64_t length = header.size();
  header.insert(0, (const char *)&length, 8);
  for (Placed &place : placed)
    place.offset += (int64_t)header.size();
  bytes = (int64_t)header.size() + at;
  return header;
}

Status createFile(AtomicFile &file, const std::string &path, const std::string &header,
                  int64_t bytes) {
  TP_TRY(file.open(path));
  TP_TRY(file.resize(bytes));
  return file.write(0, header.data(), (int64_t)header.size());
}

/// What this rank has to write, down to the disk: another rank may be on another machine.
Status writeRuns(AtomicFile &file, const std::vector<Placed> &placed) {
  for (auto [tensor, offset] : placed) {
    if (!tensor->share.writes())
      continue;
    int64_t size = bytesOf(tensor->type);
    HostView view(tensor->device, tensor->data, tensor->share.stored() * size, HostView::reads);
    TP_TRY(view.open());
    Status status;
    std::vector<char> divided;
    tensor->share.forEach([&, tensor = tensor, offset = offset](const ElementRun &run) {
      const char *from = view.data() + run.memory * size;
      if (tensor->divisor != 1) {
        divided.resize(run.count * size);
        for (int64_t e = 0; e < run.count; ++e)
          setElement(divided.data(), tensor->type, e,
                     getElement(from, tensor->type, e) / tensor->divisor);
        from = divided.data();
      }
      if (status.ok())
        status = file.write(offset + run.logical * size, from, run.count * size);
    });
    TP_TRY(std::move(status));
  }
  return file.flush();
}

Status joinFile(const std::string &temporary, const std::vector<Placed> &placed) {
  AtomicFile file;
  TP_TRY(file.join(temporary));
  return writeRuns(file, placed);
}

} // namespace

Status tplan::runtime::writeSafetensors(Peers &peers, Team &team, const std::string &path,
                                        const std::vector<LogicalTensor> &tensors,
                                        std::string *checksum, int64_t *bytes) {
  std::vector<Placed> placed;
  int64_t size = 0;
  std::string header = placeTensors(tensors, placed, size);
  AtomicFile file;
  TP_TRY(peers.agree(peers.leads() ? createFile(file, path, header, size) : Status()));
  std::string temporary = file.temporary();
  TP_TRY(peers.broadcast(temporary));
  TP_TRY(peers.agree(peers.leads() ? writeRuns(file, placed) : joinFile(temporary, placed)));
  // Of what is in the file, whoever wrote it.
  if (checksum)
    TP_TRY(checksumOfFile(peers, team, temporary, *checksum, size));
  if (bytes)
    *bytes = size;
  return peers.agree(peers.leads() ? file.commit() : Status());
}
