#include "pupils.h"

#include <algorithm>

namespace qkv::test {

// ---- Exercises ----------------------------------------------------------------------------------

Matrix whole_numbers(Random& random, Index rows, Index cols, Index least, Index most) {
  Matrix m(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) m(i, j) = static_cast<double>(random.whole(least, most));
  }
  return m;
}

namespace {

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

}  // namespace

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

Matrix hidden(const Matrix& scores, const Mask& open) {
  Matrix result = scores;
  for (Index k = 0; k < result.size(); ++k) {
    if (!open(k)) result(k) = -kInfinity;
  }
  return result;
}

Matrix exponentials(const Matrix& z) {
  Matrix result(z.rows(), z.cols());
  for (Index k = 0; k < z.size(); ++k) result(k) = std::exp(z(k));
  return result;
}

Matrix softmax(const Matrix& z, std::optional<double> sink) {
  Matrix e = exponentials(z);
  for (Index i = 0; i < e.rows(); ++i) {
    const double sum = e.row(i).sum() + (sink ? std::exp(*sink) : 0);
    for (Index j = 0; j < e.cols() && sum > 0; ++j) e(i, j) = e(i, j) / sum;
  }
  return e;
}

namespace {

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

}  // namespace

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

namespace {

bool is_whole(const Matrix& m) {
  return (m.array() == m.array().round()).all() && (m.array().abs() < kInfinity).all();
}

}  // namespace

std::string on_paper(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{:.{}f}", value, decimals);
}

bool is_beyond(const Matrix& a, const Matrix& b, double reach) {
  for (Index k = 0; k < a.size(); ++k) {
    if (std::isnan(a(k)) && std::isnan(b(k))) continue;
    if (a(k) != b(k) && !(std::abs(a(k) - b(k)) <= reach)) return true;
  }
  return false;
}

std::string name_of(const std::string& step) { return step.substr(step.find_last_of('.') + 1); }

bool is_of_whole_numbers(const std::string& step) {
  const std::string name = name_of(step);
  return name == "Q" || name == "K" || name == "V" || name == "scores";
}

std::map<NodeId, Given> sheet(const Plan& plan, const Work& work, int decimals,
                              const std::set<std::string>& unwritten) {
  std::map<NodeId, Given> answers;
  for (const auto& [step, value] : work) {
    if (unwritten.contains(step)) continue;
    const bool is_short = is_of_whole_numbers(step) && is_whole(value);
    Given given{
        .rows = value.rows(), .cols = value.cols(), .cells = {}, .row_labels = {}, .source = {}, .span = {}};
    for (Index i = 0; i < value.rows(); ++i) {
      for (Index j = 0; j < value.cols(); ++j)
        given.cells.push_back(written(on_paper(value(i, j), is_short ? 0 : decimals)));
    }
    answers.emplace(node_named(plan, step), std::move(given));
  }
  return answers;
}

std::string text_of(const Plan& plan, const std::map<NodeId, Given>& answers) {
  std::string text;
  for (const auto& [node, given] : answers) {
    text += "[" + plan[node].id + "]\n";
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) text += (j > 0 ? " " : "") + given.at(i, j).text;
      text += "\n";
    }
  }
  return text;
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

// ---- Mistakes, as pupils make them ---------------------------------------------------------------

namespace {

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

}  // namespace

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

double reach(const Exercise& e, const Work& right, const std::string& step, double unit) {
  if (is_of_whole_numbers(step)) return 0.5;
  if (step == "scaled" || step == "masked") return 2 * unit;
  if (step == "weights") return 3 * unit;
  const Matrix v = e.has_x() ? right.at("V") : e.v;
  const double in_output = (v.cwiseAbs().colwise().sum().maxCoeff() + 3) * unit;
  if (step == "output") return in_output;
  return e.w_o.cwiseAbs().colwise().sum().maxCoeff() * in_output + 3 * unit;
}

namespace {}  // namespace

bool is_by_rounded_root(const Exercise& e, const Matrix& scores, const Matrix& scaled, double unit) {
  for (double tens = 10; tens < 1e7; tens *= 10) {
    const double root = std::round(e.root() * tens) / tens;
    if (((scores / root - scaled).array().abs() <= 0.51 * unit).all()) return true;
  }
  return false;
}

std::optional<Work> spoiled_work(const Exercise& e, const Slip& slip, const Work& right, double unit) {
  const std::string step = slip.step;
  if (!right.contains(step)) return std::nullopt;
  const bool is_plain = !e.sink && !e.cap;
  const bool is_of_softmax = step == "masked" || step == "weights";
  const bool needs_more = slip.id == std::string("M42") || slip.id == std::string("M69");
  if (!is_plain && is_of_softmax && !needs_more) return std::nullopt;
  const Matrix spoiled = slip.spoil(e, right);
  if (spoiled.rows() != right.at(step).rows() || spoiled.cols() != right.at(step).cols()) return std::nullopt;
  if (!is_beyond(spoiled, right.at(step), reach(e, right, step, unit))) return std::nullopt;
  if (step == "V" && !is_readable(spoiled)) return std::nullopt;
  if (step == "scaled" && is_by_rounded_root(e, right.at("scores"), spoiled, unit)) return std::nullopt;
  return worked(e, [&](const std::string& at, const Matrix& value) { return at == step ? spoiled : value; });
}

}  // namespace qkv::test
