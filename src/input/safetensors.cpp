#include "input/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/display_width.h"
#include "input/float_bytes.h"
#include "input/source.h"
#include "input/words.h"

namespace qkv {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = std::uint64_t{16} << 20U;  // a hundred thousand tensors

struct Type {
  std::string_view name;
  std::uint64_t size;  // bytes
  int digits;          // of a result computed in it, those that rounding leaves alone; 0: not read
};
constexpr std::array<Type, 15> kTypes{{{"F16", 2, 3},
                                       {"BF16", 2, 2},
                                       {"F32", 4, 6},
                                       {"F64", 8, 12},
                                       {"BOOL", 1, 0},
                                       {"U8", 1, 0},
                                       {"I8", 1, 0},
                                       {"F8_E4M3", 1, 0},
                                       {"F8_E5M2", 1, 0},
                                       {"U16", 2, 0},
                                       {"I16", 2, 0},
                                       {"U32", 4, 0},
                                       {"I32", 4, 0},
                                       {"U64", 8, 0},
                                       {"I64", 8, 0}}};

const Type* type_named(std::string_view name) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

double number_of(std::string_view bytes, const Type& type) {
  const std::uint64_t bits = bits_of(bytes, false);
  if (type.name == "F16") return half_of(bits);
  if (type.name == "BF16") return bfloat_of(bits);
  if (type.name == "F32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

// The bytes that a tensor of this shape takes; nullopt where they could not be counted.
std::optional<std::uint64_t> size_of(const TensorEntry& entry, std::uint64_t most) {
  const Type* type = type_named(entry.dtype);
  if (type == nullptr) return entry.end - entry.begin;  // of a later version: not read, but not wrong
  std::uint64_t size = type->size;
  for (const std::uint64_t length : entry.shape) {
    if (length != 0 && size > most / length) return std::nullopt;
    size *= length;
  }
  return size;
}

// torch.save writes a zip archive in which data.pkl stands first; before version 1.6 it wrote a pickle that
// begins with a number of its own.
constexpr std::string_view kZip = "PK\x03\x04";
constexpr std::string_view kOldPytorch = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9";
constexpr std::size_t kBeginning = 4096;

bool is_of_pytorch(std::string_view bytes, const std::string& name) {
  const bool is_pickle = bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= '\x02' && bytes[1] <= '\x05';
  const bool has_ending = name.ends_with(".pt") || name.ends_with(".pth") || name.ends_with(".bin");
  if (bytes.starts_with(kZip))
    return has_ending || bytes.substr(0, kBeginning).find("/data.pkl") != std::string_view::npos;
  return bytes.starts_with(kOldPytorch) || (is_pickle && has_ending);
}

// "m.safetensors" of "m.pt".
std::string renamed(const std::string& name) {
  const std::size_t folder = name.rfind('/');
  const std::size_t point = name.rfind('.');
  const bool has_ending = point != std::string::npos && (folder == std::string::npos || point > folder);
  return (has_ending ? name.substr(0, point) : name) + ".safetensors";
}

}  // namespace

bool is_tensor_file(std::string_view bytes) {
  if (bytes.size() <= kLengthBytes || bytes[kLengthBytes] != '{') return false;
  return bits_of(bytes.substr(0, kLengthBytes), false) <= kLongestHeader;
}

bool refuse_pytorch(const std::string& name, std::string_view bytes, Diagnostics& diagnostics) {
  if (!is_of_pytorch(bytes, name)) return false;
  const std::string file = name == "-" ? "model.pt" : name;
  diagnostics.error(
      name,
      say({"this is PyTorch's own format, which holds a program; safetensors is read",
           "这是 PyTorch 自己的格式，其中含有程序；可读的是 safetensors"}),
      say({"in Python: from safetensors.torch import save_file; save_file(torch.load(\"{0}\", "
           "weights_only=True), \"{1}\")",
           "在 Python 中：from safetensors.torch import save_file; save_file(torch.load(\"{0}\", "
           "weights_only=True), \"{1}\")"},
          file, renamed(file)));
  return true;
}

std::string shape_text(const TensorEntry& entry) {
  std::string text;
  for (const std::uint64_t length : entry.shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
  return "(" + text + (entry.shape.size() == 1 ? ",)" : ")");
}

std::optional<TensorFile> read_tensor_file(const std::string& name, Diagnostics& diagnostics) {
  const auto refuse = [&](Said message, Said hint = {}) {
    diagnostics.error(name, std::move(message), std::move(hint));
    return std::nullopt;
  };
  errno = 0;
  std::ifstream stream(name, std::ios::binary | std::ios::ate);
  if (!stream) {
    cannot_open(name, errno, diagnostics);
    return std::nullopt;
  }
  const std::streamoff end = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (end < 0 || end == std::numeric_limits<std::streamoff>::max())
    return refuse(say({"cannot be read", "无法读取"}), say({"is the name right?", "文件名对吗？"}));
  const auto size = static_cast<std::uint64_t>(end);
  stream.seekg(0);
  std::string first(static_cast<std::size_t>(std::min<std::uint64_t>(size, kBeginning)), '\0');
  stream.read(first.data(), static_cast<std::streamsize>(first.size()));
  if (refuse_pytorch(name, first, diagnostics)) return std::nullopt;
  if (first.starts_with(kZip)) {
    return refuse(say({"this is a zip archive, as .npz is; safetensors is read",
                       "这是 zip 压缩包（.npz 也是）；可读的是 safetensors"}),
                  say({"in Python: from safetensors.numpy import save_file; "
                       "save_file(dict(numpy.load(\"{0}\")), \"{1}\")",
                       "在 Python 中：from safetensors.numpy import save_file; "
                       "save_file(dict(numpy.load(\"{0}\")), \"{1}\")"},
                      name, renamed(name)));
  }
  const Said no_safetensors = say({"this is no safetensors file", "这不是 safetensors 文件"});
  const std::uint64_t header =
      first.size() >= kLengthBytes ? bits_of(first.substr(0, kLengthBytes), false) : 0;
  if (header < 2 || header > kLongestHeader || header > size - kLengthBytes) return refuse(no_safetensors);
  stream.clear();  // a short file was read to its end
  stream.seekg(kLengthBytes);
  std::string text(static_cast<std::size_t>(header), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  const Json json = stream ? Json::parse(text, nullptr, false) : Json();
  if (!json.is_object()) return refuse(no_safetensors);

  TensorFile file{name, {}};
  const std::uint64_t data = kLengthBytes + header;
  for (const auto& [tensor, entry] : json.items()) {
    if (tensor == "__metadata__") continue;
    TensorEntry found{tensor, "", {}, 0, 0};
    try {
      found.dtype = entry.at("dtype").get<std::string>();
      found.shape = entry.at("shape").get<std::vector<std::uint64_t>>();
      found.begin = entry.at("data_offsets").at(0).get<std::uint64_t>();
      found.end = entry.at("data_offsets").at(1).get<std::uint64_t>();
    } catch (const Json::exception&) {
      return refuse(
          say({"the header says nothing of use about '{0}'", "文件头没有说清“{0}”"}, quotable(tensor)));
    }
    if (found.begin > found.end || found.end > size - data) {
      return refuse(say({"the file is cut off: '{0}' would stand at bytes {1} to {2} of {3}",
                         "文件不完整：“{0}”应在第 {1} 到 {2} 字节，而数据只有 {3} 字节"},
                        quotable(tensor), found.begin, found.end, size - data));
    }
    if (size_of(found, size) != found.end - found.begin) {
      return refuse(say({"'{0}' of shape {1} and type {2} does not take {3} bytes",
                         "“{0}”的形状是 {1}、类型是 {2}，不应占 {3} 字节"},
                        quotable(tensor), shape_text(found), quotable(found.dtype), found.end - found.begin));
    }
    found.begin += data;
    found.end += data;
    file.tensors.push_back(std::move(found));
  }
  return file;
}

std::optional<TensorNumbers> read_tensor(const TensorFile& file, const TensorEntry& entry,
                                         Diagnostics& diagnostics) {
  const auto refuse = [&](Said message) {
    diagnostics.error(file.name, say({"'{0}': {1}", "“{0}”：{1}"}, quotable(entry.name), message));
    return std::nullopt;
  };
  const Type* type = type_named(entry.dtype);
  if (type == nullptr || type->digits == 0) {
    return refuse(say(
        {"the type is {0}; F16, BF16, F32 and F64 are read", "类型是 {0}；可读的是 F16、BF16、F32 和 F64"},
        quotable(entry.dtype)));
  }
  if (entry.shape.empty() || entry.shape.size() > 2 || entry.begin == entry.end) {
    return refuse(say({"the shape is {0}; a matrix or a vector is expected", "形状是 {0}；应当是矩阵或向量"},
                      shape_text(entry)));
  }
  const std::uint64_t count = (entry.end - entry.begin) / type->size;
  if (count > static_cast<std::uint64_t>(kMostCells)) {
    return refuse(
        say({"the shape is {0}; at most 1,000,000 numbers are read", "形状是 {0}；最多读 1,000,000 个数"},
            shape_text(entry)));
  }
  std::string bytes(static_cast<std::size_t>(entry.end - entry.begin), '\0');
  std::ifstream stream(file.name, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(entry.begin));
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream) return refuse(say({"cannot be read", "无法读取"}));
  const auto rows = static_cast<Index>(entry.shape.size() == 1 ? 1 : entry.shape[0]);
  TensorNumbers numbers{Matrix(rows, static_cast<Index>(count) / rows), type->digits};
  const auto width = static_cast<std::size_t>(type->size);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    numbers.values.data()[i] = number_of(std::string_view(bytes).substr(i * width, width), *type);
  return numbers;
}

}  // namespace qkv
