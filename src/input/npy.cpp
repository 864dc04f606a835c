#include "input/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/display_width.h"
#include "input/float_bytes.h"
#include "input/matrix_text.h"
#include "input/source.h"

namespace qkv {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionEnd = 8;  // the magic, then the major and the minor version
constexpr std::size_t kLongestAxis = std::numeric_limits<std::size_t>::max() / 16;

// ---- The header: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), } -------------------

struct Header {
  std::string descr;
  bool is_fortran = false;
  std::vector<std::size_t> shape;
};

// The few Python literals that stand in a header.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  // nullopt for what is not such a dict, or lacks one of the three keys.
  std::optional<Header> read() {
    Header header;
    unsigned seen = 0;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return std::nullopt;
      if (*key == "descr") {
        if (!descr(header.descr)) return std::nullopt;
        seen |= 1U;
      } else if (*key == "fortran_order") {
        if (!boolean(header.is_fortran)) return std::nullopt;
        seen |= 2U;
      } else if (*key == "shape") {
        if (!shape(header.shape)) return std::nullopt;
        seen |= 4U;
      } else {
        return std::nullopt;
      }
      if (!take(',') && !is_at('}')) return std::nullopt;
    }
    skip_space();
    return seen == 7U && at_ == text_.size() ? std::optional(std::move(header)) : std::nullopt;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool is_at(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!is_at(c)) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::optional<std::string> quoted() {
    const char quote = is_at('"') ? '"' : '\'';
    if (!take(quote)) return std::nullopt;
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return std::nullopt;
    std::string word(text_.substr(at_, end - at_));
    at_ = end + 1;
    return word;
  }

  // The fields of a record are kept as they stand, to be shown when they are refused.
  bool descr(std::string& result) {
    if (!is_at('[')) {
      const auto word = quoted();
      if (word) result = *word;
      return word.has_value();
    }
    const std::size_t end = text_.find("],", at_);
    if (end == std::string_view::npos) return false;
    result = text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    return true;
  }

  bool boolean(bool& result) {
    result = take_word("True");
    return result || take_word("False");
  }

  bool shape(std::vector<std::size_t>& result) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip_space();
      const std::size_t begin = at_;
      std::size_t length = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        // Beyond the limit it is too large whatever follows; more digits must not wrap around.
        if (length <= kLongestAxis) length = length * 10 + static_cast<std::size_t>(text_[at_] - '0');
      }
      if (at_ == begin) return false;
      take('L');  // as Python 2 wrote long integers
      result.push_back(length);
      if (!take(',') && !is_at(')')) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// ---- Numbers ---------------------------------------------------------------------------------

enum class NumberKind { real, whole, natural, truth };

struct Type {
  NumberKind kind;
  std::size_t size;  // bytes
  int digits;        // of a result computed in it, those that rounding leaves alone; 0: exact
};
struct TypeName {
  std::string_view name;
  Type type;
};
constexpr std::array<TypeName, 12> kTypes{{{"f2", {NumberKind::real, 2, 3}},
                                           {"f4", {NumberKind::real, 4, 6}},
                                           {"f8", {NumberKind::real, 8, 12}},
                                           {"i1", {NumberKind::whole, 1, 0}},
                                           {"i2", {NumberKind::whole, 2, 0}},
                                           {"i4", {NumberKind::whole, 4, 0}},
                                           {"i8", {NumberKind::whole, 8, 0}},
                                           {"u1", {NumberKind::natural, 1, 0}},
                                           {"u2", {NumberKind::natural, 2, 0}},
                                           {"u4", {NumberKind::natural, 4, 0}},
                                           {"u8", {NumberKind::natural, 8, 0}},
                                           {"b1", {NumberKind::truth, 1, 0}}}};

std::optional<Type> type_named(std::string_view descr) {
  if (descr.size() != 3 || std::string_view("<>|").find(descr[0]) == std::string_view::npos)
    return std::nullopt;
  const auto row = std::find_if(kTypes.begin(), kTypes.end(),
                                [&](const TypeName& t) { return t.name == descr.substr(1); });
  if (row == kTypes.end() || (descr[0] == '|' && row->type.size > 1)) return std::nullopt;
  return row->type;
}

