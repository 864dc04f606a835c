// Marking of sheets about whole systems: several heads, shared keys and values, rotary positions, ALiBi,
// tiles.  As in test_check.cpp the pupils are plain doubles and know nothing of the kernels or of the table
// of mistakes.

#include <array>
#include <complex>
#include <utility>

#include "confusion.h"
#include "pupils.h"
#include "reading.h"
#include "support.h"

namespace qkv::test {
namespace {

constexpr int kDecimals = 3;
constexpr double kRopeBase = 100;

enum class Kind { heads, groups, rope_half, rope_interleaved, alibi, tiles };

struct System {
  Kind kind = Kind::heads;
  Index heads = 1;
  Index kv_heads = 1;
  Matrix q, k, v;            // of all heads side by side
  Matrix w_o;                // or empty
  std::optional<Mask> open;  // [n, n]
  std::string mask = "none";
  std::optional<double> cap;
  bool are_groups_tiled = false;  // 1 2 1 2, which is wrong

  Index n() const { return q.rows(); }
  Index d() const { return q.cols() / heads; }
  bool has_rope() const { return kind == Kind::rope_half || kind == Kind::rope_interleaved; }
  bool is_interleaved() const { return kind == Kind::rope_interleaved; }
  Index group(Index head) const { return are_groups_tiled ? head % kv_heads : head / (heads / kv_heads); }
  double slope(Index head) const {
    return std::pow(2.0, -8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
  }

  // "h2." and "g1.", or "" where there is one head.
  std::string of_queries(Index head) const { return heads == 1 ? "" : fmt::format("h{}.", head + 1); }
  std::string of_keys(Index head) const {
    return heads == kv_heads ? of_queries(head) : fmt::format("g{}.", group(head) + 1);
  }
};

// Heads of four columns.  A score of turned vectors moves by as many units as their numbers add up to when
// these are rounded in their last digit; beyond ten a digit says nothing any more.
Matrix to_be_turned(Random& random, Index n, Index heads) {
  Matrix x(n, 4 * heads);
  for (Index h = 0; h < heads; ++h) {
    Matrix part;
    do part = whole_numbers(random, n, 4, -1, 1);
    while (part.cwiseAbs().rowwise().sum().maxCoeff() > 3);
    x.middleCols(4 * h, 4) = part;
  }
  return x;
}

System drawn(Random& random, Kind kind) {
  System s;
  s.kind = kind;
  s.heads = kind == Kind::groups                         ? 4
            : kind == Kind::heads || kind == Kind::alibi ? 2
            : kind == Kind::tiles                        ? 1
                                                         : random.whole(1, 2);
  s.kv_heads = kind == Kind::groups ? 2 : s.heads;
  const Index n = kind == Kind::tiles ? 4 : 3;
  const Index d = s.has_rope() ? 4 : 2;
  s.q = s.has_rope() ? to_be_turned(random, n, s.heads) : whole_numbers(random, n, s.heads * d);
  s.k = s.has_rope() ? to_be_turned(random, n, s.kv_heads) : whole_numbers(random, n, s.kv_heads * d);
  s.v = whole_numbers(random, n, s.kv_heads * 2, -1, kind == Kind::tiles ? 1 : 2);
  if (kind == Kind::heads) s.w_o = whole_numbers(random, 4, 4, -1, 2);
  const Index window = random.whole(0, 2) == 0 ? 2 : n;
  if (random.whole(0, 2) > 0) {
    s.open = causal_mask(n, n, 0).array() && !causal_mask(n, n, -window).array();
    s.mask = window == n ? "causal" : "window:2";
    if (random.whole(0, 2) == 0 && kind != Kind::tiles) s.cap = 3;
  }
  return s;
}

std::string section(const char* name, const Matrix& m) {
  std::string text = fmt::format("[{}]\n", name);
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) text += fmt::format("{}{}", m(i, j), j + 1 == m.cols() ? "\n" : " ");
  }
  return text;
}

std::string text_of(const System& s) {
  std::string text = fmt::format("mask = {}\nheads = {}\n", s.mask, s.heads);
  if (s.kind == Kind::groups) text += fmt::format("kv_heads = {}\n", s.kv_heads);
  if (s.has_rope())
    text +=
        fmt::format("rope = {}\nrope_base = {}\n", s.is_interleaved() ? "interleaved" : "half", kRopeBase);
  if (s.kind == Kind::alibi) text += "alibi = on\n";
  if (s.kind == Kind::tiles) text += "tile = 2x2\n";
  if (s.cap) text += fmt::format("softcap = {}\n", *s.cap);
  text += section("Q", s.q) + section("K", s.k) + section("V", s.v);
  return text + (s.w_o.size() > 0 ? section("W_O", s.w_o) : "");
}

Trace truth_of(const System& s) {
  const Reading reading = read_text(text_of(s));
  INFO(text_of(s), reading.told());
  REQUIRE(reading.problem);
  return traced(*reading.problem);
}

// ---- Pupils --------------------------------------------------------------------------------------

double angle(double position, Index pair, Index d) {
  return position / std::pow(kRopeBase, 2.0 * static_cast<double>(pair) / static_cast<double>(d));
}

// Each pair of columns as a complex number, turned by its angle.
Matrix turned(const Matrix& x, bool is_interleaved,
              const std::function<double(Index row, Index pair)>& angles) {
  Matrix result = x;
  const Index pairs = x.cols() / 2;
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index i = 0; i < pairs; ++i) {
      const Index a = is_interleaved ? 2 * i : i;
      const Index b = is_interleaved ? 2 * i + 1 : i + pairs;
      const std::complex<double> z = std::complex<double>(x(t, a), x(t, b)) * std::polar(1.0, angles(t, i));
      result(t, a) = z.real();
      result(t, b) = z.imag();
    }
  }
  return result;
}
Matrix turned(const Matrix& x, bool is_interleaved) {
  return turned(x, is_interleaved,
                [&](Index t, Index i) { return angle(static_cast<double>(t), i, x.cols()); });
}

