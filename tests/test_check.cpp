// Marking of sheets, tried with pupils made of plain doubles: some make one known mistake and then
// work on correctly, some round as one does on paper, some slip in one cell.
//
// What a pupil writes is computed here, on its own, and never by the kernels or by the table of
// mistakes: a mistake that is misunderstood there would otherwise be recognised for the wrong reason.
// Every pupil has a bound within which rounding could explain the difference; a case counts only
// beyond it, so that each verdict is the only fair one.
//
// QKV_SHEETS sets the number of exercises, for runs longer than the usual few seconds.

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "pupils.h"
#include "support.h"

namespace qkv::test {
namespace {

// ---- Exercises ----------------------------------------------------------------------------------

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

// Weights rounded in their last digit move an output by as many units as the values in its column add
// up to; beyond ten a digit says nothing any more.
bool is_readable(const Matrix& v) { return v.cwiseAbs().colwise().sum().maxCoeff() < 10; }

Exercise drawn(Random& random) {
  Exercise e;
  const Index n = random.whole(3, 4);
  const Index d_k = random.whole(2, 4);
  Index m = n;
  if (random.whole(0, 2) == 0) {
    const Index d_model = random.whole(0, 1) == 0 ? d_k : random.whole(2, 4);
    e.x = whole_numbers(random, n, d_model, -1, 2);
    e.w_q = whole_numbers(random, d_model, d_k, -1, 1);
    e.w_k = whole_numbers(random, d_model, d_k, -1, 1);
    e.w_v = whole_numbers(random, d_model, d_k, -1, 2);
    e.w_o = whole_numbers(random, d_k, d_k, -1, 2);
    if (random.whole(0, 1) == 0) e.b_q = whole_numbers(random, 1, d_k, 1, 2);
  } else {
    if (random.whole(0, 3) == 0) m = 7 - n;  // 3 by 4, or 4 by 3
    e.q = whole_numbers(random, n, d_k);
    e.k = whole_numbers(random, m, d_k);
    e.v = whole_numbers(random, m, random.whole(0, 1) == 0 ? d_k : 2);
    if (random.whole(0, 4) == 0) e.bias = whole_numbers(random, n, m, -2, 0);
  }
  switch (random.whole(0, 5)) {
    case 0:
    case 1:
      if (m >= n) {  // every query sees a key
        e.open = causal_mask(n, m, m - n);
        e.is_causal = true;
      }
      break;
    case 2:
      e.open = Mask::Constant(n, m, true);
      e.open->col(m - 1).setConstant(false);  // padding
      break;
    case 3:
      if (m >= n) {
        e.open = causal_mask(n, m, m - n).array() && !causal_mask(n, m, m - n - 2).array();
        e.has_window = true;
      }
      break;
    default:
      break;
  }
  switch (random.whole(0, 11)) {
    case 0:
      e.sink = static_cast<double>(random.whole(-1, 2));
      break;
    case 1:
      if (e.open) e.cap = static_cast<double>(random.whole(2, 4));
      break;
    case 2:
    case 3:
      if (e.open) {  // one query sees nothing
        e.open->row(random.whole(0, n - 1)).setConstant(false);
        e.is_causal = e.has_window = false;
      }
      break;
    default:
      break;
  }
  return e;
}

Exercise exercise(Random& random) {
  for (;;) {
    const Exercise e = drawn(random);
    if (is_readable(e.has_x() ? Matrix(e.x * e.w_v) : e.v)) return e;
  }
}

Problem problem_of(const Exercise& e) {
  Sections sections;
  if (e.has_x()) {
    sections = {{"X", rows_of(e.x)},
                {"W_Q", rows_of(e.w_q)},
                {"W_K", rows_of(e.w_k)},
                {"W_V", rows_of(e.w_v)},
                {"W_O", rows_of(e.w_o)}};
    if (e.b_q.size() > 0) sections.emplace("b_Q", rows_of(e.b_q));
  } else {
    sections = {{"Q", rows_of(e.q)}, {"K", rows_of(e.k)}, {"V", rows_of(e.v)}};
    if (e.bias.size() > 0) sections.emplace("bias", rows_of(e.bias));
  }
  Problem problem = problem_at(e.has_x() ? Entry::x : Entry::qkv, std::move(sections));
  if (e.open) forbid(problem, *e.open);
  if (e.sink) problem.sink_logits = {exactly(*e.sink)};
  if (e.cap) problem.softcap = exactly(*e.cap);
  return problem;
}

// ---- Pupils --------------------------------------------------------------------------------------

// `weights`, with `row` in the rows of a table of scores that have no key.
Matrix where_empty(Matrix weights, const Matrix& z, const std::function<double(Index i, Index j)>& row) {
  for (Index i = 0; i < z.rows(); ++i) {
    for (Index j = 0; j < z.cols() && z.row(i).maxCoeff() == -kInfinity; ++j) weights(i, j) = row(i, j);
  }
  return weights;
}

// 0 in the hidden places.
Matrix kept(const Matrix& table, const Mask& open) {
  Matrix result = table;
  for (Index k = 0; k < result.size(); ++k) {
    if (!open(k)) result(k) = 0;
  }
  return result;
}

// A pupil's whole work; what `change` makes of a step is what the steps after it are computed from.
Work worked(const Exercise& e, const Change& change) {
  Work w;
  const auto put = [&](const char* step, const Matrix& value) -> const Matrix& {
    return w[step] = change(step, value);
  };
  Matrix q = e.q;
  Matrix k = e.k;
  Matrix v = e.v;
  if (e.has_x()) {
    Matrix product = e.x * e.w_q;
    if (e.b_q.size() > 0) product.rowwise() += e.b_q.row(0);
    q = put("Q", product);
    k = put("K", e.x * e.w_k);
    v = put("V", e.x * e.w_v);
  }
  const Matrix scores = put("scores", q * k.transpose());
  Matrix z = put("scaled", scores / e.root());
  if (e.cap) {
    z = z / *e.cap;
    for (Index i = 0; i < z.size(); ++i) z(i) = *e.cap * std::tanh(z(i));
    z = put("capped", z);
  }
  if (e.open || e.bias.size() > 0) {
    Matrix sum = z;
    if (e.bias.size() > 0) sum += e.bias;
    z = put("masked", e.open ? hidden(sum, *e.open) : sum);
  }
  const Matrix weights = put("weights", softmax(z, e.sink));
  const Matrix output = put("output", weights * v);
  if (e.has_x()) put("Y", output * e.w_o);
  return w;
}

Work right_work(const Exercise& e) {
  return worked(e, [](const std::string&, const Matrix& value) { return value; });
}

std::string text_of(const Exercise& e) {
  std::string text;
  const auto put = [&](const char* name, const Matrix& m) {
    if (m.size() == 0) return;
    text += fmt::format("[{}]", name);
    for (Index i = 0; i < m.rows(); ++i) {
      for (Index j = 0; j < m.cols(); ++j) text += fmt::format("{} {}", j == 0 && i > 0 ? " ;" : "", m(i, j));
    }
    text += "\n";
  };
  put("X", e.x);
  put("W_Q", e.w_q);
  put("W_K", e.w_k);
  put("W_V", e.w_v);
  put("W_O", e.w_o);
  put("b_Q", e.b_q);
  put("Q", e.q);
  put("K", e.k);
  put("V", e.v);
  put("bias", e.bias);
  if (e.open) put("open", e.open->cast<double>());
  if (e.sink) text += fmt::format("sink {}\n", *e.sink);
  if (e.cap) text += fmt::format("cap {}\n", *e.cap);
  return text;
}

const JudgedStep& judged(const Judgement& judgement, const Plan& plan, std::string_view id) {
  for (const JudgedStep& step : judgement.steps) {
    if (plan[step.node].id == id) return step;
  }
  FAIL("no such step on the sheet: ", std::string(id));
  return judgement.steps.front();
}

// ---- Mistakes, as pupils make them ---------------------------------------------------------------

struct Slip {
  const char* id;    // of the table of mistakes
  const char* step;  // where it is made
  // What is written there; empty where it cannot be made.
  std::function<Matrix(const Exercise&, const Work& right)> spoil;
};

const Matrix kNothing;

// What enters the softmax.
const Matrix& entering(const Work& w) {
  return w.contains("masked") ? w.at("masked") : w.contains("capped") ? w.at("capped") : w.at("scaled");
}
Matrix with_bias(const Exercise& e, const Matrix& z) { return e.bias.size() > 0 ? Matrix(z + e.bias) : z; }
Matrix with_mask(const Exercise& e, const Matrix& z) { return e.open ? hidden(z, *e.open) : z; }
Matrix weights_of_scaled(const Exercise& e, const Matrix& z) {
  return softmax(with_mask(e, with_bias(e, z)));
}

Mask mask_by(const Exercise& e, const std::function<bool(Index, Index)>& is_open) {
  Mask open(e.n(), e.m());
  for (Index i = 0; i < e.n(); ++i) {
    for (Index j = 0; j < e.m(); ++j) open(i, j) = is_open(i, j);
  }
  return open;
}

// Twice in the table: as a wrong scaled step, and as wrong weights.
void add_scaling(std::vector<Slip>& slips, const char* id,
                 const std::function<double(const Exercise&)>& factor) {
  slips.push_back({id, "scaled", [factor](const Exercise& e, const Work& right) -> Matrix {
                     return right.at("scores") * factor(e);
                   }});
  slips.push_back({id, "weights", [factor](const Exercise& e, const Work& right) -> Matrix {
                     return weights_of_scaled(e, right.at("scores") * factor(e));
                   }});
}

// The same for a table that enters the softmax in place of the masked one.
void add_masking(std::vector<Slip>& slips, const char* id,
                 const std::function<Matrix(const Exercise&, const Work&)>& masked) {
  const auto where_masked = [masked](const Exercise& e, const Work& right) -> Matrix {
    return e.open && e.bias.size() == 0 && !e.cap ? masked(e, right) : kNothing;
  };
  slips.push_back({id, "masked", where_masked});
  slips.push_back({id, "weights", [where_masked](const Exercise& e, const Work& right) -> Matrix {
                     return softmax(where_masked(e, right));
                   }});
}

void add_weights(std::vector<Slip>& slips, const char* id, const std::function<Matrix(const Matrix& z)>& f) {
  slips.push_back({id, "weights", [f](const Exercise&, const Work& right) { return f(entering(right)); }});
}

std::vector<Slip> slips() {
  std::vector<Slip> s;

  // Projections
  s.push_back({"M01", "K", [](const Exercise& e, const Work&) -> Matrix {
                 return e.has_x() && e.w_k.rows() == e.w_k.cols() ? Matrix(e.x * e.w_k.transpose())
                                                                  : kNothing;
               }});
  s.push_back({"M01", "V", [](const Exercise& e, const Work&) -> Matrix {
                 return e.has_x() && e.w_v.rows() == e.w_v.cols() ? Matrix(e.x * e.w_v.transpose())
                                                                  : kNothing;
               }});
  s.push_back({"M01", "Y", [](const Exercise& e, const Work& right) -> Matrix {
                 return e.has_x() ? Matrix(right.at("output") * e.w_o.transpose()) : kNothing;
               }});
  s.push_back({"M03", "Q", [](const Exercise& e, const Work&) -> Matrix {
                 return e.b_q.size() > 0 ? Matrix(e.x * e.w_q) : kNothing;
               }});
  s.push_back({"M55", "Y", [](const Exercise& e, const Work& right) -> Matrix {
                 return e.has_x() ? right.at("output") : kNothing;
               }});

  // Scores
  const auto q_of = [](const Exercise& e, const Work& w) -> Matrix { return e.has_x() ? w.at("Q") : e.q; };
  const auto k_of = [](const Exercise& e, const Work& w) -> Matrix { return e.has_x() ? w.at("K") : e.k; };
  const auto v_of = [](const Exercise& e, const Work& w) -> Matrix { return e.has_x() ? w.at("V") : e.v; };
  s.push_back({"M04", "scores", [=](const Exercise& e, const Work& w) -> Matrix {
                 return e.n() == e.m() ? Matrix(k_of(e, w) * q_of(e, w).transpose()) : kNothing;
               }});
  s.push_back({"M06", "scores", [=](const Exercise& e, const Work& w) -> Matrix {
                 return e.m() == e.d_k() ? Matrix(q_of(e, w) * k_of(e, w)) : kNothing;
               }});
  s.push_back({"M07", "scores", [=](const Exercise& e, const Work& w) -> Matrix {
                 const bool fits = e.n() == e.m() && e.m() == e.d_k();
                 return fits ? Matrix(q_of(e, w).cwiseProduct(k_of(e, w))) : kNothing;
               }});
  s.push_back({"M08", "scores", [](const Exercise&, const Work& w) -> Matrix {
                 Matrix scores = w.at("scores");
                 scores(1, 1) += 1;
                 return scores;
               }});
  s.push_back({"S3", "scores", [](const Exercise&, const Work& w) -> Matrix {
                 Matrix scores = w.at("scores");
                 std::swap(scores(1, 0), scores(1, 1));
                 return scores;
               }});
  s.push_back({"S4", "scores", [](const Exercise&, const Work& w) -> Matrix {
                 Matrix scores = w.at("scores");
                 scores.row(2) = w.at("scores").row(1);
                 return scores;
               }});
  s.push_back(
      {"S9", "scores", [](const Exercise&, const Work& w) -> Matrix { return w.at("scores") * -1.0; }});

  // Scaling
  add_scaling(s, "M09", [](const Exercise&) { return 1.0; });
  add_scaling(s, "M10", [](const Exercise& e) {
    return 1 / (e.has_x() ? std::sqrt(static_cast<double>(e.x.cols())) : e.root());
  });
  add_scaling(s, "M11", [](const Exercise& e) { return 1 / static_cast<double>(e.d_k()); });
  add_scaling(s, "M12", [](const Exercise& e) { return e.root(); });
  add_scaling(s, "M13", [](const Exercise& e) { return 1 / std::sqrt(static_cast<double>(e.m())); });
  s.push_back({"M14", "weights", [](const Exercise& e, const Work& w) -> Matrix {
                 return e.bias.size() == 0 ? Matrix(weights_of_scaled(e, w.at("scores")) / e.root())
                                           : kNothing;
               }});
  s.push_back({"M16", "masked", [](const Exercise& e, const Work& w) -> Matrix {
                 if (e.bias.size() == 0) return kNothing;
                 return with_mask(e, (w.at("scores") + e.bias) / e.root());
               }});

  // Masks
  s.push_back({"M17", "masked", [](const Exercise& e, const Work& w) -> Matrix {
                 return e.open && e.bias.size() == 0 ? hidden(w.at("scores"), *e.open) : kNothing;
               }});
  add_masking(s, "M18", [](const Exercise& e, const Work& w) {
    return hidden(w.at("scaled"), Mask(!e.open->array()));
  });
  s.push_back({"M19", "weights", [](const Exercise& e, const Work& w) -> Matrix {
                 return e.open && e.bias.size() == 0 ? kept(softmax(w.at("scaled")), *e.open) : kNothing;
               }});
  add_masking(s, "M20", [](const Exercise& e, const Work& w) { return kept(w.at("scaled"), *e.open); });
  add_masking(s, "M21", [](const Exercise& e, const Work& w) {
    return Matrix(w.at("scaled") + e.open->cast<double>());
  });
  add_masking(s, "M22", [](const Exercise& e, const Work& w) -> Matrix {
    const Index align = e.m() - e.n();
    return e.is_causal ? hidden(w.at("scaled"), mask_by(e, [=](Index i, Index j) { return j < i + align; }))
                       : kNothing;
  });
  add_masking(s, "M23", [](const Exercise& e, const Work& w) -> Matrix {
    const Index align = e.m() - e.n();
    return e.is_causal ? hidden(w.at("scaled"), mask_by(e, [=](Index i, Index j) { return j >= i + align; }))
                       : kNothing;
  });
  add_masking(s, "M24", [](const Exercise& e, const Work& w) -> Matrix {
    const bool is_padding = !e.is_causal && e.n() == e.m();
    return is_padding ? hidden(w.at("scaled"), Mask(e.open->transpose())) : kNothing;
  });
  add_masking(s, "M25", [](const Exercise& e, const Work& w) -> Matrix {
    return e.is_causal && e.n() < e.m()
               ? hidden(w.at("scaled"), mask_by(e, [](Index i, Index j) { return j <= i; }))
               : kNothing;
  });
  add_masking(s, "S5", [](const Exercise&, const Work& w) { return w.at("scaled"); });
  for (const Index keys : {1, 3}) {
    add_masking(s, "M26", [=](const Exercise& e, const Work& w) -> Matrix {
      const Index align = e.m() - e.n();
      const Mask open = mask_by(e, [=](Index i, Index j) { return j <= i + align && j > i + align - keys; });
      return e.has_window ? hidden(w.at("scaled"), open) : kNothing;
    });
  }
  s.push_back({"M27", "weights", [](const Exercise& e, const Work& w) -> Matrix {
                 const double share = 1 / static_cast<double>(e.m());
                 return where_empty(w.at("weights"), entering(w), [=](Index, Index) { return share; });
               }});
  s.push_back({"M27", "weights", [](const Exercise& e, const Work& w) -> Matrix {
                 const Matrix plain = softmax(with_bias(e, w.at("scaled")));
                 return where_empty(w.at("weights"), entering(w),
                                    [&](Index i, Index j) { return plain(i, j); });
               }});
  s.push_back({"M30", "weights", [](const Exercise&, const Work& w) -> Matrix {
                 return where_empty(w.at("weights"), entering(w), [](Index, Index) { return std::nan(""); });
               }});
  s.push_back({"M28", "masked", [](const Exercise& e, const Work& w) -> Matrix {
                 if (!e.open) return kNothing;
                 const Matrix closed = (!e.open->array()).cast<double>().matrix();
                 return kept(w.at("masked"), *e.open) - 1e9 * closed;
               }});
  s.push_back({"M69", "masked", [](const Exercise& e, const Work& w) -> Matrix {
                 if (!e.cap || e.bias.size() > 0) return kNothing;
                 const Matrix closed = (!e.open->array()).cast<double>().matrix();
                 return kept(w.at("capped"), *e.open) - *e.cap * closed;
               }});
  s.push_back({"M69", "weights", [](const Exercise& e, const Work& w) -> Matrix {
                 if (!e.cap || e.bias.size() > 0) return kNothing;
                 const Matrix closed = (!e.open->array()).cast<double>().matrix();
                 return softmax(kept(w.at("capped"), *e.open) - *e.cap * closed);
               }});

  // Softmax
  add_weights(s, "M32", [](const Matrix& z) -> Matrix {
    const Matrix e = exponentials(z);
    Matrix result = e;
    for (Index j = 0; j < e.cols(); ++j) {
      const double sum = e.col(j).sum();
      for (Index i = 0; i < e.rows(); ++i) result(i, j) = sum > 0 ? e(i, j) / sum : 0;
    }
    return result;
  });
  add_weights(s, "M33", [](const Matrix& z) -> Matrix { return exponentials(z) / exponentials(z).sum(); });
  add_weights(s, "M34", [](const Matrix& z) -> Matrix {
    return (z.array() > -kInfinity).all() ? Matrix(Matrix::Ones(z.rows(), z.cols())) : kNothing;
  });
  add_weights(s, "M35", [](const Matrix& z) -> Matrix {
    Matrix result = z;
    for (Index k = 0; k < z.size(); ++k) {
      if (std::isinf(z(k))) result(k) = 0;
    }
    for (Index i = 0; i < z.rows(); ++i) {
      const double sum = result.row(i).sum();
      if (std::abs(sum) < 1) return kNothing;  // nobody divides by 0, and 0.001 is mostly rounding
      result.row(i) /= sum;
    }
    return result;
  });
  add_weights(s, "M36", exponentials);
  add_weights(s, "S6",
              [](const Matrix& z) -> Matrix { return exponentials(z) / static_cast<double>(z.cols()); });
  add_weights(s, "M37", [](const Matrix& z) { return softmax(z * std::log(10.0)); });
  add_weights(s, "M37", [](const Matrix& z) { return softmax(z * std::log(2.0)); });
  add_weights(s, "M38", [](const Matrix& z) -> Matrix {
    Matrix minus = z;
    for (Index k = 0; k < z.size(); ++k) minus(k) = std::isinf(z(k)) ? z(k) : -z(k);
    return softmax(minus);
  });
  add_weights(s, "M39", [](const Matrix& z) -> Matrix {
    Matrix result = Matrix::Zero(z.rows(), z.cols());
    for (Index i = 0; i < z.rows(); ++i) {
      Index best = 0;
      if (z.row(i).maxCoeff(&best) == -kInfinity) return kNothing;
      for (Index j = 0; j < z.cols(); ++j) {
        if (j != best && z(i, best) - z(i, j) < 0.01) return kNothing;  // two share the first place
      }
      result(i, best) = 1;
    }
    return result;
  });
  s.push_back({"M40", "weights", [](const Exercise& e, const Work& w) -> Matrix {
                 return softmax(with_mask(e, softmax(entering(w))));
               }});
  add_weights(s, "M43", [](const Matrix& z) -> Matrix {
    if (z.rows() != z.cols()) return kNothing;
    Matrix shifted = z;
    if (z.rowwise().maxCoeff().minCoeff() == -kInfinity) return kNothing;
    for (Index j = 0; j < z.cols(); ++j) shifted.col(j).array() -= z.row(j).maxCoeff();
    return softmax(shifted);
  });
  add_weights(s, "M44", [](const Matrix& z) -> Matrix {
    if (z.rows() != z.cols()) return kNothing;
    const Matrix e = exponentials(z);
    Matrix result = e;
    if (e.rowwise().sum().minCoeff() == 0) return kNothing;
    for (Index j = 0; j < z.cols(); ++j) result.col(j) /= e.row(j).sum();
    return result;
  });
  for (const bool is_in_maximum : {false, true}) {
    s.push_back({"M42", "weights", [=](const Exercise& e, const Work& w) -> Matrix {
                   if (!e.sink) return kNothing;
                   Matrix shifted = entering(w);
                   for (Index i = 0; i < shifted.rows(); ++i) {
                     const double max = shifted.row(i).maxCoeff();
                     if (max > -kInfinity)
                       shifted.row(i).array() -= is_in_maximum ? std::max(max, *e.sink) : max;
                   }
                   return softmax(shifted, e.sink);
                 }});
  }
  for (const double p : {0.1, 0.5}) {
    s.push_back({"M50", "weights", [=](const Exercise&, const Work& w) -> Matrix {
                   Matrix result = w.at("weights") / (1 - p);
                   double dropped = 0;
                   for (Index i = 0; i < result.rows(); ++i) {
                     for (Index j = (2 * i + 1) % 3; j < result.cols(); j += 3) {
                       dropped = std::max(dropped, result(i, j));
                       result(i, j) = 0;
                     }
                   }
                   return dropped > 0.01 ? result : kNothing;
                 }});
  }

  s.push_back({"S2", "weights", [](const Exercise& e, const Work& w) -> Matrix {
                 return e.n() == e.m() ? Matrix(w.at("weights").transpose()) : kNothing;
               }});

  // The weighted sum
  s.push_back({"M05", "output", [=](const Exercise& e, const Work& w) -> Matrix {
                 return is_readable(k_of(e, w)) ? Matrix(w.at("weights") * k_of(e, w)) : kNothing;
               }});
  s.push_back({"M45", "output", [=](const Exercise& e, const Work& w) -> Matrix {
                 return e.n() == e.m() ? Matrix(w.at("weights").transpose() * v_of(e, w)) : kNothing;
               }});
  s.push_back({"M46", "output", [=](const Exercise& e, const Work& w) -> Matrix {
                 return e.open ? kNothing : softmax(entering(w) * v_of(e, w));
               }});
  s.push_back({"S7", "output", [=](const Exercise& e, const Work& w) -> Matrix {
                 const Matrix mean = v_of(e, w).colwise().mean();
                 return mean.replicate(e.n(), 1);
               }});
  s.push_back({"S8", "output", [=](const Exercise& e, const Work& w) -> Matrix {
                 return e.open ? kNothing : entering(w) * v_of(e, w);
               }});
  s.push_back({"M47", "output", [=](const Exercise& e, const Work& w) -> Matrix {
                 Matrix beyond = w.at("output");
                 for (Index i = 0; i < beyond.rows(); ++i) {
                   for (Index j = 0; j < beyond.cols(); ++j)
                     beyond(i, j) += 0.37 * static_cast<double>(3 * i + j) + v_of(e, w).col(j).maxCoeff() -
                                     v_of(e, w).col(j).minCoeff() + 1.23;
                 }
                 return beyond;
               }});
  return s;
}

// No honest rounding of this step and of those before it, to `unit`, moves a number of this step further.
// Weights move by at most half of what the scores do; a sum moves by its factors.
double reach(const Exercise& e, const Work& right, const std::string& step, double unit) {
  if (is_of_whole_numbers(step)) return 0.5;
  if (step == "scaled" || step == "masked") return 2 * unit;
  if (step == "weights") return 3 * unit;
  const Matrix v = e.has_x() ? right.at("V") : e.v;
  const double in_output = (v.cwiseAbs().colwise().sum().maxCoeff() + 3) * unit;
  if (step == "output") return in_output;
  return e.w_o.cwiseAbs().colwise().sum().maxCoeff() * in_output + 3 * unit;
}

// A root of d_k rounded to one decimal or more turns the scores into these numbers.
bool is_by_rounded_root(const Exercise& e, const Matrix& scores, const Matrix& scaled, double unit) {
  for (double tens = 10; tens < 1e7; tens *= 10) {
    const double root = std::round(e.root() * tens) / tens;
    if (((scores / root - scaled).array().abs() <= 0.51 * unit).all()) return true;
  }
  return false;
}

std::set<std::string> some_unwritten(Random& random, const Work& work, const std::string& step) {
  std::set<std::string> unwritten;
  if (step == "weights" && random.whole(0, 1) == 0) unwritten.insert("scaled");
  if (step == "weights" && (unwritten.contains("scaled") || random.whole(0, 1) == 0))
    unwritten.insert("masked");
  if (step == "scaled" && random.whole(0, 1) == 0) unwritten.insert("masked");
  std::erase_if(unwritten, [&](const std::string& name) { return !work.contains(name); });
  return unwritten;
}

TEST_CASE("a mistake is found at its step, called by its name, and held against nobody later on") {
  QKV_SAY_SEED();
  Random random(91);
  const std::vector<Slip> all = slips();
  Confusion confusion;
  constexpr int kDecimals = 3;
  const double unit = std::pow(10.0, -kDecimals);
  for (Index run = 0; run < sheets(40); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const Work right = right_work(e);
    for (const Slip& slip : all) {
      const std::string step = slip.step;
      if (!right.contains(step)) continue;
      const bool is_plain = !e.sink && !e.cap;
      const bool is_of_softmax = step == "masked" || step == "weights";
      const bool needs_more = slip.id == std::string("M42") || slip.id == std::string("M69");
      if (!is_plain && is_of_softmax && !needs_more) continue;
      const Matrix spoiled = slip.spoil(e, right);
      if (spoiled.rows() != right.at(step).rows() || spoiled.cols() != right.at(step).cols()) continue;
      if (!is_beyond(spoiled, right.at(step), reach(e, right, step, unit))) continue;
      if (step == "V" && !is_readable(spoiled)) continue;
      if (step == "scaled" && is_by_rounded_root(e, right.at("scores"), spoiled, unit)) continue;
      const Work work =
          worked(e, [&](const std::string& at, const Matrix& value) { return at == step ? spoiled : value; });
      const auto answers = sheet(truth.plan(), work, kDecimals, some_unwritten(random, work, step));
      const Judgement judgement = judge(truth, answers, kDecimals);

      confusion.add(slip.id, step, truth, judgement,
                    [&] { return text_of(e) + sheet_text(truth.plan(), answers); });
    }
  }
  confusion.check();
}

TEST_CASE(
    "every mistake of the table is made above, but for those that need very large scores, two masks or a "
    "system (test_check_systems.cpp)") {
  std::set<std::string> made;
  for (const Slip& slip : slips()) made.insert(slip.id);
  std::string others;
  for (const Mistake& mistake : mistakes()) {
    if (!made.contains(mistake.id)) others += std::string(mistake.id) + " ";
  }
  CHECK(others == "M51 M58 M59 M61 M60 M53 M56 M70 M62 M29 M54 M41 M66 M64 M63 M65 M52 ");
}

// ---- Right sheets -------------------------------------------------------------------------------

// Half a unit more or less is a tie; a double is not sure which.
double rounded_to(double value, int decimals) {
  const double tens = std::pow(10.0, decimals);
  return std::isfinite(value) ? std::round(value * tens) / tens : value;
}

// Not what a double lacks to a whole number of units.
Matrix cut_off_to(Matrix m, int decimals) {
  const double tens = std::pow(10.0, decimals);
  for (Index k = 0; k < m.size(); ++k) {
    if (std::isfinite(m(k))) m(k) = std::trunc(m(k) * tens * (1 + 1e-12)) / tens;
  }
  return m;
}

TEST_CASE("a right sheet is not accused, worked exactly, with every step rounded, or with digits cut off") {
  QKV_SAY_SEED();
  Random random(92);
  enum Way { exact, rounded_scaled, rounded_all, rounded_root, cut_off, all_cut_off };
  std::map<std::string, std::pair<int, int>> counts;  // accused, of
  std::vector<std::string> examples;
  int accused = 0;
  for (Index run = 0; run < sheets(300); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const int decimals = static_cast<int>(random.whole(2, 4));
    const Way way = static_cast<Way>(random.whole(0, 5));
    const Matrix scores = right_work(e).at("scores");
    Work work = worked(e, [&](const std::string& step, const Matrix& value) {
      Matrix result = value;
      if (way == all_cut_off) return cut_off_to(value, decimals);
      if (way == rounded_root && step == "scaled") result = scores / rounded_to(e.root(), decimals);
      if (way == exact || way == cut_off || (way == rounded_scaled && step != "scaled")) return result;
      for (Index k = 0; k < result.size(); ++k) result(k) = rounded_to(result(k), decimals);
      return result;
    });
    if (way == cut_off) {
      for (auto& [step, value] : work) value = cut_off_to(value, decimals);
    }
    std::set<std::string> unwritten;
    if (way != rounded_root && way != all_cut_off && random.whole(0, 1) == 0)
      unwritten = {"scaled", "masked"};
    const auto answers = sheet(truth.plan(), work, decimals, unwritten);
    const Judgement judgement = judge(truth, answers, decimals);
    const std::string kind = fmt::format("{}, {} decimals{}",
                                         way == exact            ? "exact"
                                         : way == rounded_scaled ? "scaled step rounded"
                                         : way == rounded_all    ? "every step rounded"
                                         : way == cut_off        ? "exact, digits cut off"
                                         : way == all_cut_off    ? "every step cut off"
                                                                 : "root and every step rounded",
                                         decimals, unwritten.empty() ? "" : ", no scaled step written");
    auto& [bad, of] = counts[kind];
    ++of;
    if (judgement.is_right()) {
      CHECK(judgement.points == judgement.of);
      continue;
    }
    ++accused;
    ++bad;
    if (bad > 1) continue;
    const JudgedStep* wrong = first_wrong(judgement);
    examples.push_back(kind + "\n" + text_of(e) + sheet_text(truth.plan(), answers) +
                       fmt::format("wrong in {}, row {}, column {}: expected {}; {}\n",
                                   truth.plan()[wrong->node].id, wrong->row + 1, wrong->col + 1,
                                   wrong->expected, list(wrong->mistakes)));
  }
  if (accused > 0) {
    std::string table = "accused, of:\n";
    for (const auto& [kind, count] : counts)
      table += fmt::format("  {:4} {:4}  {}\n", count.first, count.second, kind);
    for (const std::string& example : examples) table += example;
    MESSAGE(table);
  }
  CHECK(accused == 0);
}

// ---- One slip -----------------------------------------------------------------------------------

TEST_CASE("one number that no rounding explains is caught, there and nowhere else") {
  QKV_SAY_SEED();
  Random random(93);
  int altered = 0;
  int caught = 0;
  std::string examples;
  for (Index run = 0; run < sheets(300); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const int decimals = static_cast<int>(random.whole(2, 4));
    const double unit = std::pow(10.0, -decimals);
    const Work right = right_work(e);
    auto answers = sheet(truth.plan(), right, decimals);

    const auto chosen = std::next(answers.begin(), random.whole(0, static_cast<Index>(answers.size()) - 1));
    const std::string step = truth.plan()[chosen->first].id;
    const Index row = random.whole(0, chosen->second.rows - 1);
    const Index col = random.whole(0, chosen->second.cols - 1);
    Number& cell = chosen->second.cells[static_cast<std::size_t>(row * chosen->second.cols + col)];
    if (cell.kind != Number::Kind::finite) continue;
    const double units = is_of_whole_numbers(step) ? 1 : std::ceil(reach(e, right, step, unit) / unit) + 1;
    const double up = random.whole(0, 1) == 0 ? 1 : -1;
    const double by = up * (units + static_cast<double>(random.whole(0, 3)));
    const double value = cell.value + by * (is_of_whole_numbers(step) ? 1 : unit);
    Matrix numbers = doubles_of(chosen->second);
    numbers(row, col) = value;
    if (step == "scaled" && is_by_rounded_root(e, right.at("scores"), numbers, unit)) continue;
    cell = written(on_paper(value, is_of_whole_numbers(step) ? 0 : decimals));

    ++altered;
    const Judgement judgement = judge(truth, answers, decimals);
    const JudgedStep* wrong = first_wrong(judgement);
    const bool is_caught = wrong != nullptr && truth.plan()[wrong->node].id == step && wrong->row == row &&
                           wrong->col == col && (wrong->cells.array() == Verdict::wrong).count() == 1;
    const bool is_alone = std::count_if(judgement.steps.begin(), judgement.steps.end(),
                                        [](const JudgedStep& s) { return s.verdict == Verdict::wrong; }) <= 1;
    if (is_caught && is_alone) {
      ++caught;
      continue;
    }
    if (altered - caught > 5) continue;
    examples += fmt::format("{} ({}, {}) became {}\n", step, row + 1, col + 1, cell.text) + text_of(e) +
                sheet_text(truth.plan(), answers);
  }
  INFO(examples);
  CHECK(altered > 0);
  CHECK(caught == altered);
}

// ---- By hand ------------------------------------------------------------------------------------

// A sheet from a few lines: marked(problem, {{"scores", "1 2 ; 3 4"}, …})["scores"].
struct Marks {
  Trace truth;
  Judgement judgement;

