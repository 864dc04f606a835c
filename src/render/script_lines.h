// How each op is written in Python and in Octave: one row of a table an op, as its formula is one line of
// TeX.
//
//   #1 #2 …  the inputs; #* #; #+ all of them with a comma, a semicolon or a plus between
//   @1       params.numbers, in brackets where they are compound; @n1 without brackets
//   @a1 @z2  number 1 less one, and number 2: the columns or rows 1 to 2 as Python counts them;
//   @b1      number 1 as Octave counts; all three in columns of the matrix, where a symbolic cell has several
//   @open    the name of the mask, true where a key is visible; @openrows: the rows that see any key
//   @empty   what a row becomes that sees none
//   @rows @cols  the size of the result; @width the width of one of several parts that turn alike
//   @taken0 @taken1  the rows that are taken, counted from 0 and from 1
//   @align   " + 2": where query 0 stands among the keys; nothing at 0
//
// Python stands here in the words of NumPy; in_torch() puts those of PyTorch in their place.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qkv {

// When the short line would give something else than the op does: a key that is hidden takes no part,
// whatever stands in its place.
enum class Guard {
  none,
  closed,        // some key is hidden by the mask
  empty_row,     // some row sees no key
  minus_inf,     // an input holds −∞
  zero,          // the first input holds 0
  not_a_number,  // some key is hidden, and an input holds nan or +∞: −∞ added to it is nan
  leaks,         // a hidden cell of the weights is not 0, or the values hold what 0 times is not 0
};

struct ScriptLine {
  std::string_view op;  // Op::name
  const char* python;
  const char* octave;
  Guard guard = Guard::none;
  const char* guarded_python = nullptr;  // in place of the short line where the guard holds
  const char* guarded_octave = nullptr;
};
std::span<const ScriptLine> script_lines();
// The row of that op; null for what is given and not computed.
const ScriptLine* script_line(std::string_view op);

// A function that lines call by its name; its text stands at the top of a script that calls it.
struct ScriptFunction {
  std::string_view name;
  const char* python;
  const char* octave;
};
std::span<const ScriptFunction> script_functions();

// The words of NumPy in those of PyTorch.
std::string in_torch(std::string numpy);

}  // namespace qkv