Matrix bias_of(Index n, double slope) {
  Matrix bias(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) bias(i, j) = -slope * static_cast<double>(std::abs(i - j));
  }
  return bias;
}

// The work of a pupil; what `change` makes of a step is what the steps after it are computed from.
class Pupil {
 public:
  Pupil(const System& system, const Change& change) : s_(system), change_(change) {}

  Work work() {
    if (s_.kind == Kind::tiles) {
      tiles();
      return std::move(work_);
    }
    Matrix joined(s_.n(), 2 * s_.heads);
    for (Index h = 0; h < s_.heads; ++h) joined.middleCols(2 * h, 2) = head(h);
    if (s_.heads > 1) put("concat", joined);
    if (s_.w_o.size() > 0) put("Y", work_.at("concat") * s_.w_o);
    return std::move(work_);
  }

 private:
  const Matrix& put(const std::string& step, const Matrix& value) {
    if (!work_.contains(step)) work_[step] = change_(step, value);
    return work_.at(step);
  }

  Matrix part(const std::string& prefix, const char* name, const Matrix& wide, Index index, Index width) {
    const Matrix columns = wide.middleCols(index * width, width);
    Matrix result = s_.heads > 1 ? put(prefix + name, columns) : columns;
    if (!s_.has_rope() || name == std::string("V")) return result;
    return put(prefix + name + ".rotated", turned(result, s_.is_interleaved()));
  }

  Matrix head(Index h) {
    const std::string prefix = s_.of_queries(h);
    const Matrix q = part(prefix, "Q", s_.q, h, s_.d());
    const Matrix k = part(s_.of_keys(h), "K", s_.k, s_.group(h), s_.d());
    const Matrix v = part(s_.of_keys(h), "V", s_.v, s_.group(h), 2);
    Matrix z = put(prefix + "scores", q * k.transpose());
    z = put(prefix + "scaled", z / std::sqrt(static_cast<double>(s_.d())));
    if (s_.cap) z = put(prefix + "capped", *s_.cap * (z / *s_.cap).array().tanh().matrix());
    if (s_.kind == Kind::alibi) z += put(prefix + "bias", bias_of(s_.n(), s_.slope(h)));
    if (s_.open) z = hidden(z, *s_.open);
    if (s_.open || s_.kind == Kind::alibi) z = put(prefix + "masked", z);
    const Matrix weights = put(prefix + "weights", softmax(z));
    return put(prefix + "output", weights * v);
  }