  // "right rounded ; wrong carried"
  std::string operator[](std::string_view step) const {
    constexpr std::array<const char*, 5> kWords{"right", "rounded", "carried", "wrong", "blank"};
    const JudgedStep& s = judged(judgement, truth.plan(), step);
    std::string text;
    for (Index i = 0; i < s.cells.rows(); ++i) {
      for (Index j = 0; j < s.cells.cols(); ++j)
        text += std::string(j > 0   ? " "
                            : i > 0 ? " ; "
                                    : "") +
                kWords[static_cast<std::size_t>(s.cells(i, j))];
    }
    return text;
  }
  const JudgedStep& at(std::string_view step) const { return judged(judgement, truth.plan(), step); }
};

Marks marked(const Problem& problem, const std::vector<std::pair<std::string, std::string>>& answers) {
  Trace truth = traced(problem);
  std::map<NodeId, Given> given;
  for (const auto& [step, numbers] : answers)
    given.emplace(node_named(truth.plan(), step), rows_of(std::string_view(numbers)));
  Judgement judgement = judge(truth, std::move(given), 2);
  return {std::move(truth), std::move(judgement)};
}

// Scores 1 0 ; 0 2 with d_k = 3.
Problem narrow() {
  return problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 ; 0 1 0")}, {"K", rows_of("1 0 0 ; 0 2 0")}, {"V", rows_of("1 0 ; 0 1")}});
}

TEST_CASE("a whole number for a score is that number") {
  // 3 does not mean 2.5 to 3.5: then 6/√4 = 3 would be explained by any score from 5.5 to 6.5, and
  // the scaled 2.8 after a score of 6 too.
  const Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("1 1 1 1")}, {"K", rows_of("2 2 1 1 ; 1 0 0 0")}, {"V", rows_of("1 ; 2")}});
  CHECK(marked(p, {{"scores", "6 1"}, {"scaled", "3 0.5"}})["scaled"] == "right right");
  CHECK(marked(p, {{"scores", "6 1"}, {"scaled", "2.8 0.5"}})["scaled"] == "wrong right");
  CHECK(marked(p, {{"scores", "7 1"}, {"scaled", "3.5 0.5"}})["scaled"] == "carried right");
  CHECK(marked(p, {{"scores", "7 1"}, {"scaled", "3.4 0.5"}})["scaled"] == "wrong right");
}

