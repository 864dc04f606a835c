// Pupils made of plain doubles, for the tests of marking and comparing: exercises, the work they make of
// them, and the mistakes they make on the way.
//
// What a pupil writes is computed here, on its own, and never by the kernels or by the table of
// mistakes: a mistake that is misunderstood there would otherwise be recognised for the wrong reason.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support.h"

namespace qkv::test {

// One head, with whole numbers.  Either Q, K, V are given, or X and square weights (a W that is not
// square shows by its shape which way round it goes) and then a W_O too.
struct Exercise {
  Matrix x, w_q, w_k, w_v, w_o, b_q;  // empty with Q, K, V given
  Matrix q, k, v;
  Matrix bias;               // [n, m], or empty
  std::optional<Mask> open;  // [n, m]
  bool is_causal = false;
  bool has_window = false;  // of two keys
  std::optional<double> sink, cap;

  bool has_x() const { return x.size() > 0; }
  Index n() const { return has_x() ? x.rows() : q.rows(); }
  Index m() const { return has_x() ? x.rows() : k.rows(); }
  Index d_k() const { return has_x() ? w_q.cols() : q.cols(); }
  double root() const { return std::sqrt(static_cast<double>(d_k())); }
};

// A new one, with values small enough for digits to say something about the output.
Exercise exercise(Random& random);
Problem problem_of(const Exercise& e);

Matrix whole_numbers(Random& random, Index rows, Index cols, Index least = -2, Index most = 3);
Matrix exponentials(const Matrix& z);
Matrix hidden(const Matrix& scores, const Mask& open);  // −∞ where a key is not open

// A row without a key reads nothing.
Matrix softmax(const Matrix& z, std::optional<double> sink = {});

using Work = std::map<std::string, Matrix>;  // by step
using Change = std::function<Matrix(const std::string& step, const Matrix& value)>;

// A pupil's whole work; what `change` makes of a step is what the steps after it are computed from.
Work worked(const Exercise& e, const Change& change);
Work right_work(const Exercise& e);

// A sheet with the steps of `work` but those in `unwritten`.
std::map<NodeId, Given> sheet(const Plan& plan, const Work& work, int decimals,
                              const std::set<std::string>& unwritten = {});

std::string text_of(const Plan& plan, const std::map<NodeId, Given>& answers);  // a file of answers
std::string text_of(const Exercise& e);                                         // for the messages of a test

struct Slip {
  const char* id;    // of the table of mistakes
  const char* step;  // where it is made
  // What is written there; empty where it cannot be made.
  std::function<Matrix(const Exercise&, const Work& right)> spoil;
};
std::vector<Slip> slips();

// The work of a pupil who slips and then goes on rightly; nothing where the mistake cannot be made, or where
// honest rounding to `unit` could explain its numbers.
std::optional<Work> spoiled_work(const Exercise& e, const Slip& slip, const Work& right, double unit);

std::string name_of(const std::string& step);  // "scores" of "h1.scores"
bool is_of_whole_numbers(const std::string& step);
bool is_beyond(const Matrix& a, const Matrix& b, double reach);  // some number differs by more
std::string on_paper(double value, int decimals);                // "-inf" where hidden

// No honest rounding of this step and of those before it, to `unit`, moves a number of this step further.
// Weights move by at most half of what the scores do; a sum moves by its factors.
double reach(const Exercise& e, const Work& right, const std::string& step, double unit);
// Whether a root of d_k rounded to one decimal or more turns the scores into these numbers.
bool is_by_rounded_root(const Exercise& e, const Matrix& scores, const Matrix& scaled, double unit);

}  // namespace qkv::test