  // Blocks of 2 by 2; those without an open cell are skipped.
  void tiles() {
    int number = 0;
    Matrix all(4, 2);
    for (Index row = 0; row < 4; row += 2) {
      Matrix max = Matrix::Constant(2, 1, -kInfinity);
      Matrix sum = Matrix::Zero(2, 1);
      Matrix acc = Matrix::Zero(2, 2);
      bool is_first = true;
      std::string prefix;
      for (Index col = 0; col < 4; col += 2) {
        if (s_.open && !s_.open->block(row, col, 2, 2).any()) continue;
        prefix = fmt::format("b{}.", ++number);
        Matrix z = put(prefix + "scores", s_.q.middleRows(row, 2) * s_.k.middleRows(col, 2).transpose());
        z = put(prefix + "scaled", z / std::sqrt(2.0));
        if (s_.open) z = put(prefix + "masked", hidden(z, s_.open->block(row, col, 2, 2)));
        const Matrix old = max;
        max = put(prefix + "max", old.cwiseMax(z.rowwise().maxCoeff()));
        Matrix shifted = z;
        Matrix rescale(2, 1);
        for (Index i = 0; i < 2; ++i) {
          for (Index j = 0; j < 2; ++j) shifted(i, j) = std::isinf(z(i, j)) ? z(i, j) : z(i, j) - max(i);
          rescale(i) = std::isinf(old(i)) ? 0 : std::exp(old(i) - max(i));
        }
        const Matrix e = put(prefix + "exp", exponentials(put(prefix + "shifted", shifted)));
        if (!is_first) rescale = put(prefix + "rescale", rescale);
        sum = put(prefix + "sum", rescale.cwiseProduct(sum) + e.rowwise().sum());
        acc = put(prefix + "acc", rescale.asDiagonal() * acc + e * s_.v.middleRows(col, 2));
        is_first = false;
      }
      Matrix output(2, 2);
      for (Index i = 0; i < 2; ++i) output.row(i) = acc.row(i) / sum(i);
      all.middleRows(row, 2) = put(prefix + "output", output);
    }
    put("output", all);
  }

  const System& s_;
  const Change& change_;
  Work work_;
};

Work worked(const System& s, const Change& change) { return Pupil(s, change).work(); }
Work right_work(const System& s) {
  return worked(s, [](const std::string&, const Matrix& value) { return value; });
}

// ---- Mistakes, as pupils make them ---------------------------------------------------------------

struct Slip {
  const char* id;
  const char* name;  // of the steps where it is made: "scores" of every head
  // What is written there; empty where it cannot be made.  `prefix` is the step's, `part` the number of its
  // head or group, from 0.
  std::function<Matrix(const System&, const Work& right, const std::string& prefix, Index part)> spoil;
};

const Matrix kNothing;

Matrix entering(const Work& w, const std::string& prefix) {
  return w.contains(prefix + "masked")   ? w.at(prefix + "masked")
         : w.contains(prefix + "capped") ? w.at(prefix + "capped")
                                         : w.at(prefix + "scaled");
}

// Rows of a matrix one after the other, cut at other places.
Matrix recut(const std::vector<double>& list, Index first, Index rows, Index cols) {
  Matrix result(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) result(i, j) = list[static_cast<std::size_t>(first + i * cols + j)];
  }
  return result;
}
std::vector<double> flat(const Matrix& m) {
  std::vector<double> list;
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) list.push_back(m(i, j));
  }
  return list;
}

Matrix cut_without_transpose(const Matrix& wide, Index parts, Index part) {
  const Index width = wide.cols() / parts;
  return recut(flat(wide), part * wide.rows() * width, wide.rows(), width);
}

void add_rotation(std::vector<Slip>& slips, const char* id,
                  const std::function<Matrix(const System&, const Matrix& x)>& f) {
  for (const char* name : {"Q", "K"}) {
    const bool is_q = name == std::string("Q");
    slips.push_back({id, is_q ? "Q.rotated" : "K.rotated",
                     [=](const System& s, const Work&, const std::string&, Index part) {
                       return f(s, (is_q ? s.q : s.k).middleCols(part * s.d(), s.d()));
                     }});
  }
}