TEST_CASE("a fraction or a root is exactly what it says") {
  // Scores 1 1 ; 1 1: the scaled ones are 1/√2 = √2/2, the weights a half.
  const Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("1 0 ; 1 0")}, {"K", rows_of("1 0 ; 1 0")}, {"V", rows_of("1 ; 0")}});
  CHECK(marked(p, {{"scaled", "sqrt(2)/2 1/sqrt(2) ; 0.707 0.71"}})["scaled"] == "right right ; right right");
  CHECK(marked(p, {{"scaled", "7/10 1/sqrt(2) ; 0.7 0.71"}})["scaled"] == "wrong right ; right right");
  CHECK(marked(p, {{"weights", "1/2 0.5 ; 50% 5e-1"}})["weights"] == "right right ; right right");
  CHECK(marked(p, {{"weights", "1/2 51/100 ; 0.50 0.5"}})["weights"] == "right wrong ; right right");

  const Problem thirds = problem_at(
      Entry::qkv,
      {{"Q", rows_of("0 0 ; 0 0")}, {"K", rows_of("1 0 ; 1 0 ; 2 2")}, {"V", rows_of("1 ; 0 ; 0")}});
  CHECK(marked(thirds, {{"weights", "1/3 1/3 1/3 ; 0.33 0.333 0.3"}})["weights"] ==
        "right right right ; right right right");
  CHECK(marked(thirds, {{"weights", "1/3 1/3 33/100 ; 0.33 0.333 0.3"}})["weights"] ==
        "right right wrong ; right right right");
}

