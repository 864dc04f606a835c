#include "render/npy.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

namespace qkv {
namespace {

// The data begins at a multiple of this, for programs that map the file.
constexpr std::size_t kAlignment = 64;

void append_little_endian(std::uint64_t bits, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(bits >> (8 * i) & 0xffU);
}

}  // namespace

std::string npy_header(Shape shape) {
  std::string out("\x93NUMPY\x01\x00", 8);
  constexpr std::size_t kLengthBytes = 2;
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", shape.rows, shape.cols);
  while ((out.size() + kLengthBytes + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  append_little_endian(header.size(), kLengthBytes, out);
  return out + header;
}

std::string render_npy(const Matrix& matrix) {
  std::string out = npy_header({matrix.rows(), matrix.cols()});
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j)
      append_little_endian(std::bit_cast<std::uint64_t>(matrix(i, j)), 8, out);
  }
  return out;
}

}  // namespace qkv