std::vector<Slip> slips() {
  std::vector<Slip> s;
  s.push_back({"M51", "Q", [](const System& e, const Work&, const std::string&, Index part) {
                 return cut_without_transpose(e.q, e.heads, part);
               }});
  s.push_back({"M51", "K", [](const System& e, const Work&, const std::string&, Index part) {
                 return cut_without_transpose(e.k, e.kv_heads, part);
               }});
  s.push_back({"M51", "V", [](const System& e, const Work&, const std::string&, Index part) {
                 return cut_without_transpose(e.v, e.kv_heads, part);
               }});
  s.push_back({"M53", "scores", [](const System& e, const Work&, const std::string&, Index) -> Matrix {
                 const bool can_be = e.heads == 2 && e.kv_heads == 2 && !e.has_rope();
                 return can_be ? Matrix(e.q * e.k.transpose()) : kNothing;
               }});
  s.push_back(
      {"M56", "scores", [](const System& e, const Work& w, const std::string& at, Index head) -> Matrix {
         if (e.kind != Kind::groups) return kNothing;
         return w.at(at + "Q") * w.at(fmt::format("g{}.K", head % 2 + 1)).transpose();
       }});
  s.push_back(
      {"M56", "output", [](const System& e, const Work& w, const std::string& at, Index head) -> Matrix {
         if (e.kind != Kind::groups) return kNothing;
         return w.at(at + "weights") * w.at(fmt::format("g{}.V", head % 2 + 1));
       }});
  for (const char* name : {"scaled", "weights"}) {
    const bool is_scaled = name == std::string("scaled");
    s.push_back({"M10", name, [=](const System& e, const Work& w, const std::string& at, Index) -> Matrix {
                   if (e.heads == 1 || e.kind == Kind::alibi || e.cap) return kNothing;
                   const Matrix scaled = w.at(at + "scores") / std::sqrt(static_cast<double>(e.q.cols()));
                   return is_scaled ? scaled : softmax(e.open ? hidden(scaled, *e.open) : scaled);
                 }});
  }
  s.push_back({"M09", "scaled", [](const System&, const Work& w, const std::string& at, Index) {
                 return w.at(at + "scores");
               }});
  s.push_back({"M54", "weights", [](const System& e, const Work& w, const std::string&, Index) -> Matrix {
                 if (e.heads == 1) return kNothing;
                 Matrix sum = Matrix::Zero(e.n(), e.n());
                 for (Index h = 0; h < e.heads; ++h) sum += w.at(e.of_queries(h) + "weights");
                 return sum / static_cast<double>(e.heads);
               }});
  s.push_back({"M52", "concat", [](const System& e, const Work& w, const std::string&, Index) {
                 std::vector<double> list;
                 for (Index h = 0; h < e.heads; ++h) {
                   const std::vector<double> head = flat(w.at(e.of_queries(h) + "output"));
                   list.insert(list.end(), head.begin(), head.end());
                 }
                 return recut(list, 0, e.n(), 2 * e.heads);
               }});
  s.push_back({"M53", "concat", [](const System& e, const Work&, const std::string&, Index) -> Matrix {
                 if (e.kind != Kind::heads || e.cap) return kNothing;
                 const Matrix z = e.q * e.k.transpose() / std::sqrt(static_cast<double>(e.q.cols()));
                 return softmax(e.open ? hidden(z, *e.open) : z) * e.v;
               }});
  s.push_back(
      {"M55", "Y", [](const System&, const Work& w, const std::string&, Index) { return w.at("concat"); }});
  s.push_back({"M01", "Y", [](const System& e, const Work& w, const std::string&, Index) -> Matrix {
                 return w.at("concat") * e.w_o.transpose();
               }});

  // Masks and softmax, of every head
  s.push_back({"S5", "masked", [](const System& e, const Work& w, const std::string& at, Index) -> Matrix {
                 return e.open && e.kind == Kind::heads && !e.cap ? w.at(at + "scaled") : kNothing;
               }});
  s.push_back({"M26", "masked", [](const System& e, const Work& w, const std::string& at, Index) -> Matrix {
                 if (e.mask != "window:2" || e.kind == Kind::tiles || e.kind == Kind::alibi || e.cap)
                   return kNothing;
                 return hidden(w.at(at + "scaled"), Mask(causal_mask(e.n(), e.n(), 0).array() &&
                                                         !causal_mask(e.n(), e.n(), -1).array()));
               }});
  s.push_back({"M69", "masked", [](const System& e, const Work& w, const std::string& at, Index) -> Matrix {
                 if (!e.cap || e.kind == Kind::alibi) return kNothing;
                 Matrix z = w.at(at + "capped");
                 for (Index k = 0; k < z.size(); ++k) z(k) = (*e.open)(k) ? z(k) : -*e.cap;
                 return z;
               }});
  s.push_back({"M32", "weights", [](const System& e, const Work& w, const std::string& at, Index) -> Matrix {
                 return e.open ? kNothing : Matrix(softmax(entering(w, at).transpose()).transpose());
               }});

  // Positions
  add_rotation(s, "M58", [](const System& e, const Matrix& x) { return turned(x, !e.is_interleaved()); });
  for (const double step : {1.0, -1.0}) {
    add_rotation(s, "M59", [=](const System& e, const Matrix& x) {
      return turned(x, e.is_interleaved(),
                    [&](Index t, Index i) { return angle(static_cast<double>(t) + step, i, x.cols()); });
    });
  }
  const auto with_exponent = [&](const std::function<double(double i, double d)>& exponent) {
    add_rotation(s, "M60", [=](const System& e, const Matrix& x) {
      return turned(x, e.is_interleaved(), [&](Index t, Index i) {
        return static_cast<double>(t) *
               std::pow(kRopeBase, exponent(static_cast<double>(i), static_cast<double>(x.cols())));
      });
    });
  };
  with_exponent([](double i, double d) { return -i / d; });
  with_exponent([](double i, double d) { return -2 * (i - 1) / d; });
  with_exponent([](double i, double d) { return 2 * i / d; });
  add_rotation(s, "M61", [](const System& e, const Matrix& x) {
    return turned(x, e.is_interleaved(),
                  [&](Index t, Index i) { return -angle(static_cast<double>(t), i, x.cols()); });
  });
  add_rotation(s, "M61", [](const System&, const Matrix& x) { return x; });
  s.push_back({"M62", "bias", [](const System&, const Work& w, const std::string& at, Index) -> Matrix {
                 return -w.at(at + "bias");
               }});
  s.push_back({"M62", "bias", [](const System& e, const Work&, const std::string&, Index head) {
                 return bias_of(e.n(), e.slope(head - 1));
               }});

  // Tiles.  b3 and b4 are the second of their rows, or b2 and b4 without a mask.
  s.push_back({"M63", "sum", [](const System&, const Work& w, const std::string& at, Index tile) -> Matrix {
                 if (!w.contains(at + "rescale")) return kNothing;
                 return w.at(fmt::format("b{}.sum", tile)) + w.at(at + "exp").rowwise().sum();
               }});
  s.push_back({"M64", "acc", [](const System& e, const Work& w, const std::string& at, Index tile) -> Matrix {
                 if (!w.contains(at + "rescale")) return kNothing;
                 return w.at(fmt::format("b{}.acc", tile)) + w.at(at + "exp") * e.v.bottomRows(2);
               }});
  s.push_back({"M65", "output", [](const System& e, const Work& w, const std::string& at, Index) -> Matrix {
                 return e.kind == Kind::tiles && !at.empty() ? w.at(at + "acc") : kNothing;
               }});
  // A query that sees no key of its first tile.
  for (const char* name : {"exp", "sum", "acc", "output"}) {
    s.push_back({"M66", name, [=](const System& e, const Work& w, const std::string& at, Index) -> Matrix {
                   if (e.kind != Kind::tiles || at.empty()) return kNothing;
                   const bool is_first = !w.contains(at + "rescale");
                   const std::string first = is_first ? at : fmt::format("b{}.", at[1] - '0' - 1);
                   Matrix result = w.at(at + name);
                   const bool is_of_this_tile = name == std::string("exp");
                   for (Index i = 0; i < 2; ++i) {
                     const bool is_empty = std::isinf(w.at((is_of_this_tile ? at : first) + "max")(i));
                     if (is_empty) result.row(i).setConstant(std::nan(""));
                   }
                   return result;
                 }});
  }
  return s;
}