TEST_CASE("a tie may go either way") {
  // The output is 1/8 = 0.125 in both rows.
  const Problem p =
      problem_at(Entry::weights, {{"weights", rows_of("1/2 1/2 ; 1/2 1/2")}, {"V", rows_of("1/4 ; 0")}});
  CHECK(marked(p, {{"output", "0.12 ; 0.13"}})["output"] == "right ; right");
  CHECK(marked(p, {{"output", "0.11 ; 0.14"}})["output"] == "wrong ; wrong");
  const Problem below =
      problem_at(Entry::weights, {{"weights", rows_of("1/2 1/2 ; 1/2 1/2")}, {"V", rows_of("-1/4 ; 0")}});
  CHECK(marked(below, {{"output", "-0.12 ; -0.13"}})["output"] == "right ; right");
}

TEST_CASE("one rounding of the root explains a scaled step, and is told") {
  // √3 = 1.7320508: 1/1.7 = 0.58824, 2/1.7 = 1.17647; 1/1.73 = 0.57803, 2/1.73 = 1.15607;
  // 1/√3 = 0.57735, 2/√3 = 1.15470.
  const Marks coarse = marked(narrow(), {{"scores", "1 0 ; 0 2"}, {"scaled", "0.588 0 ; 0 1.176"}});
  CHECK(coarse["scaled"] == "rounded right ; right rounded");
  CHECK(coarse.at("scaled").is_rounded_root);
  CHECK(coarse.at("scaled").root == "1.7");
  CHECK(coarse.judgement.is_right());
  CHECK(coarse.judgement.points == 2);

  const Marks fine = marked(narrow(), {{"scaled", "0.5780 0 ; 0 1.1561"}});
  CHECK(fine["scaled"] == "rounded right ; right rounded");
  CHECK(fine.at("scaled").root == "1.73");

  CHECK_FALSE(marked(narrow(), {{"scaled", "0.577 0 ; 0 1.155"}}).at("scaled").is_rounded_root);
  // One cell by 1.7 and the other by 1.73 is no rounding of one root.
  CHECK_FALSE(marked(narrow(), {{"scaled", "0.5882 0 ; 0 1.1561"}}).judgement.is_right());
  CHECK_FALSE(marked(narrow(), {{"scaled", "0.5774 0 ; 0 1.1561"}}).judgement.is_right());
  // Weights that follow from the coarse root are the pupil's own: e^0.588 / (e^0.588 + 1) = 0.64291.
  const Marks after =
      marked(narrow(), {{"scaled", "0.588 0 ; 0 1.176"}, {"weights", "0.643 0.357 ; 0.236 0.764"}});
  CHECK(after.judgement.is_right());
}