double real_of(std::uint64_t bits, std::size_t size) {
  if (size == 2) return half_of(bits);
  if (size == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

std::int64_t whole_of(std::uint64_t bits, std::size_t size) {
  const auto unused = static_cast<unsigned>(64 - 8 * size);
  return static_cast<std::int64_t>(bits << unused) >> unused;  // copies the sign
}

std::string number_text(std::string_view bytes, const Type& type, bool is_big_endian) {
  const std::uint64_t bits = bits_of(bytes, is_big_endian);
  switch (type.kind) {
    case NumberKind::real:
      return all_digits(real_of(bits, type.size));
    case NumberKind::whole:
      return std::to_string(whole_of(bits, type.size));
    case NumberKind::natural:
      return std::to_string(bits);
    case NumberKind::truth:
      break;
  }
  return bits != 0 ? "1" : "0";
}

// ---- The file --------------------------------------------------------------------------------

std::string shape_text(const std::vector<std::size_t>& shape) {
  std::string text;
  for (const std::size_t length : shape) {
    const bool is_cut = length > static_cast<std::size_t>(kMostCells);
    text += (text.empty() ? "" : ", ") + (is_cut ? "> 1,000,000" : std::to_string(length));
  }
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

struct ArrayShape {
  std::uint64_t rows;  // a header may claim any size, on a machine of 32 bits too
  std::uint64_t cols;
};

// nullopt unless it is a row or a matrix of at least one number.
std::optional<ArrayShape> matrix_shape(std::vector<std::size_t> shape) {
  while (shape.size() > 2 && shape.front() == 1) shape.erase(shape.begin());
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0) return std::nullopt;
  return ArrayShape{shape[0], shape[1]};
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::optional<RealArray> npy_of_reals(std::string_view head) {
  if (!is_npy(head) || head.size() < kVersionEnd + 4) return std::nullopt;
  const std::size_t header_begin = kVersionEnd + (head[6] == 1 ? 2 : 4);
  const std::uint64_t size = bits_of(head.substr(kVersionEnd, header_begin - kVersionEnd), false);
  if (head.size() - header_begin < size) return std::nullopt;
  const auto header = HeaderReader(head.substr(header_begin, static_cast<std::size_t>(size))).read();
  const auto type = header ? type_named(header->descr) : std::nullopt;
  const auto shape = header ? matrix_shape(header->shape) : std::nullopt;
  constexpr char kOrderHere = std::endian::native == std::endian::little ? '<' : '>';
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
  if (!type || type->kind != NumberKind::real || type->size < 4 || header->descr[0] != kOrderHere || !shape ||
      header->is_fortran || shape->rows > kMost / shape->cols)
    return std::nullopt;
  return RealArray{static_cast<Index>(shape->rows), static_cast<Index>(shape->cols), type->size,
                   header_begin + static_cast<std::size_t>(size)};
}

std::optional<ArrayText> npy_as_text(const std::string& name, std::string_view bytes,
                                     Diagnostics& diagnostics) {
  const auto refuse = [&](Said message, Said hint) {
    diagnostics.error(name, std::move(message), std::move(hint));
    return std::nullopt;
  };
  const Said again = say({"save it again with numpy.save", "请用 numpy.save 重新保存"});
  const auto cut_off = [&](std::uint64_t expected) {
    return refuse(say({"the .npy file is cut off: it has {0} bytes, and should have {1}",
                       ".npy 文件不完整：有 {0} 个字节，应有 {1} 个"},
                      bytes.size(), expected),
                  again);
  };

  if (bytes.size() < kVersionEnd) return cut_off(kVersionEnd);
  const auto major = static_cast<unsigned char>(bytes[6]);
  const auto minor = static_cast<unsigned char>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return refuse(say({"the .npy format is of version {0}.{1}; versions 1.0, 2.0 and 3.0 are read",
                       ".npy 格式版本为 {0}.{1}；可读的是 1.0、2.0 和 3.0"},
                      major, minor),
                  again);
  }
  const std::size_t header_begin = kVersionEnd + (major == 1 ? 2 : 4);
  if (bytes.size() < header_begin) return cut_off(header_begin);
  const std::uint64_t header_size = bits_of(bytes.substr(kVersionEnd, header_begin - kVersionEnd), false);
  if (bytes.size() - header_begin < header_size) return cut_off(header_begin + header_size);
  const std::size_t data_begin = header_begin + static_cast<std::size_t>(header_size);
  const auto header = HeaderReader(bytes.substr(header_begin, data_begin - header_begin)).read();
  if (!header) {
    return refuse(say({"the header of the .npy file cannot be read; expected {0}",
                       ".npy 文件的文件头无法读取；应当形如 {0}"},
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)}"),
                  again);
  }

  const auto type = type_named(header->descr);
  if (!type) {
    return refuse(say({"the array holds '{0}'; f2 f4 f8, i1 to i8, u1 to u8 and bool are read",
                       "数组的类型是“{0}”；可读的是 f2 f4 f8、i1 到 i8、u1 到 u8 和 bool"},
                      quotable(header->descr)),
                  say({"convert it before saving: a.astype('f8')", "保存前先转换：a.astype('f8')"}));
  }
  const auto shape = matrix_shape(header->shape);
  if (!shape) {
    return refuse(say({"the array has the shape {0}; a matrix or a row is expected",
                       "数组的形状是 {0}；应当是一个矩阵或一行"},
                      shape_text(header->shape)),
                  say({"save one matrix, such as a[0]", "请保存其中一个矩阵，例如 a[0]"}));
  }
  const auto most = static_cast<std::uint64_t>(kMostCells);
  if (shape->rows > most || shape->cols > most || shape->rows * shape->cols > most) {
    return refuse(say({"the array has the shape {0}; at most 1,000,000 numbers are read",
                       "数组的形状是 {0}；最多读 1,000,000 个数"},
                      shape_text(header->shape)),
                  say({"save a part of it, such as a[:100, :100]", "请只保存一部分，例如 a[:100, :100]"}));
  }
  const std::uint64_t data_end = data_begin + shape->rows * shape->cols * type->size;
  if (bytes.size() < data_end) return cut_off(data_end);
  if (bytes.size() > data_end) {
    return refuse(
        say({"after the array of shape {0} stand {1} more bytes", "形状为 {0} 的数组之后还有 {1} 个字节"},
            shape_text(header->shape), bytes.size() - data_end),
        say({"save each array in a file of its own", "每个数组请各存一个文件"}));
  }

  ArrayText array{{}, type->digits};
  const auto rows = static_cast<std::size_t>(shape->rows);
  const auto cols = static_cast<std::size_t>(shape->cols);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      const std::size_t cell = header->is_fortran ? j * rows + i : i * cols + j;
      array.text += j == 0 ? "" : " ";
      array.text += number_text(bytes.substr(data_begin + cell * type->size, type->size), *type,
                                header->descr[0] == '>');
    }
    array.text += '\n';
    if (array.text.size() > kLargestFile) {
      return refuse(say({"written out with all digits, the array takes more than 64 MiB",
                         "按全部数位写出后，数组超过 64 MiB"}),
                    say({"save it as single precision, or a part of it", "请存成单精度，或只保存一部分"}));
    }
  }
  return array;
}

}  // namespace qkv
