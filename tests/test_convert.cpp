// From one form into another and back.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "problem/answers.h"
#include "problem/matrices.h"
#include "reading.h"
#include "render/matrix_file.h"
#include "support.h"

using namespace qkv;
using namespace qkv::test;

namespace {

struct Read {
  Together together = Together::one;
  std::vector<NamedMatrix> matrices;
  std::string errors;
};

Read read_all(const std::string& text) {
  Diagnostics diagnostics;
  const SourcePtr file = source_from_text("m.txt", text, diagnostics);
  REQUIRE(file != nullptr);
  MatrixFile read = read_matrix_file(file, diagnostics);
  Read result{read.together,
              {},
              diagnostics.has_errors() ? render_diagnostics(diagnostics, Language::en, false) : ""};
  for (NamedText& m : read.matrices)
    result.matrices.push_back({m.name, m.text.rows, m.text.cols, m.text.cells, m.text.row_labels});
  return result;
}

std::string print(const MatrixForm& form, const std::vector<NamedMatrix>& matrices, Together together) {
  if (together == Together::one) return form.write(matrices.front());
  return write_several(form, matrices, together == Together::stack ? Several::stack : Several::named);
}

// "Q 2×1: a: 1 ; b: v0", every cell by its kind and value.
std::string meaning(const std::vector<NamedMatrix>& matrices) {
  std::string text;
  for (const NamedMatrix& m : matrices) {
    text += m.name + " " + size_text({m.rows, m.cols}) + ":";
    for (Index i = 0; i < m.rows; ++i) {
      text += i > 0 ? " ;" : "";
      if (!m.row_labels.empty()) text += " " + m.row_labels[static_cast<std::size_t>(i)] + ":";
      for (Index j = 0; j < m.cols; ++j) {
        const Number& n = m.cells[static_cast<std::size_t>(i * m.cols + j)];
        text += " " + (n.kind == Number::Kind::finite ? fmt::format("{:.12g}", n.value) : n.text);
      }
    }
    text += "\n";
  }
  return text;
}

std::string converted(const std::string& text) {
  const Read read = read_all(text);
  return read.errors.empty() ? meaning(read.matrices) : read.errors;
}

Number number(const std::string& text) {
  NumberError error;
  const auto parsed = parse_number(text, error);
  REQUIRE_MESSAGE(parsed, text);
  return *parsed;
}

using Bits = std::mt19937_64;
std::size_t below(Bits& random, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

const std::vector<std::string> kDecimals{"0",      "1",    "-1.50",  "0.25",  "1e-3",
                                         "2.5e20", "-0.0", "123456", "1e-300"};
const std::vector<std::string> kOthers{"inf", "-inf", "1/3", "-sqrt(2)/2", "2*sqrt(2)/3", "1/sqrt(3)", "nan"};
const std::vector<std::string> kSymbols{"v0", "v12", "a"};  // as in V
const std::vector<std::string> kBlanks{"_", "1", "-0.5"};   // as on a sheet of answers, which has no symbols
const std::vector<std::string> kLabels{"我",  "喜欢", "t1",       "a,b",      "a|b",   "#x",  "=1+2",
                                       "'q",  "a b",  "\\",       "*a*",      "_u_",   "x$y", "[z]",
                                       "a:b", "a;b",  "~",        "苹果，梨", "→",     "%",   "-x",
                                       "`c`", "<br>", "www.x.yz", "a@b",      "&amp;", "$",   "x \"q\""};

NamedMatrix random_matrix(Bits& random, bool has_others, bool has_symbols, bool has_labels, bool is_named) {
  NamedMatrix m{
      "", static_cast<Index>(1 + below(random, 4)), static_cast<Index>(1 + below(random, 4)), {}, {}};
  // Under [V] "v0 v1" are two symbols; under no name they are a label and a symbol.
  if (has_symbols && !is_named) m.cols = 1;
  const auto& open = below(random, 2) == 0 ? kSymbols : kBlanks;
  for (Index i = 0; i < m.rows * m.cols; ++i) {
    const auto& from = has_symbols ? open : has_others && below(random, 2) == 0 ? kOthers : kDecimals;
    m.cells.push_back(number(from[below(random, from.size())]));
  }
  if (has_labels) {
    for (Index i = 0; i < m.rows; ++i) m.row_labels.push_back(kLabels[below(random, kLabels.size())]);
  }
  return m;
}

const MatrixForm& form_named(std::string_view name) {
  const auto forms = matrix_forms();
  return *std::find_if(forms.begin(), forms.end(), [&](const MatrixForm& f) { return f.name == name; });
}

bool fits(const MatrixForm& form, const std::vector<NamedMatrix>& matrices) {
  for (const NamedMatrix& m : matrices) {
    const FormFit fit = fit_of(form, m);
    if (!fit.refused.empty() || !fit.loses.empty()) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("what is printed in one form, read, printed in another and read again is the same matrix") {
  QKV_SAY_SEED();
  Bits random(seed());
  const Index rounds = sheets(400);
  for (Index round = 0; round < rounds; ++round) {
    const bool has_labels = round % 3 == 0;
    const bool has_symbols = round % 5 == 4;
    const auto together = static_cast<Together>(round % 3 == 0 ? round / 3 % 3 : round % 3);
    std::vector<NamedMatrix> matrices;
    const std::size_t count = together == Together::one ? 1 : 2 + below(random, 2);
    for (std::size_t i = 0; i < count; ++i) {
      matrices.push_back(
          random_matrix(random, round % 2 == 0, has_symbols, has_labels, together == Together::named));
      if (together == Together::stack && i > 0 && !has_labels) {
        // Of one shape, as a list of lists of lists is.
        NamedMatrix like = matrices.front();
        std::shuffle(like.cells.begin(), like.cells.end(), random);
        matrices.back() = like;
      }
      if (together == Together::named)
        matrices.back().name = std::vector<std::string>{"V", "h1.V", "h2.V"}[i];
      if (together == Together::stack) matrices.back().name = std::to_string(i + 1);
    }
    const std::string meant = meaning(matrices);
    for (const MatrixForm& a : matrix_forms()) {
      if (!refuses_several(a).empty() || !fits(a, matrices)) continue;
      const std::string first = print(a, matrices, together);
      CAPTURE(first);
      const Read read = read_all(first);
      REQUIRE(read.errors == "");
      CHECK(read.together == together);
      const bool keeps_names = std::string_view(a.name) != "mathematica" || together != Together::named;
      if (keeps_names) REQUIRE(meaning(read.matrices) == meant);
      REQUIRE(print(a, read.matrices, read.together) == first);
      for (const MatrixForm& b : matrix_forms()) {
        if (!refuses_several(b).empty() || !fits(b, read.matrices)) continue;
        const std::string second = print(b, read.matrices, read.together);
        CAPTURE(second);
        const Read again = read_all(second);
        REQUIRE(again.errors == "");
        if (keeps_names && (std::string_view(b.name) != "mathematica" || together != Together::named))
          REQUIRE(meaning(again.matrices) == meant);
      }
    }
  }
}

TEST_CASE("a paste of several matrices is read with all their names") {
  const std::string both = "Q 1×2: 1 0\nK 2×2: 1 1 ; 0 2\n";
  CHECK(
      converted("import numpy as np\nd_k = 2\nQ = np.array([[1, 0]])\nK = np.array([[1, 1],\n [0, 2]])\n") ==
      both);
  CHECK(converted("Q:\n1 0\nK:\n1 1\n0 2\n") == both);
  CHECK(converted(R"({"Q": [[1, 0]], "d_k": 2, "K": [[1, 1], [0, 2]]})") == both);
  CHECK(converted("Q <- matrix(c(1, 0), nrow = 1)\nK <- rbind(c(1, 1), c(0, 2))\n") == both);
  CHECK(converted("Q = \\begin{bmatrix} 1 & 0 \\end{bmatrix}\nK = \\begin{bmatrix} 1 & 1 \\\\ 0 & 2 "
                  "\\end{bmatrix}\n") == both);
  CHECK(converted("查询矩阵 Q = [[1, 0]]\n键矩阵 K = [[1, 1], [0, 2]]\n") == both);
  CHECK(converted("scale = none\n[Q]\n1 0\n[K]\n1 1\n0 2\n") == both);
  // One matrix is one, with a name or without.
  CHECK(converted("A = [1 0; 0 2]") == " 2×2: 1 0 ; 0 2\n");
  CHECK(converted("Q = [[1]]\nQ = [[2]]\n") ==
        "m.txt:2:1: error: [Q] stands twice\n   2 | Q = [[2]]\n     | ^\n");
}

TEST_CASE("matrices side by side are read with the names of their headings") {
  const std::string pair = "K 2×2: t1: 1 0 ; t2: 0 1\nV 2×2: t1: 1 0 ; t2: 0.5 0.5\n";
  CHECK(meaning(read_all("token Key Value\nt1 [1, 0] [1.0, 0.0]\nt2 [0, 1] [0.5, 0.5]").matrices) == pair);
  CHECK(meaning(read_all("| | Key | Value |\n|---|---|---|\n| t1 | $[1,0]$ | $[1,0]$ |\n| t2 | $[0,1]$ | "
                         "$[0.5,0.5]$ |")
                    .matrices) == pair);
  CHECK(meaning(read_all("     Q = K      V\nt1   [1, 0]   [2, 0]").matrices) ==
        "Q 1×2: t1: 1 0\nK 1×2: t1: 1 0\nV 1×2: t1: 2 0\n");
  // Without a heading they are two in order.
  CHECK(meaning(read_all("t1 [1, 0] [1.0, 0.0]\nt2 [0, 1] [0.5, 0.5]").matrices) ==
        "1 2×2: t1: 1 0 ; t2: 0 1\n2 2×2: t1: 1 0 ; t2: 0.5 0.5\n");
}

TEST_CASE("brackets of code are no matrices side by side") {
  CHECK(meaning(read_all("Out[3]: array([[1, 2]])").matrices) == " 1×2: 1 2\n");
  CHECK(meaning(read_all("In [2]: Q\nOut[2]: array([[1, 2]])").matrices) == " 1×2: 1 2\n");
  CHECK(read_all("Q = [[1,2]] K = [[3,4]]").errors != "");
  CHECK(read_all("softmax([1 2]) = [0.25 0.75]").errors != "");
}

TEST_CASE("a setting beside named matrices is a setting") {
  Diagnostics diagnostics;
  const SourcePtr file =
      source_from_text("m.txt", "# worksheet 3\nQ:\n1 0\n0 1\n\nK:\n1 1\n0 1\n\nd_k = 2\n", diagnostics);
  const MatrixFile read = read_matrix_file(file, diagnostics);
  CHECK(diagnostics.list().empty());
  REQUIRE(read.settings.size() == 1);
  CHECK(read.settings[0].key == "d_k");
  CHECK(read.matrices.size() == 2);
  CHECK(meaning(read_all("Q = [[1]]\n\nd_k = 2").matrices) == "Q 1×1: 1\n");
}

TEST_CASE("two matrices in LaTeX on one line have their names") {
  CHECK(
      meaning(read_all("Q = \\begin{bmatrix} 1 & 2 \\end{bmatrix}, K = \\begin{bmatrix} 3 & 4 \\end{bmatrix}")
                  .matrices) == "Q 1×2: 1 2\nK 1×2: 3 4\n");
}

TEST_CASE("one number printed by Octave is a section's matrix; a setting is none") {
  CHECK(meaning(read_all("[Q]\nA = -80.193\n[K]\nans = 2\n").matrices) == "Q 1×1: -80.193\nK 1×1: 2\n");
  CHECK(read_all("[Q]\n1\nA = 2\n").errors != "");
  CHECK(read_all("[Q]\nscale = 2\n").errors.find("stands after a section") != std::string::npos);
}

TEST_CASE("rows of True and False are no sections") {
  CHECK(meaning(read_all("[[ True  True]\n [False False]\n [ True False]]").matrices) ==
        " 3×2: 1 1 ; 0 0 ; 1 0\n");
  CHECK(meaning(read_all("[[ True]\n [False]\n [ True]]").matrices) == " 3×1: 1 ; 0 ; 1\n");
}

TEST_CASE("a carriage return ends the lines of a problem too") {
  CHECK(meaning(read_all("[Q]\r1 0\r[K]\r0 1\r").matrices) == "Q 1×2: 1 0\nK 1×2: 0 1\n");
}

TEST_CASE("names that a section cannot have become such as it can") {
  CHECK(converted(R"({"WQ": [[1]], "h1_weights": [[1]], "d_output": [[2]], "expect_h2_W_V": [[3]]})") ==
        "W_Q 1×1: 1\nh1.weights 1×1: 1\nd.output 1×1: 2\nexpect.h2.W_V 1×1: 3\n");
  CHECK(converted(R"({"layer-1/attn": [[1]], "2nd": [[2]]})") == "layer_1_attn 1×1: 1\nm_nd 1×1: 2\n");
}

TEST_CASE("a stack is its matrices in order, however it is printed") {
  const std::string two = "1 2×2: 1 0 ; 0 1\n2 2×2: 2 1 ; 1 2\n";
  CHECK(converted("[[[1. 0.]\n  [0. 1.]]\n\n [[2. 1.]\n  [1. 2.]]]") == two);  // field case C06
  CHECK(converted("tensor([[[1., 0.],\n         [0., 1.]],\n\n        [[2., 1.],\n         [1., 2.]]], "
                  "device='cuda:0', grad_fn=<SoftmaxBackward0>)") == two);
  CHECK(converted("float A[2][2][2] = {{{1, 0}, {0, 1}}, {{2, 1}, {1, 2}}};") == two);
  CHECK(converted(", , 1\n\n     [,1] [,2]\n[1,]    1    0\n[2,]    0    1\n\n, , 2\n\n     [,1] [,2]\n"
                  "[1,]    2    1\n[2,]    1    2\n") == two);
  CHECK(converted("(1,.,.) = \n  1  0\n  0  1\n\n(2,.,.) = \n  2  1\n  1  2\n[ CPUFloatType{2,2,2} ]\n") ==
        two);
  CHECK(converted("ans =\n\nans(:,:,1) =\n\n   1   0\n   0   1\n\nans(:,:,2) =\n\n   2   1\n   1   2\n") ==
        two);
  CHECK(converted("[:, :, 1] =\n 1.0  0.0\n 0.0  1.0\n\n[:, :, 2] =\n 2.0  1.0\n 1.0  2.0\n") == two);
  CHECK(converted("# 1\n1 0\n0 1\n# 2\n2 1\n1 2\n") == two);
  // A batch of one says nothing; two axes are told apart.
  CHECK(converted("[[[[1, 0], [0, 1]], [[2, 1], [1, 2]]]]") == two);
  CHECK(converted("[[[[1]], [[2]]], [[[3]], [[4]]]]") == "1,1 1×1: 1\n1,2 1×1: 2\n2,1 1×1: 3\n2,2 1×1: 4\n");
  CHECK(converted(R"({"attn": [[[1]], [[2]]], "Q": [[3]]})") == "attn.1 1×1: 1\nattn.2 1×1: 2\nQ 1×1: 3\n");
}

TEST_CASE("brackets that are no stack are no stack") {
  CHECK(converted("[[[1, 0], [0, 1]]]") == " 2×2: 1 0 ; 0 1\n");
  CHECK(converted("# 1 is the first token\n1 0\n# 2\n0 1\n") == " 2×2: 1 0 ; 0 1\n");
  for (const std::string text : {"[[1, 0], [[0, 1], [1, 1]]]", "[[[1, 0]], [[0, 1]]].T", "[[[1]], [[2]]"}) {
    CAPTURE(text);
    CHECK(read_all(text).together == Together::one);
  }
}

TEST_CASE("the tables of qkv trace -f csv and -f md are read with their names, without the sums of rows") {
  const std::string meant = "weights 2×2: 我: 0.4 0.6 ; a,b: 0.5 0.5\nW_Q 1×2: 1 -inf\n";
  CHECK(converted("weights,我,\"a,b\",sum\n我,0.4000,0.6000,1.0000\n\"a,b\",0.5000,0.5000,1.0000\n\n"
                  "W_Q,1,2\n1,1.0000,-inf\n\noutput,\n我,1.0000·v0\n") == meant);
  CHECK(
      converted("# title\n\n## 1. Weights\n\nweights (2×2) = softmax(scores (2×2))\n\n|  | 我 | a,b | sum |\n"
                "| :-- | --: | --: | --: |\n| 我 | 0.4000 | 0.6000 | 1.0000 |\n| a,b | 0.5000 | 0.5000 | "
                "1.0000 |\n\n"
                "W\\_Q (1x2)\n\n|  | 1 | 2 |\n| :-- | --: | --: |\n| 1 | 1.0000 | −∞ |\n") == meant);
}

TEST_CASE("an answer sheet may be any paste that names its matrices") {
  Diagnostics diagnostics;
  const AnswerFile file = read_answers(
      source_from_text("a.csv", "scores,1\nt1,2\n\nweights,1\nt1,1\n", diagnostics), diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  REQUIRE(file.answers.size() == 2);
  CHECK(file.answers[0].step == "scores");
  CHECK(file.answers[1].step == "weights");
  CHECK(cells(file.answers[1].written) == "1");
}

TEST_CASE("an array holds every number that is one") {
  const auto forms = matrix_forms();
  const auto npy = std::find_if(forms.begin(), forms.end(),
                                [](const MatrixForm& f) { return std::string_view(f.name) == "npy"; });
  REQUIRE(npy != forms.end());
  const Given m = rows_of("1 -0.5 ; inf 1e-300");
  CHECK(converted(npy->write({"", m.rows, m.cols, m.cells, {}})) == " 2×2: 1 -0.5 ; inf 1e-300\n");
  const Given open = rows_of("1 v0");
  CHECK(fit_of(*npy, {"", open.rows, open.cols, open.cells, {}}).refused.en == "npy has no place for v0");
  const Given third = rows_of("1/3 2");
  CHECK(fit_of(*npy, {"", third.rows, third.cols, third.cells, {}}).loses.size() == 1);
}

TEST_CASE("a sentence is refused in one word; letters with numbers stay values") {
  const auto refused = [](const std::string& place, const std::string& line, const std::string& word) {
    return "m.txt:" + place + ": error: '" + word +
           "' is a word: this reads as running text, not as a matrix\n" + line;
  };
  const auto first_lines = [](const std::string& text) { return text.substr(0, text.find("\n     |")); };
  CHECK(first_lines(converted("the quick brown\nfox jumps over\n")) ==
        refused("1:1", "   1 | the quick brown", "the"));
  CHECK(first_lines(converted("To be, or not to be.\nI am.\n")) ==
        refused("1:11", "   1 | To be, or not to be.", "not"));
  CHECK(first_lines(converted("hello\n")) == refused("1:1", "   1 | hello", "hello"));
  CHECK(converted("x11 x12\nx21 x22\n") == " 2×2: x11 x12 ; x21 x22\n");
  CHECK(converted("v0\nqk\n") == " 2×1: v0 ; qk\n");
  CHECK(converted("cat: 1 2\ndog: 0 1\n") == " 2×2: cat: 1 2 ; dog: 0 1\n");
  // Under its name a matrix of values may hold any word.
  CHECK(converted("[V]\napple\npear\n") == "V 2×1: apple ; pear\n");
  // A word among numbers is a mistake, not a sentence.
  CHECK(first_lines(converted("1 2\n3 four\n")) == "m.txt:2:3: error: 'four' is not a number\n   2 | 3 four");
}

TEST_CASE("objects on lines of their own are all read, and nothing beside an object is passed over") {
  CHECK(converted("{\"Q\":[[1,2]]}\n{\"K\":[[3,4]]}\n") == "Q 1×2: 1 2\nK 1×2: 3 4\n");
  CHECK(read_all("{\"Q\":[[1,2]]}\n{\"Q\":[[3,4]]}").errors.find("[Q] stands twice") != std::string::npos);
  CHECK(read_all("{\"Q\":[[1,2]]} junk").errors != "");
}

TEST_CASE("a label that holds quotes is written with both, and read again") {
  const Read read = read_all("\"x \"\"q\"\"\",1,2");
  CHECK(meaning(read.matrices) == " 1×2: x \"q\": 1 2\n");
  CHECK(print(form_named("plain"), read.matrices, Together::one) == "\"x \"\"q\"\"\" | 1 2\n");
}

TEST_CASE("symbols written as JSON are symbols when read, under no name too") {
  const Read read = read_all("[V]\nv0 v1\nv1 2\n");
  const std::string text = print(form_named("json"), read.matrices, Together::named);
  CHECK(meaning(read_all(text).matrices) == meaning(read.matrices));
  CHECK(meaning(read_all("[[\"v0\",\"v1\"],[\"v1\",2]]").matrices) == " 2×2: v0 v1 ; v1 2\n");
}