TEST_CASE("digits that were cut off are no mistake, and are told") {
  // 1/√3 = 0.57735, 2/√3 = 1.15470; e^0.57735/(e^0.57735 + 1) = 0.64046, e^1.1547/(e^1.1547 + 1) = 0.76036.
  const Marks cut =
      marked(narrow(), {{"scaled", "0.57 0 ; 0 1.15"}, {"weights", "0.640 0.359 ; 0.239 0.760"}});
  CHECK(cut["scaled"] == "rounded right ; right right");
  CHECK(cut.at("scaled").is_cut_off);
  CHECK(cut.at("scaled").expected == "0.58");
  CHECK(cut["weights"] == "right rounded ; rounded right");
  CHECK(cut.judgement.points == 2);
  // One unit too many is not cut off, and two too few are not either; nor is it a whole number.
  CHECK(marked(narrow(), {{"scaled", "0.57 0 ; 0 1.16"}})["scaled"] == "wrong right ; right wrong");
  CHECK(marked(narrow(), {{"scaled", "0.56 0 ; 0 1.15"}})["scaled"] == "wrong right ; right right");
  CHECK(marked(narrow(), {{"scores", "1 0 ; 0 1"}})["scores"] == "right right ; right wrong");
  // 1 − e^−21 is 0.9999999992 and is cut down to 0.999, but 1 is not.
  const Problem sure = problem_at(
      Entry::qkv, {{"Q", rows_of("1 0 0 0")}, {"K", rows_of("42 0 0 0 ; 0 0 0 0")}, {"V", rows_of("1 ; 0")}});
  CHECK(marked(sure, {{"weights", "0.999 0.000"}}).at("weights").is_cut_off);
  CHECK_FALSE(marked(narrow(), {{"scores", "0.9 0 ; 0 2"}}).judgement.is_right());
  // Towards zero.
  Problem p = narrow();
  p.given["K"] = rows_of("-1 0 0 ; 0 -2 0");
  CHECK(marked(p, {{"scaled", "-0.57 0 ; 0 -1.15"}}).at("scaled").is_cut_off);
  CHECK_FALSE(marked(p, {{"scaled", "-0.59 0 ; 0 -1.15"}}).judgement.is_right());
}

