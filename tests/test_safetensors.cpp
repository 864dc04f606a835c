// The projections of a layer, from files of tensors.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "problem/checkpoint.h"
#include "reading.h"
#include "render/diagnostics.h"
#include "support.h"

namespace qkv::test {
namespace {

std::string little_endian(std::uint64_t bits, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xffU);
  return bytes;
}

// A file that is gone when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes, const std::string& ending = ".safetensors")
      : name_((std::filesystem::temp_directory_path() /
               ("qkv-test-" + std::to_string(getpid()) + "-" + std::to_string(count_++) + ending))
                  .string()) {
    std::ofstream(name_, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::remove(name_.c_str()); }
  const std::string& name() const { return name_; }

 private:
  static inline int count_ = 0;
  std::string name_;
};

std::string file_with(const std::string& header, const std::string& data) {
  return little_endian(header.size(), 8) + header + data;
}

// "W_Q 1 0 ; 0 1", a line a matrix; or the errors.
std::string told_of(CheckpointChoice choice) {
  Diagnostics diagnostics;
  const auto matrices = read_checkpoint(choice, diagnostics);
  std::string text;
  for (const Diagnostic& d : diagnostics.list()) text += d.message.en + "\n";
  for (const auto& [section, source] : matrices) {
    std::string rows = source->text;
    rows.pop_back();
    for (std::size_t at = rows.find('\n'); at != std::string::npos; at = rows.find('\n'))
      rows.replace(at, 1, " ; ");
    text += section + " " + rows + "\n";
  }
  return text;
}

std::string told_of_bytes(const std::string& bytes) {
  const TemporaryFile file(bytes);
  return told_of({.file = file.name(), .form = "", .layer = ""});
}

std::string data_file(const std::string& name) {
  return std::string(QKV_SOURCE_DIR) + "/tests/data/safetensors/" + name;
}

const std::string kWeights =
    "W_Q 1 0 0.5 0 ; 0 1 0 -1 ; 1 1 0 2\n"
    "W_K 0 1 1 0 ; 1 0 0 0.25 ; 0 0 1 1\n"
    "W_V 1 2 0 0 ; 0 0 1 -1 ; 0.5 0 0 1\n";
const std::string kBiases = "b_Q 0 1 0 0\nb_K 0 0 0 0.5\nb_V 1 0 0 0\n";
const std::string kOutput = "W_O 1 0 0 ; 0 1 0 ; 0 0 1 ; 1 0 -1\n";

}  // namespace

// The files and their matrices, none of them square: tests/data/safetensors/write.py.
TEST_CASE("every way of naming the projections gives the same matrices") {
  CHECK(told_of({.file = data_file("fused.safetensors"), .form = "fused", .layer = ""}) ==
        kWeights + kOutput);
  for (const std::string file : {"gpt2.safetensors", "mha.safetensors"}) {
    CAPTURE(file);
    CHECK(told_of({.file = data_file(file), .form = "", .layer = ""}) ==
          kWeights + kBiases + kOutput + "b_O 0 0 2\n");
  }
  for (const std::string layer : {"0", "model.layers.0"}) {
    CHECK(told_of({.file = data_file("linear.safetensors"), .form = "linear", .layer = layer}) ==
          "beside the projections stand tensors that are not used: model.layers.0.self_attn.q_norm.weight\n"
          "W_Q 1 0 0.5 0 ; 0 1 0 -1 ; 1 1 0 2\nb_Q 0 1 0 0\n"
          "W_K 0 1 1 0 ; 1 0 0 0.25 ; 0 0 1 1\nb_K 0 0 0 0.5\n"
          "W_V 1 2 0 0 ; 0 0 1 -1 ; 0.5 0 0 1\nb_V 1 0 0 0\n" +
              kOutput + "b_O 0 0 2\n");
  }
}

