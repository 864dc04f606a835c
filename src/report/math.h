// The formula of a step as a tree: read once from the op's TeX subset, written by each renderer in its own
// way.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

struct Math {
  enum class Kind {
    sequence,  // its parts, one after another
    input,     // an input of the step; `text` is its id
    number,    // a parameter, as it was written: "1/3"; or digits of the formula itself
    word,      // d_k, softmax, rows
    sign,      // one of + − · ∘ > ( ) [ ] | , ; : / .. and a bare space
    times,     // two operands side by side: nothing on paper, a dot on a terminal
    function,  // tanh ln max min argmax Σ, perhaps with an index: max_j
    fraction,  // two parts
    root,      // one part
    power,     // a base and an exponent
  };
  Kind kind = Kind::sequence;
  std::string text = {};
  std::string index = {};  // of a function: "j"
  std::size_t input = 0;
  bool is_transposed = false;
  std::vector<Math> parts = {};
};

// `formula` is in the subset of TeX that Op::formula names; `inputs` are the ids for #1 #2 …, `numbers` the
// texts for @1 @2 ….
Math read_math(std::string_view formula, const std::vector<std::string>& inputs,
               const std::vector<std::string>& numbers);

// How an input is written on a terminal: "Qᵀ", or with its shape.
using InputName = std::function<std::string(const Math& input)>;

// For a terminal: "scores / √d_k", "Σ_j exp + e^(1 − max)".
std::string plain_math(const Math& math, const InputName& name);

}  // namespace qkv