TEST_CASE("tokens in columns are a way to write, not a mistake") {
  // Square: scores 1 0 ; 2 2 transposed, and so on; e^0.577/(e^0.577 + 1) = 0.640.
  const Problem p = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 ; 2 2 0")}, {"K", rows_of("1 0 0 ; 0 1 0")}, {"V", rows_of("1 3 ; 2 7")}});
  const Marks square = marked(p, {{"scores", "1 2 ; 0 2"},
                                  {"weights", "0.640 0.500 ; 0.360 0.500"},
                                  {"output", "1.360 1.500 ; 4.438 5.000"}});
  CHECK(square.judgement.is_in_columns);
  CHECK(square.judgement.is_right());
  // One transposed table is the mistake of its step.
  const Marks one = marked(p, {{"scores", "1 2 ; 0 2"}, {"scaled", "0.577 1.155 ; 0 1.155"}});
  CHECK_FALSE(one.judgement.is_in_columns);
  CHECK(list(one.at("scores").mistakes) == "M04");
  CHECK(one["scaled"] == "right carried ; carried right");
}

TEST_CASE("a weight taken the other way round is a habit") {
  // Q, K and V all use their weight transposed, and only the output is handed in.
  const Matrix x = matrix("1 0 ; 0 1 ; 2 1");
  const Matrix w_q = matrix("1 1 ; 0 2");
  const Matrix w_k = matrix("0 1 ; 2 1");
  const Matrix w_v = matrix("2 1 ; 0 1");
  const Matrix scores = x * w_q.transpose() * (x * w_k.transpose()).transpose();
  const Matrix output = softmax(scores / std::sqrt(2.0)) * x * w_v.transpose();
  std::string sheet;
  for (Index i = 0; i < 3; ++i)
    sheet += fmt::format("{}{:.4f} {:.4f}", i > 0 ? " ; " : "", output(i, 0), output(i, 1));
  const Problem p = problem_at(
      Entry::x, {{"X", rows_of(x)}, {"W_Q", rows_of(w_q)}, {"W_K", rows_of(w_k)}, {"W_V", rows_of(w_v)}});
  CHECK(list(marked(p, {{"output", sheet}}).at("output").mistakes) == "M01");
}

