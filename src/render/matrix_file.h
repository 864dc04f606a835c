// Several matrices as one text in the forms of render/matrix_form.h.
#pragma once

#include <span>
#include <string>

#include "base/text.h"
#include "render/matrix_form.h"

namespace qkv {

enum class Several {
  named,  // [Q] and rows; Q = np.array(…); {"Q": …}
  stack,  // # 1 and rows; a list of the matrices where the form has one
};

// Empty, or why this form holds no more than one matrix; then write_several must not be called.
Said refuses_several(const MatrixForm& form);

// `matrices` are those that `fit_of` does not refuse.
std::string write_several(const MatrixForm& form, std::span<const NamedMatrix> matrices, Several several);

// The name as this form writes it.  Python and Octave have no "." in a name, h1.weights is written
// h1_weights; Mathematica has no "_" either: h1weights.
std::string name_in(const MatrixForm& form, const std::string& name);

}  // namespace qkv