// No honest rounding moves a number of this step further: rotated numbers have digits of their own, which
// all later steps inherit.
double reach(const System& s, const std::string& id, const std::string& name) {
  const double unit = std::pow(10.0, -kDecimals);
  if (name == "bias" || name.ends_with("rotated")) return 2 * unit;
  if (!s.has_rope() && is_of_whole_numbers(id)) return 0.5;
  const bool is_of_scores = name == "scores" || name == "scaled" || name == "masked";
  return is_of_scores ? (s.has_rope() ? 25 * unit : 3 * unit) : 40 * unit;
}

// "h2." and 1 of "h2.Q.rotated"; "" and 0 of "Q.rotated".
std::pair<std::string, Index> place_of(const Trace& truth, const std::string& id) {
  const Node& node = truth.plan()[node_named(truth.plan(), id)];
  return {node.prefix, node.prefix.empty() ? 0 : std::stol(node.prefix.substr(1)) - 1};
}

constexpr std::array kKinds{Kind::heads, Kind::groups, Kind::rope_half, Kind::rope_interleaved,
                            Kind::alibi, Kind::tiles};

TEST_CASE("a mistake in heads, groups, positions or tiles is found at its step and called by its name") {
  QKV_SAY_SEED();
  Random random(93);
  const std::vector<Slip> all = slips();
  Confusion confusion;
  for (Index run = 0; run < sheets(18); ++run) {
    const System s = drawn(random, kKinds[static_cast<std::size_t>(run) % kKinds.size()]);
    const Trace truth = truth_of(s);
    const Work right = right_work(s);
    for (const Slip& slip : all) {
      for (const auto& [id, value] : right) {
        const std::string step = id;
        const auto [prefix, part] = place_of(truth, step);
        if (step != prefix + slip.name) continue;
        const Matrix spoiled = slip.spoil(s, right, prefix, part);
        if (spoiled.rows() != value.rows() || spoiled.cols() != value.cols()) continue;
        if (!is_beyond(spoiled, value, reach(s, step, slip.name))) continue;
        const Work work =
            worked(s, [&](const std::string& at, const Matrix& as) { return at == step ? spoiled : as; });
        const auto answers = sheet(truth.plan(), work, kDecimals);
        confusion.add(slip.id, step, truth, judge(truth, answers, kDecimals),
                      [&] { return text_of(s) + test::text_of(truth.plan(), answers); });
      }
    }
  }
  confusion.check();
}