TEST_CASE("infinities and nan of a program are known by where they come from") {
  // Scores 800 799: e^800 is beyond double precision, and ∞/∞ is nan.
  const Problem large = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 0")}, {"K", rows_of("1600 0 0 0 ; 1598 0 0 0")}, {"V", rows_of("1 ; 3")}});
  const Marks doubles = marked(large, {{"weights", "nan nan"}, {"output", "nan"}});
  CHECK(list(doubles.at("weights").mistakes) == "M41");
  CHECK(doubles["output"] == "carried");
  // 100 is beyond single precision alone, and −1 is not.
  const Problem single = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 0")}, {"K", rows_of("200 0 0 0 ; -2 0 0 0")}, {"V", rows_of("1 ; 3")}});
  CHECK(list(marked(single, {{"weights", "nan 0"}}).at("weights").mistakes) == "M41");
  CHECK(list(marked(single, {{"weights", "0 nan"}}).at("weights").mistakes) == "none");

  // 256² = 65536 is beyond half precision.
  const Problem half = problem_at(
      Entry::qkv,
      {{"Q", rows_of("256 0")}, {"K", rows_of("256 0 ; -256 0 ; 1 0")}, {"V", rows_of("1 ; 2 ; 3")}});
  CHECK(list(marked(half, {{"scores", "inf -inf 256"}}).at("scores").mistakes) == "M70");
  CHECK(list(marked(half, {{"scores", "inf -inf inf"}}).at("scores").mistakes) == "none");

  // Where nan is the truth it is right.
  Problem empty = narrow();
  forbid(empty, mask_of("0 0 ; 1 1"));
  empty.empty_row = EmptyRow::nan;
  CHECK(marked(empty, {{"weights", "nan nan ; 0.240 0.760"}})["weights"] == "right right ; right right");
}

TEST_CASE("finite numbers in place of minus infinity are known by whom they let back in") {
  // Scores 10002 1, key 1 hidden by −10000: 2 and 1 remain; e/(e + 1) = 0.731.
  Problem large = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 0")}, {"K", rows_of("20004 0 0 0 ; 2 0 0 0")}, {"V", rows_of("1 ; 3")}});
  forbid(large, mask_of("0 1"));
  CHECK(list(marked(large, {{"weights", "0.731 0.269"}}).at("weights").mistakes) == "M28");

  // Three equal scores, key 2 hidden twice, keys 1 and 3 once.
  Problem empty = problem_at(
      Entry::qkv, {{"Q", rows_of("0 0")}, {"K", rows_of("1 0 ; 0 1 ; 1 1")}, {"V", rows_of("1 ; 2 ; 3")}});
  forbid(empty, mask_of("0 0 0"));
  CHECK(list(marked(empty, {{"weights", "0.5 0 0.5"}}).at("weights").mistakes) == "M29");
}

TEST_CASE("an average lies between the least and the largest of its values") {
  const Problem p = narrow();
  CHECK(list(marked(p, {{"output", "3.11 0.36 ; 0.24 1.87"}}).at("output").mistakes) == "M47");
  CHECK(list(marked(p, {{"output", "0.11 0.36 ; 0.24 0.17"}}).at("output").mistakes) == "none");
}

