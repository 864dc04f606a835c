// Files of named tensors, as the library safetensors writes them:
//
//   8 bytes: the length of the header, little-endian
//   {"q_proj.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
//   the numbers, row by row, little-endian
//
// Format: https://github.com/huggingface/safetensors#format
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/matrix.h"

namespace qkv {

struct TensorEntry {
  std::string name;
  std::string dtype;  // "F32"
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  // bytes of the file
  std::uint64_t end = 0;
};

struct TensorFile {
  std::string name;                  // of the file
  std::vector<TensorEntry> tensors;  // in the order of their names
};

// Reads the header alone, which may say what it likes: places outside the file, and sizes that are not those
// of the shape, are errors.  nullopt with an error also for PyTorch's own .pt, .pth and .bin, which hold
// programs.
std::optional<TensorFile> read_tensor_file(const std::string& name, Diagnostics& diagnostics);

struct TensorNumbers {
  Matrix values;   // a vector is a row
  int digits = 0;  // see Source::digits
};

// F16, BF16, F32 and F64, a vector or a matrix of at most 1,000,000 numbers; nullopt with an error for
// others.
std::optional<TensorNumbers> read_tensor(const TensorFile& file, const TensorEntry& entry,
                                         Diagnostics& diagnostics);

// Whether a file that begins so is of safetensors; a text has no byte that is zero.
bool is_tensor_file(std::string_view bytes);

// The error for what PyTorch's torch.save makes, and for other zip archives: true where `bytes`, the file or
// its beginning, are of one.  `name` is that of the file.
bool refuse_pytorch(const std::string& name, std::string_view bytes, Diagnostics& diagnostics);

// "(4, 8)"
std::string shape_text(const TensorEntry& entry);

}  // namespace qkv