TEST_CASE("a right sheet about heads, groups, positions or tiles is not accused") {
  QKV_SAY_SEED();
  Random random(94);
  for (Index run = 0; run < sheets(60); ++run) {
    const System s = drawn(random, kKinds[static_cast<std::size_t>(run) % kKinds.size()]);
    const Trace truth = truth_of(s);
    const bool is_rounded = random.whole(0, 1) == 0;
    const bool has_rounded_root = !is_rounded && random.whole(0, 1) == 0;
    const double tens = std::pow(10.0, kDecimals);
    const double root = std::sqrt(static_cast<double>(s.d()));
    const Work work = worked(s, [&](const std::string& step, const Matrix& value) -> Matrix {
      if (has_rounded_root && name_of(step) == "scaled") return value * root / (std::round(root * 100) / 100);
      if (!is_rounded) return value;
      Matrix result = value;
      for (Index k = 0; k < result.size(); ++k) {
        if (std::isfinite(value(k))) result(k) = std::round(value(k) * tens) / tens;
      }
      return result;
    });
    std::set<std::string> unwritten;
    for (const auto& [id, value] : work) {
      if (id != "concat" && id != "output" && random.whole(0, 2) == 0) unwritten.insert(id);
    }
    const auto answers = sheet(truth.plan(), work, kDecimals, unwritten);
    const Judgement judgement = judge(truth, answers, kDecimals);
    const JudgedStep* wrong = first_wrong(judgement);
    INFO(text_of(s), test::text_of(truth.plan(), answers), std::string(is_rounded ? "rounded " : ""),
         std::string(has_rounded_root ? "rounded root " : ""),
         wrong != nullptr ? truth.plan()[wrong->node].id : "");
    CHECK(judgement.is_right());
  }
}