TEST_CASE("grouped heads: K and V are narrower than Q, apart and in one matrix") {
  const std::string weights =
      "W_Q 1 0 0.5 0 ; 0 1 0 -1 ; 1 1 0 2\nW_K 0 1 ; 1 0 ; 0 1\nW_V 1 2 ; 0 1 ; 0.5 0\n";
  CHECK(told_of({.file = data_file("grouped.safetensors"), .form = "linear", .layer = ""}) ==
        weights + kOutput);
  CHECK(told_of({.file = data_file("grouped-fused.safetensors"),
                 .form = "fused",
                 .layer = "",
                 .heads = 4,
                 .kv_heads = 2}) == weights + kOutput);
}

TEST_CASE("of several layers one is asked for, of none the tensors are listed") {
  CHECK(told_of({.file = data_file("linear.safetensors"), .form = "", .layer = ""}) ==
        "the file has more than one layer of attention: model.layers.0.self_attn.q_proj, "
        "model.layers.1.self_attn.q_proj\n");
  CHECK(told_of({.file = data_file("linear.safetensors"), .form = "", .layer = "2"}) ==
        "no layer '2' of attention: the file has model.layers.0.self_attn.q_proj, "
        "model.layers.1.self_attn.q_proj\n");
  CHECK(told_of({.file = data_file("fused.safetensors"), .form = "mha", .layer = ""}) ==
        "no attention layer is told by the names of the tensors: proj.weight (3, 4), qkv.weight (12, 3)\n");
}

TEST_CASE("a fused matrix is shared out by the heads of queries and of keys") {
  // 2 heads, 1 of keys and values, width 1: four rows.
  const std::string file =
      file_with(R"({"qkv_proj.weight":{"dtype":"F16","shape":[4,1],"data_offsets":[0,8]}})",
                little_endian(0x3c00, 2) + little_endian(0x4000, 2) + little_endian(0x4200, 2) +
                    little_endian(0x4400, 2));
  const TemporaryFile kept(file);
  CHECK(told_of({.file = kept.name(), .form = "", .layer = "", .heads = 2, .kv_heads = 1}) ==
        "W_Q 1 2\nW_K 3\nW_V 4\n");
  CHECK(told_of({.file = kept.name(), .form = "", .layer = ""}) ==
        "'qkv_proj.weight' has 4 outputs, which 1 query heads and 2×1 key and value heads cannot share "
        "evenly\n");
}

TEST_CASE("a header that lies is refused before anything is read") {
  const std::string no = "this is no safetensors file\n";
  CHECK(told_of_bytes("") == no);
  CHECK(told_of_bytes("12345678") == no);
  CHECK(told_of_bytes(little_endian(~std::uint64_t{0}, 8) + "{}") == no);
  CHECK(told_of_bytes(little_endian(1 << 20, 8) + "{}") == no);
  CHECK(told_of_bytes(file_with("[1]", "")) == no);
  CHECK(told_of_bytes(file_with(R"({"a":{"dtype":"F32","shape":[1]}})", "")) ==
        "the header says nothing of use about 'a'\n");
  CHECK(told_of_bytes(file_with(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234")) ==
        "'a' of shape (18446744073709551615,) and type F32 does not take 4 bytes\n");
  CHECK(told_of_bytes(file_with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "123")) ==
        "the file is cut off: 'a' would stand at bytes 0 to 4 of 3\n");
  CHECK(told_of_bytes(file_with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234")) ==
        "'a' of shape (2,) and type F32 does not take 4 bytes\n");
  // The product of the lengths would wrap around to 4 bytes.
  CHECK(told_of_bytes(file_with(
            R"({"a":{"dtype":"F32","shape":[4611686018427387905, 1],"data_offsets":[0,4]}})", "1234")) ==
        "'a' of shape (4611686018427387905, 1) and type F32 does not take 4 bytes\n");
  CHECK(told_of_bytes(
            file_with(R"({"in_proj_weight":{"dtype":"I8","shape":[3,1],"data_offsets":[0,3]}})", "123")) ==
        "'in_proj_weight': the type is I8; F16, BF16, F32 and F64 are read\n");
}

TEST_CASE("PyTorch's own format is refused") {
  const TemporaryFile zip(std::string("PK\x03\x04") + "rest of it", ".pt");
  CHECK(told_of({.file = zip.name(), .form = "", .layer = ""}) ==
        "this is PyTorch's own format, which holds a program; safetensors is read\n");
}

}  // namespace qkv::test
