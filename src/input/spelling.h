// Numbers as programs and books spell them, in the words of the number grammar:
//
//   1.5×10^-3   4·10⁻²   1.*^-3   1.0f   1_000   1//2   ½   √2   np.float64(0.5)   Sqrt[2]   np.inf   –3
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace qkv {

// The same number by the grammar of base/number.h; nullopt for a word that is not one of these spellings.
//   folded        a word whose full-width forms are already ASCII
//   truth_values  True, ✓ and their like are 1 and 0
std::optional<std::string> respelt(std::string_view folded, bool truth_values);

// "np.float64" and "sqrt": the bracket that follows belongs to the number.
bool begins_number_call(std::string_view before_bracket, char bracket);

// A decimal ("-1.50") or nan or inf times 10^exponent, exactly: the point moves, and no digit is lost.
// nullopt when the word is no decimal.
std::optional<std::string> times_power_of_ten(std::string_view number, int exponent);

// "1 234,5": a number whose thousands are set apart by spaces, plain, thin or narrow; all of the text.
//   folded  full-width forms and the no-break space are already ASCII
bool has_spaced_thousands(std::string_view folded);

// The sign for a space that stands at `at`, of those that may set thousands apart; its bytes, else 0.
std::size_t thousands_space_length(std::string_view folded, std::size_t at);

// "...", "⋯", "\cdots": numbers were left out when the matrix was printed.
bool is_elision(std::string_view word);

// "≈0.5", "<0.01", "=1/2", "math.pi", "e^2", or an invisible character beside digits: meant as a number, and
// not readable as one.
bool is_number_gone_wrong(std::string_view folded);

// "O" and "l", for 0 and 1.
bool is_letter_for_digit(std::string_view word);

// "NA", "null", "None": a value that is missing.
bool is_missing_value(std::string_view word);

// "Err:502": what LibreOffice shows where a formula failed.
bool is_office_error(std::string_view word);

// Is the mark, ',' or '.', in this number the decimal point, or does it set thousands apart?  1,5 and 1.234,5
// have a decimal comma, 1,234.5 and 1,234,567 have commas of thousands, 1,234 may be either; in "1,23.5" and
// "1,5,2" it is neither.
enum class MarkUse { none, decimal, thousands, either, wrong };
MarkUse use_of_mark(std::string_view folded, char mark);

// With "." as the decimal point and without marks of thousands; `decimal` is the mark of decimals as written.
std::string with_point(std::string_view folded, char decimal);

}  // namespace qkv