// Everywhere the first of the ways to make a mistake.
Work worked_by_habit(const System& s, const std::string& id, const Trace& truth, const Work& right) {
  const std::vector<Slip> all = slips();
  return worked(s, [&](const std::string& step, const Matrix& value) {
    const auto [prefix, part] = place_of(truth, step);
    for (const Slip& slip : all) {
      if (slip.id != id || step != prefix + slip.name) continue;
      const Matrix spoiled = slip.spoil(s, right, prefix, part);
      return spoiled.size() > 0 ? spoiled : value;
    }
    return value;
  });
}

TEST_CASE("a mistake made in every head, row or tile is known by the last step alone") {
  QKV_SAY_SEED();
  Random random(95);
  Confusion confusion;
  for (Index run = 0; run < sheets(18); ++run) {
    const System s = drawn(random, kKinds[static_cast<std::size_t>(run) % kKinds.size()]);
    const Trace truth = truth_of(s);
    const Work right = right_work(s);
    const std::string last = s.heads > 1 ? "concat" : "output";
    for (const char* id : {"M51", "M54", "M56", "M58", "M60", "M62", "M63", "M64", "M65"}) {
      System tiled = s;
      tiled.are_groups_tiled = true;
      const bool is_of_groups = id == std::string("M56");
      const Work work = is_of_groups ? right_work(tiled) : worked_by_habit(s, id, truth, right);
      if (!is_beyond(work.at(last), right.at(last), reach(s, last, last))) continue;
      const auto answers = sheet(truth.plan(), {{last, work.at(last)}}, kDecimals);
      confusion.add(id, last, truth, judge(truth, answers, kDecimals),
                    [&] { return text_of(s) + test::text_of(truth.plan(), answers); });
    }
  }
  confusion.check();
}

// Heads and matrices cut out of the flat list, and nothing else wrong; with `more`, the scores of the first
// head not scaled either.
Work cut_flat(const System& s, const Trace& truth, const Work& right, bool more) {
  const Work cut = worked_by_habit(s, "M51", truth, right);
  return worked(s, [&](const std::string& step, const Matrix& value) -> Matrix {
    if (more && step == "h1.scaled") return value * std::sqrt(static_cast<double>(s.d()));
    const std::string name = name_of(step);
    return name == "Q" || name == "K" || name == "V" ? cut.at(step) : value;
  });
}

TEST_CASE("the same mistake in other heads and matrices is one slip, told once and counted once") {
  QKV_SAY_SEED();
  Random random(98);
  int repeated = 0;
  for (Index run = 0; run < sheets(12); ++run) {
    System s = drawn(random, Kind::heads);
    s.cap = {};
    const Trace truth = truth_of(s);
    const Work right = right_work(s);
    for (const bool more : {false, true}) {
      const Work work = cut_flat(s, truth, right, more);
      const auto answers = sheet(truth.plan(), work, kDecimals);
      const Judgement judgement = judge(truth, answers, kDecimals);
      // A piece of equal numbers earns nothing, nor does what follows from it.
      if (std::any_of(judgement.steps.begin(), judgement.steps.end(),
                      [](const JudgedStep& step) { return step.is_trivial; }))
        continue;
      std::set<std::string> told;
      int again = 0;
      for (const JudgedStep& step : judgement.steps) {
        if (step.verdict != Verdict::wrong) continue;
        if (step.repeats) {
          ++again;
        } else {
          told.insert(list(step.mistakes));
        }
      }
      INFO(text_of(s), test::text_of(truth.plan(), answers));
      if (told.empty()) continue;  // the cut changes nothing, or scores of nothing but zeros
      CHECK(std::set<std::string>{"M51", "M09"}.contains(*told.begin()));
      CHECK(told.size() <= (more ? 2U : 1U));
      CHECK(judgement.points == judgement.of - static_cast<int>(told.size()));
      repeated += again;
    }
  }
  CHECK(repeated > 0);
}

}  // namespace
}  // namespace qkv::test