TEST_CASE("a copy of what is given earns nothing") {
  const Marks marks = marked(narrow(), {{"Q", "1 0 0 ; 0 1 0"}, {"scores", "1 0 ; 0 2"}});
  CHECK(marks["Q"] == "right right right ; right right right");
  CHECK(marks.judgement.points == 1);
  CHECK(marks.judgement.of == 1);
}

TEST_CASE("dividing by a whole number is no rounding of the root") {
  // √2 = 1.41 is not 1: that is the forgotten root; √3 is not 2: that is the root of four keys.
  const Problem two = problem_at(
      Entry::qkv, {{"Q", rows_of("1 0 ; 0 1")}, {"K", rows_of("1 0 ; 0 2")}, {"V", rows_of("1 ; 0")}});
  const Marks unscaled = marked(two, {{"scores", "1 0 ; 0 2"}, {"scaled", "1 0 ; 0 2"}});
  CHECK(unscaled["scaled"] == "wrong right ; right wrong");
  CHECK(list(unscaled.at("scaled").mistakes) == "M09");
  CHECK(marked(narrow(), {{"scaled", "0.5 0 ; 0 1"}})["scaled"] == "wrong right ; right wrong");
}

TEST_CASE("a blank is not wrong, but earns nothing") {
  const Marks marks =
      marked(narrow(), {{"scores", "1 0 ; 0 2"}, {"scaled", "0.577 _ ; 0 1.155"}, {"weights", "_ _ ; _ _"}});
  CHECK(marks["scaled"] == "right blank ; right right");
  CHECK(marks.at("scaled").verdict == Verdict::right);
  CHECK(marks.at("weights").verdict == Verdict::blank);
  CHECK(marks.judgement.is_right());
  CHECK(marks.judgement.points == 1);
  CHECK(marks.judgement.of == 3);
}

TEST_CASE("what follows from a sheet of zeros shows no work") {
  // All scores 0: uniform weights follow, and the plain mean; right carrying, worth nothing.
  const Marks marks = marked(narrow(), {{"scores", "0 0 ; 0 0"},
                                        {"scaled", "0 0 ; 0 0"},
                                        {"weights", "0.5 0.5 ; 0.5 0.5"},
                                        {"output", "0.5 0.5 ; 0.5 0.5"}});
  CHECK(marks["scores"] == "wrong right ; right wrong");
  CHECK(marks["weights"] == "carried carried ; carried carried");
  CHECK(marks["output"] == "carried carried ; carried carried");
  CHECK(marks.at("scores").is_trivial);
  CHECK(marks.judgement.points == 0);
  CHECK(marks.judgement.of == 4);

  // One wrong score, carried with care, costs one point alone.  1/√3 = 0.577, 3/√3 = 1.732;
  // e^1.732 / (e^1.732 + 1) = 0.850; 0.640 as it was.
  const Marks honest = marked(narrow(), {{"scores", "1 0 ; 0 3"},
                                         {"scaled", "0.577 0 ; 0 1.732"},
                                         {"weights", "0.640 0.360 ; 0.150 0.850"},
                                         {"output", "0.640 0.360 ; 0.150 0.850"}});
  CHECK(honest["scaled"] == "right right ; right carried");
  CHECK(honest["weights"] == "right right ; carried carried");
  CHECK(honest.judgement.points == 3);
  CHECK(honest.at("scores").expected == "2.00");
}

TEST_CASE("minus infinity stands where the mask hides, and only there") {
  // Scores 2 2 ; 2 2 over √4.
  Problem p = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 1 0 0 ; 1 1 0 0")}, {"K", rows_of("1 1 0 0 ; 1 1 0 0")}, {"V", rows_of("1 ; 3")}});
  forbid(p, causal_mask(2, 2, 0));
  const Marks good =
      marked(p, {{"masked", "1 -inf ; 1 1"}, {"weights", "1 0 ; 0.5 0.5"}, {"output", "1 ; 2"}});
  CHECK(good["masked"] == "right right ; right right");
  CHECK(good["output"] == "right ; right");
  CHECK(marked(p, {{"masked", "1 1 ; 1 1"}})["masked"] == "right wrong ; right right");
  CHECK(marked(p, {{"masked", "1 -inf ; -inf 1"}})["masked"] == "right right ; wrong right");
  CHECK(marked(p, {{"masked", "1 inf ; 1 1"}})["masked"] == "right wrong ; right right");

  // 0 in place of −∞: e / (e + 1) = 0.731 and 0.731 + 3·0.269 = 1.538 follow.
  const Marks zero =
      marked(p, {{"masked", "1 0 ; 1 1"}, {"weights", "0.731 0.269 ; 0.5 0.5"}, {"output", "1.538 ; 2"}});
  CHECK(list(zero.at("masked").mistakes).starts_with("M20"));
  CHECK(zero["weights"] == "carried carried ; right right");
  CHECK(zero["output"] == "carried ; right");
  CHECK(zero.judgement.points == 2);
}

TEST_CASE("weights too coarse to say anything about the output excuse nothing in it") {
  // Weights 0.3 mean 0.25 to 0.35; times 40 the output lies somewhere from 10 to 14, in 40 units of 0.1.
  // True: 40/3 = 13.333; of the weights as written: 12.
  const Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("0 0")}, {"K", rows_of("1 0 ; 0 1 ; 1 1")}, {"V", rows_of("40 ; 0 ; 0")}});
  CHECK(marked(p, {{"weights", "0.3 0.3 0.3"}, {"output", "13.3"}})["output"] == "right");
  CHECK(marked(p, {{"weights", "0.3 0.3 0.3"}, {"output", "12.7"}})["output"] == "wrong");
  // With V = 4 the range is 0.4 wide, four units: 0.3 · 4 = 1.2 is honest.  True: 1.333.
  Problem mild = p;
  mild.given["V"] = rows_of("4 ; 0 ; 0");
  CHECK(marked(mild, {{"weights", "0.3 0.3 0.3"}, {"output", "1.2"}})["output"] == "rounded");
  CHECK(marked(mild, {{"weights", "0.3 0.3 0.3"}, {"output", "1.5"}})["output"] == "wrong");
}

TEST_CASE("weights rounded before use explain the output") {
  // Three equal keys: 0.33 · 3 + 0.33 · 6 + 0.33 · 9 = 5.94; true is 6.
  const Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("0 0")}, {"K", rows_of("1 0 ; 0 1 ; 1 1")}, {"V", rows_of("3 ; 6 ; 9")}});
  const Marks marks = marked(p, {{"weights", "0.33 0.33 0.33"}, {"output", "5.94"}});
  CHECK(marks["weights"] == "right right right");
  CHECK(marks["output"] == "rounded");
  CHECK(marks.judgement.is_right());
  CHECK(marks.judgement.points == 2);
  CHECK(marked(p, {{"weights", "0.33 0.33 0.33"}, {"output", "5.80"}})["output"] == "wrong");
}

}  // namespace
}  // namespace qkv::test
