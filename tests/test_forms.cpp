// The forms in which people paste matrices.  Most texts were found in public material or printed by the
// program they are named after: NumPy 1.24, Octave 7, R 4.2; the matrices beside them are what they mean.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "input/forms.h"
#include "input/spelling.h"
#include "matrix_rows.h"

using namespace qkv;
using namespace qkv::test;

namespace {

// Of what was said, the messages alone: "note: …".
std::string messages(const Rows& r) {
  std::string text;
  for (std::size_t at = 0; at < r.told.size();) {
    const std::size_t end = r.told.find('\n', at);
    const std::string line = r.told.substr(at, end - at);
    if (line.starts_with("m.txt:")) text += line.substr(line.find(' ') + 1) + "\n";
    at = end + 1;
  }
  return text;
}

// The matrix that `text` holds, and what was said.
struct Pasted {
  std::string matrix;
  std::string messages;
  bool operator==(const Pasted&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Pasted& r) { return out << r.matrix << "\n" << r.messages; }

constexpr CellRules kScores{.infinity = true};

Pasted pasted(const std::string& text, const std::string& wanted = "", CellRules rules = kScores) {
  const Rows r = rows(text, rules, Within::section, wanted);
  return {r.text(), messages(r)};
}

// A paste of a form that is named in one note.
Pasted in_form(const std::string& matrix, const std::string& form) {
  return {matrix, "note: [X] is read as " + form + "\n"};
}

}  // namespace

// ---- Python ----

TEST_CASE("what NumPy prints is read without a word") {
  CHECK(pasted("[[ 1.   -2.5   0.25]\n [ 0.    3.    4.  ]]") == Pasted{"1. -2.5 0.25 ; 0. 3. 4.", ""});
  CHECK(pasted("[[ 1.00000000e+00 -2.50000000e+00]\n [ 8.43327794e-26  3.00000000e+00]]") ==
        Pasted{"1.00000000e+00 -2.50000000e+00 ; 8.43327794e-26 3.00000000e+00", ""});
  CHECK(pasted("[[np.float64(0.5), np.float64(0.25)], [np.float64(1.0), np.float64(-3.0)]]") ==
        Pasted{"0.5 0.25 ; 1.0 -3.0", ""});
  // A long row goes on on the next line.
  CHECK(pasted("[[0.1 0.2 0.3\n  0.4]\n [0.5 0.6 0.7\n  0.8]]") ==
        Pasted{"0.1 0.2 0.3 0.4 ; 0.5 0.6 0.7 0.8", ""});
}

TEST_CASE("a list that NumPy prints over several lines is one row") {
  const std::string note = "note: [X] is read as one list, printed over several lines\n";
  CHECK(pasted("[1. 2. 3.\n 4. 5.]") == Pasted{"1. 2. 3. 4. 5.", note});
  CHECK(pasted("[ 1.  -2.5\n  0.   3.\n  inf]\n") == Pasted{"1. -2.5 0. 3. inf", note});
  // print(np.arange(32) / 7): lines of the same number of words, none with room for one more.
  const std::string print =
      "[0.         0.14285714 0.28571429 0.42857143 0.57142857 0.71428571\n"
      " 0.85714286 1.         1.14285714 1.28571429 1.42857143 1.57142857]";
  CHECK(pasted(print).messages == note);
  CHECK(pasted(print).matrix ==
        "0. 0.14285714 0.28571429 0.42857143 0.57142857 0.71428571 "
        "0.85714286 1. 1.14285714 1.28571429 1.42857143 1.57142857");
  // In MATLAB a line is a row.
  CHECK(pasted("[1 2\n 3 4]") == Pasted{"1 2 ; 3 4", ""});
  CHECK(rows("[1 2\n 3 4 5]").told.find("row 2 of [X] has 3 numbers, but row 1 has 2") != std::string::npos);
  CHECK(rows("A = [1 2 3\n 4 5]").told.find("row 2 of") != std::string::npos);
}

TEST_CASE("calls are read for the list that is their argument") {
  CHECK(pasted("array([[1., 0.],\n       [0., 1.]], dtype=float32)") ==
        in_form("1. 0. ; 0. 1.", "a NumPy array"));
  CHECK(pasted("x = np.array([1, 2,\n  3])  # a vector\n") == in_form("1 2 3", "a NumPy array"));
  CHECK(pasted("tensor([[ 1.0100,  1.0641],\n        [ 0.2040,  0.7057]], grad_fn=<MmBackward0>)") ==
        in_form("1.0100 1.0641 ; 0.2040 0.7057", "a PyTorch tensor"));
  CHECK(pasted("tensor([[ 1.7619,    -inf],\n        [-0.6219,  2.0269]], device='cuda:0',\n       "
               "dtype=torch.float64)") == in_form("1.7619 -inf ; -0.6219 2.0269", "a PyTorch tensor"));
  CHECK(pasted("tensor([[0.5000, 0.5000, 0.0000,\n         0.0000, 0.0000]])") ==
        in_form("0.5000 0.5000 0.0000 0.0000 0.0000", "a PyTorch tensor"));
  CHECK(pasted("Parameter containing:\ntensor([[1., 2.]], requires_grad=True)") ==
        in_form("1. 2.", "a PyTorch tensor"));
  CHECK(pasted("tf.Tensor([[10.  0.]], shape=(1, 2), dtype=float32)") ==
        in_form("10. 0.", "a TensorFlow tensor"));
  CHECK(pasted("<tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 0.]], dtype=float32)>") ==
        in_form("1. 0.", "a TensorFlow tensor"));
  CHECK(pasted("Array([[1., 0.]], dtype=float32)") == in_form("1. 0.", "a JAX array"));
  CHECK(
      pasted(
          "Tensor(shape=[1, 2], dtype=float32, place=Place(cpu), stop_gradient=True,\n       [[1., 0.]])") ==
      in_form("1. 0.", "a PyTorch tensor"));
}

TEST_CASE("reshape lays the numbers out, and .T transposes") {
  CHECK(pasted("np.array([1, 2, 3, 4, 5, 6]).reshape(2, 3)") == in_form("1 2 3 ; 4 5 6", "a NumPy array"));
  CHECK(pasted("torch.tensor([1, 2, 3, 4]).view(-1, 2)") == in_form("1 2 ; 3 4", "a PyTorch tensor"));
  CHECK(pasted("np.array([[1, 2, 3], [4, 5, 6]]).T") ==
        Pasted{"1 4 ; 2 5 ; 3 6",
               "note: [X] is read as a NumPy array\nnote: [X] is transposed, as it is written: 3×2\n"});
  CHECK(pasted("np.array([1, 2, 3]).reshape(2, 2)").messages == "error: 3 numbers do not fill 2 rows of 2\n");
  CHECK(pasted("np.array([[1, 2]]) + 1")
            .messages.starts_with("error: '+ 1' behind the matrix is not understood\n"));
}

TEST_CASE("numbers that were left out are missed, with the way to print them") {
  const Rows r = rows("[[0.1 0.2 ... 0.9]\n [0.  0.  ... 0. ]]");
  CHECK(r.text() == "refused");
  CHECK(r.told ==
        "m.txt:1:11: error: '...': numbers were left out here when the matrix was printed\n"
        "   1 | [[0.1 0.2 ... 0.9]\n"
        "     |           ^^^\n"
        "     = hint: write them all; NumPy prints all with np.set_printoptions(threshold=sys.maxsize), "
        "PyTorch with "
        "torch.set_printoptions(profile=\"full\")\n");
  CHECK(pasted("1 … 3").matrix == "refused");
  CHECK(pasted("\\begin{bmatrix} 1 & \\cdots & 3 \\end{bmatrix}")
            .messages.find("error: '\\cdots': numbers were left out") != std::string::npos);
}

TEST_CASE("a stack of one matrix is that matrix, and of several it is refused") {
  CHECK(pasted("[[[1, 0],\n  [0, 1]]]") ==
        Pasted{"1 0 ; 0 1", "note: a stack of one matrix is read as that matrix\n"});
  CHECK(pasted("[[[[1, 0],\n  [0, 1]]]]") ==
        Pasted{"1 0 ; 0 1", "note: a stack of one matrix is read as that matrix\n"});
  CHECK(pasted("[[[1. 0.]\n  [0. 1.]]\n\n [[2. 1.]\n  [1. 2.]]]") ==
        Pasted{"refused", "error: brackets three deep: this is a stack of matrices\n"});
}

// ---- R, Julia, Octave, MATLAB, Mathematica, C ----

TEST_CASE("what R prints") {
  CHECK(pasted("     [,1]  [,2] [,3]\n[1,]    1 -2.50 0.25\n[2,]    0  3.00 4.00") ==
        in_form("1 -2.50 0.25 ; 0 3.00 4.00", "an R print"));
  CHECK(pasted("     [,1] [,2]\n[1,]    1    2\n[2,]    3    4\n     [,3]\n[1,]    5\n[2,]    6\n") ==
        in_form("1 2 5 ; 3 4 6", "an R print"));
  CHECK(pasted("[1] 0.1 0.2\n[3] 0.3\n") == in_form("0.1 0.2 0.3", "an R print"));
  const std::string wide = "   d1 d2\nt1  1  2\nt2  3  4\n   d3\nt1  5\nt2  6\n";
  CHECK(pasted(wide) ==
        Pasted{"t1: 1 2 5 ; t2: 3 4 6", "note: 'd1 d2 d3' is read as a heading, not as a row\n"});
}

TEST_CASE("R's matrix() fills column by column, unless it says otherwise") {
  CHECK(pasted("matrix(c(1, 0, -2.5, 3, 0.25, 4), nrow = 2)") ==
        Pasted{"1 -2.5 0.25 ; 0 3 4",
               "note: R's matrix() fills column by column, unless it says byrow = TRUE\n"
               "note: [X] is read as a matrix in R\n"});
  CHECK(pasted("m <- matrix(c(1, 2, 3, 4), 2, 2, byrow = TRUE)") == in_form("1 2 ; 3 4", "a matrix in R"));
  CHECK(pasted("rbind(c(1, 0), c(0.5, 1))") == in_form("1 0 ; 0.5 1", "a matrix in R"));
  CHECK(pasted("cbind(c(1, 2, 3), c(4, 5, 6))").matrix == "1 4 ; 2 5 ; 3 6");
  CHECK(pasted("structure(c(1, 3, 6, 5, -8, 5), dim = 2:3)").matrix == "1 6 -8 ; 3 5 5");
  CHECK(pasted("structure(c(1, 3, 6, 5), dim = c(2L, \n2L))").matrix == "1 6 ; 3 5");
}

TEST_CASE("what Octave and MATLAB print") {
  CHECK(pasted("A =\n\n   1.0000  -2.5000   0.2500\n        0   3.0000   4.0000\n\n") ==
        in_form("1.0000 -2.5000 0.2500 ; 0 3.0000 4.0000", "an Octave or MATLAB print"));
  // The common factor moves the point; no digit is lost.
  CHECK(pasted("A =\n\n   1.0e+03 *\n\n    0.0010    1.5000\n    2.0000   -0.0005\n") ==
        Pasted{"1.0 1500.0 ; 2000.0 -0.5",
               "note: every number is multiplied by the common factor 10^3\n"
               "note: [X] is read as an Octave or MATLAB print\n"});
  CHECK(pasted("A =\n\n Columns 1 and 2:\n\n   1   2\n   3   4\n\n Column 3:\n\n   5\n   6\n\n") ==
        in_form("1 2 5 ; 3 4 6", "an Octave or MATLAB print"));
  CHECK(pasted("ans =\n\nDiagonal Matrix\n\n   1   0\n   0   1\n\n") ==
        in_form("1 0 ; 0 1", "an Octave or MATLAB print"));
}

TEST_CASE("MATLAB's literals") {
  CHECK(pasted("Q = [1 -2.5 .25; 0, 3, 4];  % query") == Pasted{"1 -2.5 .25 ; 0 3 4", ""});
  CHECK(pasted("Q = [1 2 ...\n  3; 4 5 6]") == Pasted{"1 2 3 ; 4 5 6", ""});
  CHECK(pasted("Q = [1 2; 3 4]'").matrix == "1 3 ; 2 4");
}

TEST_CASE("what Julia and PyTorch's C++ print") {
  CHECK(pasted("2×3 Matrix{Float64}:\n 1.0  -2.5  0.25\n 0.0   3.0  4.0") ==
        in_form("1.0 -2.5 0.25 ; 0.0 3.0 4.0", "a Julia print"));
  CHECK(pasted("Columns 1 to 2 1  2\n").matrix == "refused");
  CHECK(pasted(" 0.01 *\n 1  2\n 3  4\n[ CPUFloatType{2,2} ]\n").matrix == "0.01 0.02 ; 0.03 0.04");
}

TEST_CASE("what dput of R writes, also of one number") {
  CHECK(pasted("structure(c(1, 2, 3, 4), dim = c(2L, 2L))").matrix == "1 3 ; 2 4");
  CHECK(pasted("structure(c(1, 2, 3, 4), .Dim = c(2L, 2L))").matrix == "1 3 ; 2 4");
  CHECK(pasted("structure(5, dim = c(1L, 1L))") == in_form("5", "a matrix in R"));
  CHECK(pasted("structure(-0.5, dim = c(1L, 1L), dimnames = list(\"a\", \"b\"))") ==
        in_form("-0.5", "a matrix in R"));
  CHECK(pasted("structure(2L, .Dim = c(1L, 1L))").matrix == "2");
}

TEST_CASE("lists of Rust and Go") {
  for (const std::string text :
       {"vec![vec![1.0, 2.5], vec![-3.0, 4.0]]",
        "let a: Vec<Vec<f64>> = vec![vec![1.0, 2.5], vec![-3.0, 4.0]];",
        "let mut a = vec![\n    vec![1.0_f64, 2.5],\n    vec![-3.0, 4.0f64],\n];",
        "let a: [[f64; 2]; 2] = [[1.0, 2.5], [-3.0, 4.0]];", "array![[1.0, 2.5], [-3.0, 4.0]]"}) {
    CAPTURE(text);
    CHECK(pasted(text) == in_form("1.0 2.5 ; -3.0 4.0", "a list in Rust"));
  }
  for (const std::string text :
       {"[][]float64{{1.0, 2.5}, {-3.0, 4.0}}", "a := [][]float64{\n\t{1.0, 2.5},\n\t{-3.0, 4.0},\n}\n",
        "var a = [2][2]float64{{1.0, 2.5}, {-3.0, 4.0}}", "[...][2]float64{{1.0, 2.5}, {-3.0, 4.0}}",
        "[][]float64{[]float64{1.0, 2.5}, []float64{-3.0, 4.0}}"}) {
    CAPTURE(text);
    CHECK(pasted(text) == in_form("1.0 2.5 ; -3.0 4.0", "a list in Go"));
  }
  CHECK(pasted("vec![1.0, 2.5]") == in_form("1.0 2.5", "a list in Rust"));
  CHECK(pasted("[]float64{1.0, 2.5}") == in_form("1.0 2.5", "a list in Go"));
  // Of several, the one with the section's name.
  CHECK(pasted("let q = vec![vec![1.0]];\nlet k: Vec<Vec<f64>> = vec![vec![2.0]];\n", "K").matrix == "2.0");
  CHECK(pasted("q := [][]float64{{1}}\nk := [][]float64{{2}}\n", "K").matrix == "2");
}

TEST_CASE("nested lists of Mathematica, JSON, C and C++") {
  CHECK(pasted("{{1, -5/2, 1/4}, {0, 3, 4.}}") == Pasted{"1 -5/2 1/4 ; 0 3 4.", ""});
  CHECK(pasted("{{1.5*^-3, Sqrt[2]/2}}") == Pasted{"1.5e-3 sqrt(2)/2", ""});
  CHECK(pasted("float K[2][3] = {{1.0f, -2.5f, .25f}, {0, 3, 4}};") ==
        in_form("1.0 -2.5 .25 ; 0 3 4", "an array in C or C++"));
  CHECK(pasted("std::vector<std::vector<double>> q{{1, 0}, {0, 1}};") ==
        in_form("1 0 ; 0 1", "an array in C or C++"));
  CHECK(pasted("Q = [\n  [1, 0, 1, 0],  # Input 1\n  [0, 2, 0, 2],  # Input 2\n]\n") ==
        Pasted{"1 0 1 0 ; 0 2 0 2", ""});
}

// ---- LaTeX and Markdown ----

TEST_CASE("LaTeX environments") {
  CHECK(pasted("\\begin{bmatrix} 1 & -2.5 & 0.25 \\\\ 0 & 3 & 4 \\end{bmatrix}") ==
        in_form("1 -2.5 0.25 ; 0 3 4", "a LaTeX matrix"));
  CHECK(pasted("M = \\begin{bmatrix} 0 & -\\infty \\\\[6pt] 0 & 0 \\\\ \\end{bmatrix}") ==
        in_form("0 -inf ; 0 0", "a LaTeX matrix"));
  CHECK(pasted("\\left[\\begin{array}{cc} 1 & 0 \\\\ \\hline 0 & 1 \\end{array}\\right]") ==
        in_form("1 0 ; 0 1", "a LaTeX matrix"));
  CHECK(pasted("1 & 0 \\\\\n0 & 1 \\\\\n") == in_form("1 0 ; 0 1", "a LaTeX matrix"));
  CHECK(pasted("\\begin{pmatrix} \\bbox[#FFF3E0,2pt]{1.0} & \\textcolor{red}{-2} \\end{pmatrix}") ==
        in_form("1.0 -2", "a LaTeX matrix"));
  CHECK(pasted("\\begin{bmatrix} v_0 \\\\ v_{1} \\end{bmatrix}", "", {.symbols = true}) ==
        in_form("v0 ; v1", "a LaTeX matrix"));
}

TEST_CASE("numbers in LaTeX") {
  const auto number = [](std::string_view latex) { return latex_number(latex).value_or("none"); };
  CHECK(number("\\frac{1}{2}") == "1/2");
  CHECK(number("-\\frac12") == "-1/2");
  CHECK(number("\\frac{-1}{\\sqrt{2}}") == "-1/sqrt(2)");
  CHECK(number("\\dfrac{2\\sqrt{3}}{3}") == "2*sqrt(3)/3");
  CHECK(number("\\frac{1}{2\\sqrt{3}}") == "1/2/sqrt(3)");  // not (1/2)·√3
  CHECK(number("\\frac{1}{\\frac{2}{3}}") == "1/2*3");
  CHECK(number("1.5 \\times 10^{-3}") == "1.5e-3");
  CHECK(number("10^{2}") == "1e2");
  CHECK(number("-\\infty") == "-inf");
  CHECK(number("5\\%") == "5%");
  CHECK(number("\\mathbf{0.5}") == "0.5");
  CHECK(number("\\underbrace{3}_{\\text{three}}") == "3");
  CHECK(number("1 0") == "none");  // an & was forgotten
  CHECK(number("\\alpha") == "none");
  CHECK(number("e^{-1}") == "none");
  CHECK(number("\\sqrt[3]{2}") == "none");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "\\frac";
  CHECK(number(deep) == "none");
}

TEST_CASE("Markdown tables, with row labels and a heading") {
  CHECK(
      pasted(
          "| | 小猫 | 坐在 |\n|---|---|---|\n| cat | 0.85 | 0.10 |\n| sits | **0.10** | $\\frac{4}{5}$ |") ==
      in_form("cat: 0.85 0.10 ; sits: 0.10 4/5", "a Markdown table"));
  CHECK(pasted("a | b\n--|--\n1 | 2\n3 | 4\n") == in_form("1 2 ; 3 4", "a Markdown table"));
}

TEST_CASE("where the cells of a Markdown table are vectors, the heading chooses") {
  const std::string table =
      "| 位置 | Key | Value |\n|---|---|---|\n| A | $[2,0]$ | $[1,0]$ |\n| B | $[0,2]$ | $[0,1]$ |";
  CHECK(pasted(table, "K") == in_form("A: 2 0 ; B: 0 2", "a Markdown table"));
  CHECK(pasted(table, "V") == in_form("A: 1 0 ; B: 0 1", "a Markdown table"));
  CHECK(pasted("| A |\n|---|\n| $[-\\frac{1}{2}, \\sqrt{2}, 3]$ |\n") ==
        in_form("-1/2 sqrt(2) 3", "a Markdown table"));
  CHECK(pasted(table, "Q").messages ==
        "error: the table has vectors in the columns Key, Value; which are meant cannot be told\n");
}

// ---- several matrices, and the name that chooses ----

TEST_CASE("matrices side by side are chosen by their heading") {
  const std::string text =
      "        Q = K            V\nt1   [1, 0]        [1.0, 0.0]\nt2   [0, 1]        [0.0, 1.0]\n";
  CHECK(pasted(text, "K").matrix == "t1: 1 0 ; t2: 0 1");
  CHECK(pasted(text, "V") ==
        Pasted{"t1: 1.0 0.0 ; t2: 0.0 1.0", "note: of 2 matrices side by side number 2 is read as [X]\n"});
  const std::string scaled =
      "       t1     t2             t1     t2\nt1 [   1      0  ]  / √2 [ 0.71   0    ]\nt2 [   0      1  ] "
      "────► [ 0      0.71 ]\n";
  CHECK(pasted(scaled, "scores").matrix == "t1: 1 0 ; t2: 0 1");
  CHECK(pasted(scaled, "scaled").matrix == "t1: 0.71 0 ; t2: 0 0.71");
  CHECK(pasted(scaled, "weights").messages == "error: two bracketed rows after one label\n");
}

TEST_CASE("a heading of single words names the matrices side by side") {
  const std::string text = "token Key Value\nt1 [1, 0] [1.0, 0.0]\nt2 [0, 1] [0.5, 0.5]";
  CHECK(pasted(text, "K").matrix == "t1: 1 0 ; t2: 0 1");
  CHECK(pasted(text, "V").matrix == "t1: 1.0 0.0 ; t2: 0.5 0.5");
}

TEST_CASE("named matrices are chosen by their name") {
  const std::string json = "{\"Q\":[[1,0]],\"K\":[[2,0]],\"mask\":null}";
  CHECK(pasted(json, "K") == Pasted{"2 0", "note: of several matrices the one named 'K' is read as [X]\n"});
  CHECK(pasted(json, "V").messages ==
        "error: several matrices stand here, Q, K, mask, and none has the name of [X]\n");
  const std::string sheet = "# worksheet 3\nQ:\n1 0\n0 1\n\nK:\n1 1\n0 1\n\nd_k = 2\n";
  CHECK(pasted(sheet, "Q").matrix == "1 0 ; 0 1");
  CHECK(pasted(sheet, "K").matrix == "1 1 ; 0 1");
  const std::string code =
      "Wq = torch.tensor([[1, 0],\n  [0, 1]], dtype=torch.float32)\nWk = torch.tensor([[0, 1],\n  [1, 0]])\n";
  CHECK(pasted(code, "W_K").matrix == "0 1 ; 1 0");
  CHECK(pasted("查询矩阵 Q ＝［［１，０］，［０，－２．５］］", "Q") == Pasted{"1 0 ; 0 -2.5", ""});
}

TEST_CASE("numbered vectors are the rows of the matrix of their letter") {
  const std::string text = "q1 = (1, 0)\nk1 = (2, 0)\nk2 = (0, 2)\n";
  CHECK(pasted(text, "Q").matrix == "q1: 1 0");
  CHECK(pasted(text, "K") ==
        Pasted{"k1: 2 0 ; k2: 0 2", "note: of the vectors q1, k1, k2 these are the rows of [X]: k1, k2\n"});
  CHECK(pasted("t1 = [1, 0]\nt2 = [0, 1]\n", "K") == Pasted{"t1: 1 0 ; t2: 0 1", ""});
}

TEST_CASE("a column vector behind a label is the row of its token, and alone it is a column") {
  CHECK(pasted("t1: (1, 2, 3)^T") ==
        Pasted{"t1: 1 2 3", "note: a column vector is read as the row of its token\n"});
  CHECK(pasted("(1, 2)^T\n(3, 4)^T\n").matrix == "1 2 ; 3 4");
  CHECK(pasted("q_1 = (1, 2)^T").matrix == "1 2");
  for (const std::string text : {"[1 2 3]'", "(1, 2, 3)^T", "[[1,2,3]].T", "W = [1, 2, 3]ᵀ"}) {
    CAPTURE(text);
    CHECK(pasted(text) == Pasted{"1 ; 2 ; 3", "note: [X] is transposed, as it is written: 3×1\n"});
  }
}

TEST_CASE("a whole number beside a fraction is no product, and two fractions are no number") {
  const std::string hint = "hint: write a fraction as 3/2 or 1.5, and alone\n";
  for (const std::string text : {"1½", "½½", "½ ⅓½", "1/½", "½3", "½½ 1", "1\\frac{1}{2} & 1",
                                 "1 & \\frac{1}{2}\\frac{1}{2}", "-2\\tfrac12"}) {
    CAPTURE(text);
    const Rows r = rows(text);
    CHECK(r.told.find(" error: ") != std::string::npos);
    CHECK(r.told.find(hint) != std::string::npos);
  }
  CHECK(pasted("1/2√2 1").messages == "error: '1/2√2' is not a number\n");  // 0.71 or 0.35
  CHECK(pasted("½ -½ 3*½ ½/2 2√2").matrix == "1/2 -1/2 3*1/2 1/2/2 2*sqrt(2)");
  CHECK(pasted("2\\sqrt{2} & \\frac{1}{2}\\sqrt{2} & 3\\cdot\\frac{1}{2}").matrix ==
        "2*sqrt(2) 1/2*sqrt(2) 3*1/2");
}

TEST_CASE("a first cell that is meant as a number is never the label of its row") {
  for (const auto& [text, cell] : {std::pair{"[[math.pi, 1],[math.pi, 2]]", "math.pi"},
                                   {"[[e^2,1],[e^3,2]]", "e^2"},
                                   {"e^2 1\ne^3 2", "e^2"},
                                   {"[[x+1,1],[x+2,2]]", "x+1"},
                                   {"π 1\nπ 2", "π"},
                                   {"≈0.5 1", "≈0.5"},
                                   {"[[~0.5,1],[~0.7,2]]", "~0.5"},
                                   {"<0.01, 0.5", "<0.01"},
                                   {"=1/2,2", "=1/2"},
                                   {"=A1,2\n=B1,3", "=A1"},
                                   {"£5 1", "£5"},
                                   {"——0.5 1", "——0.5"},
                                   {"True 1\nFalse 2", "True"},
                                   {"[int(2.7), 1]", "int(2.7)"},
                                   {"\\sqrt[3]{8}&1", "\\sqrt[3]{8}"},
                                   {"O 1\nl 0", "O"},
                                   {"| a | b |\n|---|---|\n| ≈0.5 | 1 |\n| ≈0.7 | 2 |", "≈0.5"},
                                   {"\u200b0.5 1", "\\u{200b}0.5"},
                                   {"matrix(c(x,y,1,2),2)", "x"}}) {
    const std::string paste = text;
    CAPTURE(paste);
    CHECK(pasted(paste).messages.find("error: '" + std::string(cell) + "' is not a number\n") !=
          std::string::npos);
  }
  CHECK(rows("≈0.5 1").told.find("hint: write the number alone, without '≈'") != std::string::npos);
  CHECK(rows("1 \u200b2").told.find("hint: an invisible character, U+200B; delete it") != std::string::npos);
  CHECK(rows("[[x^2, 1], [y, 2]]").told.find("':'") == std::string::npos);  // no label there
}

TEST_CASE("names before numbers are labels, also in brackets and in LaTeX") {
  CHECK(pasted("[[cat, 1], [x_1, 2]]").matrix == "cat: 1 ; x_1: 2");
  CHECK(pasted("[['cat', 1], ['dog', 2]]").matrix == "'cat': 1 ; 'dog': 2");
  CHECK(pasted("[[\"a.b\", 1], [\"c^d\", 2]]").matrix == "a.b: 1 ; c^d: 2");
  CHECK(pasted("\\text{小猫} & 1 \\\\ \\textbf{the dog} & 2").matrix == "小猫: 1 ; the dog: 2");
  CHECK(pasted("<pad> 1\n<0x0A> 2\ne.g. 3\nand/or 4\n🐱1 5").matrix ==
        "<pad>: 1 ; <0x0A>: 2 ; e.g.: 3 ; and/or: 4 ; 🐱1: 5");
  CHECK(pasted("O 1\nA 0").matrix == "O: 1 ; A: 0");
}

TEST_CASE("strings of JSON that name values are cells") {
  constexpr CellRules kValues{.symbols = true};
  CHECK(pasted("[[\"v0\",\"v1\"],[\"v1\",2]]", "V", kValues) == Pasted{"v0 v1 ; v1 2", ""});
  CHECK(pasted("[[\"v0\",1],[\"v1\",2]]", "V", kValues) == Pasted{"v0 1 ; v1 2", ""});
  CHECK(pasted("[[1,\"a\"],[\"b\",2]]", "V", kValues) == Pasted{"1 a ; b 2", ""});
  CHECK(pasted("[[\"cat\",1],[\"dog\",2]]", "V", kValues).matrix == "cat: 1 ; dog: 2");
}

TEST_CASE("a line of single dashes makes a table below a heading, and is missing values elsewhere") {
  for (const std::string dashes : {"|-|-|", "|:-|-:|", "| - | :-: |"}) {
    CAPTURE(dashes);
    CHECK(pasted("| a | b |\n" + dashes + "\n| 1 | 2 |") == in_form("1 2", "a Markdown table"));
  }
  CHECK(pasted("| a | b |\n|---|---|\n| 1 | 2 |\n| - | - |").messages.find("error: '-' is not a number") !=
        std::string::npos);
}

TEST_CASE("Excel's first line says what separates") {
  const std::string note =
      "note: commas in [X] are read as decimal points, because ';' separates the numbers\n";
  CHECK(pasted("sep=;\n1,5;2\n3;4,5\n") == Pasted{"1.5 2 ; 3 4.5", note});
  CHECK(pasted("sep=;\n1;2\n") == Pasted{"1 2", ""});  // without it ";" would end a row
  CHECK(pasted("sep=,\n,a,b\nt1,1,2\n") == pasted(",a,b\nt1,1,2\n"));
}

TEST_CASE("prompts around a matrix are no part of it") {
  CHECK(pasted(">>> A\n[[1 2]\n [3 4]]\n>>>\n") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("> A\n     [,1] [,2]\n[1,]    1    2\n> ") == in_form("1 2", "an R print"));
  CHECK(pasted("> A <- matrix(1:4, 2)\n> A\n     [,1] [,2]\n[1,]    1    3\n[2,]    2    4\n> ").matrix ==
        "1 3 ; 2 4");
  CHECK(pasted("julia> A = [1 2; 3 4]") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("julia> A = [1 2\n  3 4]") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("julia> A = [1 2; 3 4]\n2×2 Matrix{Int64}:\n 1  2\n 3  4\n\njulia> ") ==
        in_form("1 2 ; 3 4", "a Julia print"));
  CHECK(pasted("octave:1> A = [1 2]\nA =\n\n   1   2\n\noctave:2> ") ==
        in_form("1 2", "an Octave or MATLAB print"));
  CHECK(pasted("> 1 0\n< 0 1\n").matrix == ">: 1 0 ; <: 0 1");  // tokens
  CHECK(pasted("julia> A = [1 2]\njulia> B = [3 4]\n").matrix == "refused");
}

TEST_CASE("rows of LaTeX end with \\cr too, and a table has a heading") {
  CHECK(pasted("\\begin{bmatrix} 1 & 2 \\cr 3 & 4 \\end{bmatrix}") == in_form("1 2 ; 3 4", "a LaTeX matrix"));
  CHECK(
      pasted(
          "\\begin{tabular}{c|cc}\n & $k_1$ & b \\\\ \\hline\n$q_1$ & 1 & 2 \\\\\nt2 & 3 & 4\n\\end{tabular}")
          .matrix == "q1: 1 2 ; t2: 3 4");
  CHECK(pasted("\\begin{bmatrix} & 2 \\\\ 3 & 4 \\end{bmatrix}")
            .messages.starts_with("error: a number is missing here\n"));
}

TEST_CASE("the brackets of a Chinese keyboard are brackets around numbers, and part of a label else") {
  CHECK(pasted("【1，2】") == Pasted{"1 2", ""});
  CHECK(pasted("W = 【【1，2】，【-3，4】】") == Pasted{"1 2 ; -3 4", ""});
  CHECK(pasted("猫：【1，2】\n狗：【3，4】").matrix == "猫: 1 2 ; 狗: 3 4");
  CHECK(pasted("【CLS】 1 0\n猫 0 1").matrix == "【CLS】: 1 0 ; 猫: 0 1");
}

TEST_CASE("arrows stand behind labels") {
  CHECK(pasted("please → [1, 0]\nstudy -> [0, 2]\n") == Pasted{"please: 1 0 ; study: 0 2", ""});
  CHECK(pasted("t1 → [0.6, 0.4]     t2 → [0.4, 0.6]\n") == Pasted{"t1: 0.6 0.4 ; t2: 0.4 0.6", ""});
}

// ---- headings, commas, missing values ----

TEST_CASE("a row of names above numbers is a heading") {
  const auto with_heading = [](const std::string& matrix, const std::string& heading) {
    return Pasted{matrix, "note: '" + heading + "' is read as a heading, not as a row\n"};
  };
  CHECK(pasted("token,d1,d2\nthe,1,-2.5\ncat,0,3\n") ==
        with_heading("the: 1 -2.5 ; cat: 0 3", "token d1 d2"));
  CHECK(pasted("\tthe\tcat\nthe\t0.5\t0.5\ncat\t0.25\t0.75\n") ==
        with_heading("the: 0.5 0.5 ; cat: 0.25 0.75", "the cat"));
  CHECK(pasted("          t1     t2\nt1   [   1      0  ]\nt2   [   0      1  ]") ==
        with_heading("t1: 1 0 ; t2: 0 1", "t1 t2"));
  CHECK(pasted("     0    1\n0  1.0  2.0\n1  3.0  4.0\n") ==
        with_heading("1.0 2.0 ; 3.0 4.0", "0 1"));                                     // pandas
  CHECK(pasted("          V1\n1 0.3455842\n") == with_heading("0.3455842", "V1"));     // R
  CHECK(pasted("v0 v1\n1 0\n", "V", {.symbols = true}) == Pasted{"v0 v1 ; 1 0", ""});  // values
  CHECK(pasted("O O\n1 0\n").messages.starts_with("error: 'O' is not a number\n"));    // mistyped zeros
}

TEST_CASE("quotes of a spreadsheet are no labels") {
  CHECK(pasted("\"1.5\",\"2\"\n\"0\",\"3\"\n") == Pasted{"1.5 2 ; 0 3", ""});
  CHECK(pasted("\"a\",\"1\"\n\"b\",\"2\"\n") == Pasted{"a: 1 ; b: 2", ""});
  CHECK(pasted("\"1,5\",\"2\"\n") ==
        Pasted{"1.5 2",
               "note: commas in [X] are read as decimal points, because quotes enclose the numbers\n"});
}

TEST_CASE("a heading stands above decimal commas too") {
  CHECK(pasted("\tthe\tcat\nthe\t1,5\t2\n") ==
        Pasted{"the: 1.5 2",
               "note: 'the cat' is read as a heading, not as a row\n"
               "note: commas in [X] are read as decimal points, because a tab separates the numbers\n"});
}

TEST_CASE("commas inside numbers are decimal or of thousands, as all numbers together tell") {
  CHECK(
      pasted("1,234.5\t2\n1,000\t3\n") ==
      Pasted{"1234.5 2 ; 1000 3",
             "note: commas in [X] are read as thousands separators, because a tab separates the numbers\n"});
  CHECK(pasted("1.234,5\t2\n1,000\t3\n").matrix == "1234.5 2 ; 1.000 3");
  CHECK(pasted("1,234,567\t2\n").matrix == "1234567 2");
}

TEST_CASE("a mark is not the decimal point in one number and of thousands in another") {
  const std::string hint =
      "     = hint: write every number with '.' as its decimal point and without marks between thousands\n";
  CHECK(rows("1,234.5\t2\n1,5\t3\n").told ==
        "m.txt:2:1: error: '1,5' has a decimal comma, but '1,234.5' a decimal point\n"
        "   2 | 1,5 3\n"
        "     | ^^^\n" +
            hint);
  for (const std::string text : {"1,234.5;2,5\n3;4", "\"1,234.5\";\"1,5\"", "1.234,5;1,234.5\n3;4",
                                 "1.5\t1.234,5", "2.5\t1,5", "1 & 2.5 \\\\ 1{,}5 & 3"}) {
    CAPTURE(text);
    CHECK(pasted(text).messages.find("has a decimal comma, but") != std::string::npos);
  }
  // What stands nowhere in a number, and what may be either where nothing tells.
  CHECK(pasted("1,23.5\t2").messages == "error: '1,23.5': commas and points do not stand as in a number\n");
  CHECK(
      pasted("1,5\t1.234").messages ==
      "error: the point in '1.234' may set thousands apart, or be a decimal point: the numbers of [X] do not "
      "tell\n");
  // All numbers together tell.
  CHECK(pasted("1,234\t2.5").matrix == "1234 2.5");
  CHECK(pasted("1.234,5\t1.234").matrix == "1234.5 1234");
  CHECK(pasted("\"1,234\",2.5").matrix == "1234 2.5");
}

TEST_CASE("a number with commas between numbers without is in doubt") {
  const std::string note = "note: '1,5' is read as two numbers; a decimal point is written '.'\n";
  CHECK(pasted("1,5;2,5") == Pasted{"1 5 ; 2 5", note});
  CHECK(pasted("1,5, 0,25") == Pasted{"1 5 0 25", note});
  CHECK(pasted("1,5 2") == Pasted{"1 5 2", note});
  CHECK(pasted("1,234;2,345").messages ==
        "note: '1,234' is read as two numbers; a decimal point is written '.'\n");
  CHECK(pasted("1,234.5 2").messages == "error: '1,234.5' may be one number or several\n");
  CHECK(pasted("1.234,5;1,234.5").messages == "error: '1.234,5' may be one number or several\n");
  CHECK(pasted("[1,5; 2,5]") == Pasted{"1 5 ; 2 5", ""});  // brackets leave no doubt
}

TEST_CASE("spaces inside the numbers of a table are thousands separators, as commas may be") {
  const std::string spaces = "note: spaces inside a number of [X] are read as thousands separators\n";
  const std::string commas =
      "note: commas in [X] are read as decimal points, because a tab separates the numbers\n";
  for (const std::string space : {" ", "\u00a0", "\u202f", "\u2009", "\u2007"}) {
    CAPTURE(space);
    CHECK(pasted("1" + space + "234.5\t-2" + space + "000\n3.5\t4\n") ==
          Pasted{"1234.5 -2000 ; 3.5 4", spaces});
    CHECK(pasted("1" + space + "234,5\t2\n3,5\t12" + space + "345" + space + "678\n") ==
          Pasted{"1234.5 2 ; 3.5 12345678", spaces + commas});
    CHECK(pasted("1" + space + "234.5,2\n3.5,4\n") == Pasted{"1234.5 2 ; 3.5 4", spaces});
    CHECK(pasted("1" + space + "234,5;2\n3,5;4\n").matrix == "1234.5 2 ; 3.5 4");
    // Under a heading, with labels, in quotes.
    CHECK(pasted("\tthe\tcat\nthe\t1" + space + "234,5\t2\ncat\t1\t2\n").matrix ==
          "the: 1234.5 2 ; cat: 1 2");
    CHECK(pasted(",a,b\nr,\"1" + space + "234,5\",2\ns,1,2\n").matrix == "r: 1234.5 2 ; s: 1 2");
  }
}

TEST_CASE("elsewhere spaces separate numbers") {
  CHECK(pasted("1 234 567\n") == Pasted{"1 234 567", ""});
  CHECK(pasted("1 200, 3 400\n") == Pasted{"1 200 3 400", ""});                            // a list
  CHECK(pasted("[1 200;3 400]") == Pasted{"1 200 ; 3 400", ""});                           // MATLAB
  CHECK(pasted("1 200;3 400") == Pasted{"1 200 ; 3 400", ""});                             // on one line
  CHECK(pasted("1 200\t3 40\n5 600\t7 800\n") == Pasted{"1 200 3 40 ; 5 600 7 800", ""});  // 40 is no group
  CHECK(pasted("0 200\t3 400\n") == Pasted{"0 200 3 400", ""});  // nor does a group follow 0
  CHECK(pasted("1234 567\t1\n") == Pasted{"1234 567 1", ""});
}

// Found by the fuzzer: such a row has no first word to look at.
TEST_CASE("a row that is only a sign has no words") {
  CHECK(messages(rows(":\n")) == "error: ':' stands only after the label of a row\n");
}

TEST_CASE("what is missing is told where it is missing") {
  CHECK(rows("1,NA\n2,\n3,-\n").told ==
        "m.txt:2:2: error: no number behind this ','\n"
        "   2 | 2,\n"
        "     |  ^\n"
        "     = hint: write 0 for a zero\n"
        "m.txt:1:3: error: 'NA' is not a number\n"
        "   1 | 1,NA\n"
        "     |   ^^\n"
        "     = hint: a missing value; every cell needs a number\n"
        "m.txt:3:3: error: '-' is not a number\n"
        "   3 | 3,-\n"
        "     |   ^\n"
        "     = hint: a missing value; every cell needs a number\n");
  CHECK(rows("| a | b |\n|---|---|\n| 1 | |\n| 2 | 3 |\n")
            .told.starts_with("m.txt:3:6: error: a number is missing here\n"));
  CHECK(rows("\\begin{bmatrix} 1 & & 3 \\end{bmatrix}")
            .told.starts_with("m.txt:1:21: error: a number is missing here\n"));
  CHECK(rows("1+2j 0\n").told.find("a complex number") != std::string::npos);
}

TEST_CASE("True and ticks are 1, in a mask only") {
  CHECK(pasted("✓ ✗ ✗\n✓ ✓ ✗\n", "mask", {.truth = true}) == Pasted{"1 0 0 ; 1 1 0", ""});
  CHECK(pasted("tensor([[ True, False],\n        [ True,  True]])", "mask", {.truth = true}) ==
        in_form("1 0 ; 1 1", "a PyTorch tensor"));
  CHECK(rows("1 True\n").told.find("hint: write 1 or 0") != std::string::npos);
}

// ---- numbers ----

TEST_CASE("numbers as programs and books spell them") {
  CHECK(plain("1.5×10^-3 2e3 1.2E+01 -4.0·10⁻²\n") == "1.5e-3 2e3 1.2E+01 -4.0e-2");
  CHECK(plain("√2 √2/2 2√3 –1 1_000 ½ 3//4\n") == "sqrt(2) sqrt(2)/2 2*sqrt(3) -1 1000 1/2 3/4");
  CHECK(plain("np.sqrt(2) Fraction(1, 3) float('0.5')\n") == "sqrt(2) 1/3 0.5");
  CHECK(plain("-np.inf float('-inf') -Infinity −∞\n", kScores) == "-inf -inf -inf -inf");
}

TEST_CASE("a power of ten moves the point and loses no digit") {
  const auto moved = [](std::string_view number, int power) {
    return times_power_of_ten(number, power).value_or("none");
  };
  CHECK(moved("0.0010", 3) == "1.0");
  CHECK(moved("-0.0005", 3) == "-0.5");
  CHECK(moved("1.5000", -3) == "0.0015000");
  CHECK(moved("12", 2) == "1200");
  CHECK(moved("0", 3) == "0");
  CHECK(moved("1.5e-3", 3) == "1.5e0");
  CHECK(moved("-Inf", 3) == "-Inf");
  CHECK(moved("abc", 3) == "none");
}

// ---- what web pages and terminals add ----

TEST_CASE("colours, code fences and line numbers are dropped") {
  CHECK(pasted("\x1b[31m1\x1b[0m 0\n0 \x1b[1;32m1\x1b[0m\n") == Pasted{"1 0 ; 0 1", ""});
  CHECK(pasted("```python\n[[1, 0],\n [0, 1]]\n```\n") == Pasted{"1 0 ; 0 1", ""});
  CHECK(pasted("1[-1.8, 0.7]\n").matrix == "-1.8 0.7");
}

TEST_CASE("prompts, shapes and frames around a matrix are dropped") {
  CHECK(pasted(">>> a\narray([[1., 2.],\n       [3., 4.]])\n") == in_form("1. 2. ; 3. 4.", "a NumPy array"));
  CHECK(pasted("In [1]: a\nOut[1]: \narray([[1., 2.]])\n") == in_form("1. 2.", "a NumPy array"));
  CHECK(pasted("torch.Size([2, 2])\n[[1, 2],\n [3, 4]]\n") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("(2, 2)\n[[1 2]\n [3 4]]\n") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("(2, 2)\n(3, 4)\n") == Pasted{"2 2 ; 3 4", ""});  // rows
  CHECK(pasted("$[0.576,0.140]$\n") == Pasted{"0.576 0.140", ""});
  CHECK(pasted("⎡1  2⎤\n⎢    ⎥\n⎣3  4⎦\n") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("+---+---+\n| 1 | 2 |\n+---+---+\n| 3 | 4 |\n+---+---+\n") ==
        in_form("1 2 ; 3 4", "a Markdown table"));
  CHECK(pasted("| t1 | 1 | 0 |\n| t2 | 0 | 1 |\n") == in_form("t1: 1 0 ; t2: 0 1", "a Markdown table"));
}

TEST_CASE("what would be lost beside a matrix is an error, not overlooked") {
  CHECK(pasted("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}^T").matrix == "1 2");
  CHECK(pasted("\\frac{1}{2}\\begin{pmatrix} 1 & 2 \\end{pmatrix}").messages ==
        "error: a factor stands before the matrix\n");
  CHECK(pasted("\\begin{pmatrix} 1 & 2 \\end{pmatrix} / \\sqrt{2}").messages ==
        "error: what stands behind the matrix would be lost\n");
  CHECK(pasted("new Array([1, 2], [3, 4])").matrix != "1 2");
}

TEST_CASE("before and behind a matrix nothing that changes its numbers is overlooked") {
  const std::string matrix = "\\begin{bmatrix} 1 & 2 \\\\ 3 & 4 \\end{bmatrix}";
  for (const std::string before :
       {"-", "2", "2\\,", "X", "X^T ", "\\alpha", "Q = -", "Q = K^T", "\\frac{1}{2}", "$-", "-\\left[",
        "softmax(", "\\mathrm{softmax}\\left(", "\\cdot"}) {
    CAPTURE(before);
    CHECK(pasted(before + matrix).messages == "error: a factor stands before the matrix\n");
  }
  for (const std::string after : {"^{-1}", "^2", "^{T}^T", " K", "K", "\\mathbf{v}", " + 1", "\\right]^{-1}",
                                  "'^2", "\\odot M", "/2", "\\sqrt{2}"}) {
    CAPTURE(after);
    CHECK(pasted(matrix + after).messages == "error: what stands behind the matrix would be lost\n");
  }
  for (const std::string after : {"^T", "^{\\top}", "^{\\mathsf{T}}", "'", "\\right]^T"}) {
    CAPTURE(after);
    CHECK(pasted(matrix + after).matrix == "1 3 ; 2 4");
  }
  for (const auto& [before, after] : {std::pair{"The matrix is $", "$, as said"},
                                      {"$$Q = ", ".$$ where"},
                                      {"\\[\nQ = ", "\n\\]"},
                                      {"matrix Q: ", ""},
                                      {"查询矩阵 ", "，其中"},
                                      {"\\mathbf{Q} = ", "\\in\\mathbb{R}^{2\\times 2}"},
                                      {"Q = ", "_{2\\times 2} \\quad \\text{and}"},
                                      {"\\begin{aligned} Q &= ", " \\\\ \\end{aligned}"}}) {
    const std::string paste = before + matrix + after;
    CAPTURE(paste);
    CHECK(pasted(paste) == in_form("1 2 ; 3 4", "a LaTeX matrix"));
  }
  for (const std::string text :
       {"-[1 2; 3 4]", "2*[1 2]", "A = -[1 2; 3 4]", "-np.array([[1, 2]])", "2*np.array([[1, 2]])"}) {
    CAPTURE(text);
    CHECK(pasted(text).messages.starts_with("error: what stands before the matrix would be lost\n"));
  }
}

TEST_CASE("comments and rules in LaTeX") {
  CHECK(pasted("\\begin{bmatrix}\n1 & 2 \\\\ % first\n3 & 4%\n\\end{bmatrix}") ==
        in_form("1 2 ; 3 4", "a LaTeX matrix"));
  CHECK(pasted("\\begin{bmatrix} 40\\% & 60% \\end{bmatrix}") == in_form("40% 60%", "a LaTeX matrix"));
  CHECK(
      pasted(
          "\\begin{tabular}{cc}\n\\toprule\na & b \\\\\n\\midrule\n1 & 2 \\\\\n\\bottomrule\n\\end{tabular}")
          .matrix == "1 2");
}

TEST_CASE("a call that computes is refused; what it would give is not written there") {
  for (const auto& [text, name] : {std::pair{"np.zeros((2,3))", "np.zeros"},
                                   {"torch.eye(3)", "torch.eye"},
                                   {"Q = eye(3)", "eye"},
                                   {"ones(2,2)", "ones"},
                                   {"inv([1 2;3 4])", "inv"},
                                   {"[[exp(1), 2]]", "exp"},
                                   {"np.linalg.inv(np.array([[1,2],\n[3,4]]))", "np.linalg.inv"},
                                   {"IdentityMatrix[2]", "IdentityMatrix"},
                                   {"sqrt([4 9])", "sqrt"},
                                   {"flipud([1 0; 0 2])", "flipud"},
                                   {"normalize([3 4])", "normalize"},
                                   {"int32([1.6 2;3 4])", "int32"},
                                   {"exp.([1 2;3 4])", "exp."},
                                   {"rev(c(1,2,3))", "rev"},
                                   {"softmax(1, 2)", "softmax"},
                                   {"A([1, 2])", "A"},
                                   {"转置([[1, 2], [3, 4]])", "转置"},
                                   {"pd.DataFrame([[1, 2], [3, 4]])", "pd.DataFrame"},
                                   {"Normalize[{3, 4}]", "Normalize"},
                                   {"np.r_[1, 2]", "np.r_"},
                                   {"[[1, 2]].sum()", ".sum"}}) {
    const std::string call = text;
    CAPTURE(call);
    CHECK(pasted(call).messages ==
          "error: '" + std::string(name) + "(…)' is a call that computes, and code is not run\n");
  }
  // A point and its coordinates, and what else stands before a row as its name.
  CHECK(pasted("A(1, 2)").matrix == "A: 1 2");
  CHECK(pasted("x_1(1, 2)\nx_2(3, 4)").matrix == "x_1: 1 2 ; x_2: 3 4");
  CHECK(pasted("小猫(1, 0)\n小狗（0，1）").matrix == "小猫: 1 0 ; 小狗: 0 1");
  CHECK(pasted("exp (1, 0)\nsum: (0, 1)").matrix == "exp: 1 0 ; sum: 0 1");
  CHECK(pasted("t1[1, 0]\nt2 [0, 1]").matrix == "t1: 1 0 ; t2: 0 1");
  CHECK(pasted("[[sqrt(2), np.float64(1)]]").matrix == "sqrt(2) 1");
}

TEST_CASE("a list of arrays is the rows, as Python prints it") {
  CHECK(pasted("[array([1, 2]), array([3, 4])]") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("(tensor([1., 2.]), tensor([3., 4.]))") == Pasted{"1. 2. ; 3. 4.", ""});
}

TEST_CASE("what a call is given is heeded, or refused by its name") {
  // R fills columns, takes the beginning of a name for the name, and begins again where numbers are missing
  // (help pages of matrix and array).
  for (const auto& [call, matrix] : {std::pair{"matrix(1:6, nc=2)", "1 4 ; 2 5 ; 3 6"},
                                     {"matrix(1:6, nr=3, by=TRUE)", "1 2 ; 3 4 ; 5 6"},
                                     {"matrix(1:6, 2, 3, TRUE)", "1 2 3 ; 4 5 6"},
                                     {"matrix(ncol=3, 1:6)", "1 3 5 ; 2 4 6"},
                                     {"matrix(0, 2, 2)", "0 0 ; 0 0"},
                                     {"matrix(1:2, 2, 2)", "1 1 ; 2 2"},
                                     {"matrix(1:2, 2, 2, byrow=T)", "1 2 ; 1 2"},
                                     {"array(c(1,2,3,4,5,6), dim=c(2,3))", "1 3 5 ; 2 4 6"},
                                     {"array(1:6, c(2,3))", "1 3 5 ; 2 4 6"},
                                     {"array(0, dim=c(1,2))", "0 0"},
                                     {"np.array([1,2,3,4]).reshape((2,2))", "1 2 ; 3 4"},
                                     {"np.array([1,2,3,4]).reshape(2,2,order='C')", "1 2 ; 3 4"},
                                     {"tf.constant([1,2,3,4], shape=(2,2))", "1 2 ; 3 4"},
                                     {"tf.constant([[1,2,3],[4,5,6]], shape=(3,2))", "1 2 ; 3 4 ; 5 6"},
                                     {"tf.constant(5, shape=(2,2))", "5 5 ; 5 5"},
                                     {"tf.constant([1,2], tf.float32, (2,1))", "1 ; 2"},
                                     {"Matrix(2,2,[1,2,3,4])", "1 2 ; 3 4"},
                                     {"torch.tensor(np.array([1,2,3,4]).reshape(2,2))", "1 2 ; 3 4"},
                                     {"np.array([[1., 2]], dtype=int)", "1. 2"},
                                     {"np.array([[0, 1]], dtype=bool)", "0 1"},
                                     {"np.array([1.5, 2], 'f4')", "1.5 2"},
                                     {"torch.tensor([1.5, 2]).to('cpu')", "1.5 2"},
                                     {"tensor(2.5)", "2.5"}}) {
    const std::string text = call;
    CAPTURE(text);
    CHECK(pasted(text).matrix == matrix);
  }
  for (const auto& [call, argument] :
       {std::pair{"np.array([1,2,3,4]).reshape(2,2,order='F')", "order='F'"},
        {"array(1:8, dim=c(2,2,2))", "dim=c(2,2,2)"},
        {"matrix(1:6, nrow=n)", "nrow=n"},
        {"matrix(1:6, n=2)", "n=2"},
        {"matrix(matrix(1:4,2),1)", "matrix(1:4,2)"},
        {"rbind(t(c(1,2)), c(3,4))", "t(c(1,2))"},
        {"np.array([1,2],[3,4])", "[3,4]"},
        {"np.array([[1,2]]*3)", "*3"},
        {"np.array([1,2], power=3)", "power=3"},
        {"tensor(indices=[[0],[1]], values=[3.], size=(1, 2))", "indices=[[0],[1]]"}}) {
    const std::string text = call;
    CAPTURE(text);
    CHECK(pasted(text) == Pasted{"refused", "error: '" + std::string(argument) +
                                                "' is not understood, and may change the matrix\n"});
  }
  for (const auto& [call, said] :
       {std::pair{"np.array([[1.6, 2]]).astype(int)", "'astype(int)' changes the number 1.6"},
        {"np.array([1.5, 2], dtype=int)", "'dtype=int' changes the number 1.5"},
        {"np.array([1.5, 2], int)", "'int' changes the number 1.5"},
        {"np.array([0, 2], dtype=bool)", "'dtype=bool' changes the number 2"},
        {"torch.tensor([1.5]).to(torch.int32)", "'to(torch.int32)' changes the number 1.5"},
        {"[[1.5, 2]].astype(np.int64)", "'astype(np.int64)' changes the number 1.5"},
        {"[2*np.float64(0.5), 1]", "'2*np.float64(0.5)' is not a number"}}) {
    const std::string text = call;
    CAPTURE(text);
    const Pasted read = pasted(text);
    CHECK(read.messages == "error: " + std::string(said) + "\n");
  }
}

TEST_CASE("R's t() and .T turn what was laid out") {
  CHECK(pasted("t(matrix(c(1,2,3,4,5,6),2))").matrix == "1 2 ; 3 4 ; 5 6");
  CHECK(pasted("np.array([1,2,3,4,5,6]).reshape(2,3).T").matrix == "1 4 ; 2 5 ; 3 6");
  CHECK(pasted("matrix(0, nrow=2, ncol=3)").matrix == "0 0 0 ; 0 0 0");
}

TEST_CASE("a range of whole numbers is its numbers, with a note") {
  CHECK(pasted("[1:3]") == Pasted{"1 2 3", "note: '1:3' is read as a range: 3 numbers from 1 on\n"});
  CHECK(pasted("[1:3; 4:6]").matrix == "1 2 3 ; 4 5 6");
  CHECK(pasted("[1:2:7]").matrix == "1 3 5 7");
  CHECK(pasted("matrix(1:6, 2)").matrix == "1 3 5 ; 2 4 6");
  CHECK(pasted("matrix(1:6, nrow=2, byrow=TRUE)").matrix == "1 2 3 ; 4 5 6");
  CHECK(pasted("rbind(1:3, 4:6)").matrix == "1 2 3 ; 4 5 6");
  CHECK(pasted("c(-1:1)").matrix == "-1 0 1");
  CHECK(pasted("1:3").messages == "error: '1:3' may be a range or a label with its number\n");
  CHECK(pasted("[3:1]").messages ==
        "error: '3:1' counts down: some languages read it as nothing, others backwards\n");
  CHECK(pasted("1: 3\n2: 4").matrix == "1: 3 ; 2: 4");  // labels
}

TEST_CASE("an array in C has the shape that is declared") {
  CHECK(pasted("int a[2][3] = {1,2,3,4,5,6};") == in_form("1 2 3 ; 4 5 6", "an array in C or C++"));
  CHECK(pasted("int a[][3] = {1,2,3,4,5,6};").matrix == "1 2 3 ; 4 5 6");
  CHECK(pasted("int a[2][3] = {1,2,3,4,5};").messages == "error: 5 numbers do not fill 2 rows of 3\n");
  CHECK(pasted("int a[2][3] = {{1,2},{3,4}};").messages ==
        "error: 2 rows of 3 are declared, and the lists do not fill them\n");
  CHECK(pasted("/* two\n lines */\nint a[2][2] = {{1, 2}, /* here */ {3, 4}};").matrix == "1 2 ; 3 4");
}

TEST_CASE("the error of a spreadsheet's cell is no comment, no label and no number") {
  for (const std::string name :
       {"#VALUE!", "#DIV/0!", "#N/A", "#REF!", "#NAME?", "#NUM!", "#NULL!", "Err:502"}) {
    const std::string message = "error: '" + std::string(name) +
                                "' is what a spreadsheet shows where a formula has failed, not a number\n";
    for (const std::string& text : {std::string("1\t") + name + "\n2\t3", name + std::string("\t1\n2\t3"),
                                    std::string(name) + ",1", "1,2\n3," + std::string(name)}) {
      CAPTURE(text);
      CHECK(pasted(text).messages == message);
    }
  }
  CHECK(pasted("1 2 #N/Adequate\n").matrix == "1 2");  // a comment
}

TEST_CASE("a missing value is an error where symbols are legal too") {
  for (const std::string name : {"NA", "null", "None", "<NA>"}) {
    CAPTURE(name);
    CHECK(pasted(std::string("1 ") + name, "V", {.symbols = true}).messages ==
          "error: '" + std::string(name) + "' is not a number\n");
  }
}

TEST_CASE("of a paste that was cut or is torn nothing is taken for whole") {
  CHECK(pasted("matrix(1:6,, ").messages.find("the brackets do not match; was all of it copied?") !=
        std::string::npos);
  CHECK(pasted("-[1 2;:\n1 2\n3 4 3 4]").messages.starts_with("error: "));
  CHECK(pasted("|a|b|\n|---|---|\n|[1,0]|[0,1]|\n|\n|[1,0]|[0,1]|", "b").messages.starts_with("error: "));
}

TEST_CASE("nothing of a list is lost where its brackets are uneven") {
  CHECK(pasted("[1,2,[3,4]]").messages == "error: a list inside a row of numbers\n");
  CHECK(pasted("[[1],[2],[]]").messages == "error: a row without numbers\n");
  CHECK(pasted("|  |  |\n|---|---|\n| 1 | 2 |") == in_form("1 2", "a Markdown table"));
}

TEST_CASE("in V headings and the labels of tables are no symbols") {
  constexpr CellRules kValues{.symbols = true};
  CHECK(pasted("c0,c1\n1,2\n3,4", "V", kValues) ==
        Pasted{"1 2 ; 3 4", "note: 'c0 c1' is read as a heading, not as a row\n"});
  CHECK(pasted("r0\t1\t2\nr1\t3\t4", "V", kValues) ==
        Pasted{"r0: 1 2 ; r1: 3 4", "note: 'r0' is read as the label of its row, not as a symbol\n"});
  CHECK(pasted("   a b\nx  1 2\ny  3 4", "V", kValues).matrix == "x: 1 2 ; y: 3 4");
  CHECK(pasted("v0,v1\n1,2", "V", kValues) == Pasted{"v0 v1 ; 1 2", ""});
  CHECK(pasted("v0,1\nv1,2", "V", kValues) == Pasted{"v0 1 ; v1 2", ""});
  CHECK(pasted("a,b\nc,d", "V", kValues) == Pasted{"a b ; c d", ""});
}

TEST_CASE("a name printed before its matrix is its name") {
  CHECK(pasted("Q: array([[1, 2]])") == in_form("1 2", "a NumPy array"));
  CHECK(pasted("weights tensor([[1., 2.]])") == in_form("1. 2.", "a PyTorch tensor"));
  CHECK(pasted("Q: [[1, 2], [3, 4]]") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("Q: [1 2; 3 4]") == Pasted{"1 2 ; 3 4", ""});
  CHECK(pasted("Q [[1. 2.]\n [3. 4.]]") == Pasted{"1. 2. ; 3. 4.", ""});
  CHECK(pasted("Q:\ntensor([[1., 2.],\n        [3., 4.]])") == in_form("1. 2. ; 3. 4.", "a PyTorch tensor"));
  CHECK(pasted("Q: tensor([[1.]])\nK: tensor([[2.]])", "K").matrix == "2.");
  CHECK(pasted("t1: [1, 0]\nt2: [0, 1]").matrix == "t1: 1 0 ; t2: 0 1");  // rows
}

TEST_CASE("prompts of Python, lines of MATLAB, words of Julia and Mathematica") {
  CHECK(pasted(">>> a = [[1, 2],\n...      [3, 4]]").matrix == "1 2 ; 3 4");
  CHECK(pasted("A = [1 2 3; ...\n 4 5 6];").matrix == "1 2 3 ; 4 5 6");
  CHECK(pasted("A =\n\n  2×2 single matrix\n\n   1.0   0.5\n   0   1\n").matrix == "1.0 0.5 ; 0 1");
  CHECK(pasted("A =\n\n  1/2 -1/0\n  1/0 3\n").matrix == "1/2 -inf ; inf 3");
  CHECK(pasted("Float32[1.0 2.0; 3.0 4.0]") == in_form("1.0 2.0 ; 3.0 4.0", "a list in Julia"));
  CHECK(pasted("MatrixForm[{{1, 2.5`20}, {3, 4}}]") == in_form("1 2.5 ; 3 4", "a list in Mathematica"));
}

TEST_CASE("what pandas writes and prints, and quotes within quotes") {
  CHECK(pasted(",0,1\n0,1.5,2.5\n") == Pasted{"1.5 2.5", "note: '0 1' is read as a heading, not as a row\n"});
  CHECK(pasted("     a    b\nx  1.0  2.0\ny  3.0  4.0\n\n[2 rows x 2 columns]").matrix ==
        "x: 1.0 2.0 ; y: 3.0 4.0");
  CHECK(pasted("\"a \"\"b\"\"\",3,4\n\"c\",5,6") == Pasted{"a \"b\": 3 4 ; c: 5 6", ""});
}

TEST_CASE("a semicolon in every line separates the numbers of a row, with a note") {
  const std::string note = "note: ';' separates the numbers of a row in [X], as it stands in every line\n";
  CHECK(pasted("1;2\n3;4\n") == Pasted{"1 2 ; 3 4", note});
  CHECK(pasted(";a;b\nx;1;2\n") ==
        Pasted{"x: 1 2", note + "note: 'a b' is read as a heading, not as a row\n"});
  CHECK(pasted("1;2;\n3;4;\n").matrix == "1 2 ; 3 4");
  CHECK(pasted("1 0; 0 1\n1 1; 2 2\n") == Pasted{"1 0 ; 0 1 ; 1 1 ; 2 2", ""});  // rows, as in MATLAB
  CHECK(pasted("1;2;3\n") == Pasted{"1 ; 2 ; 3", ""});
}

// ---- where a fault is ----

TEST_CASE("in every form the caret stands under the bad cell") {
  struct Bad {
    const char* text;
    const char* where;
  };
  for (const Bad& bad :
       std::vector<Bad>{{"[[1, 2],\n [3, 1x]]", "m.txt:2:6:"},
                        {"tensor([[1., 2.],\n        [3., 1x]], dtype=float32)", "m.txt:2:14:"},
                        {"{{1.0f, 2}, {3, 1x}}", "m.txt:1:17:"},
                        {"matrix(c(1, 2, 3, 1x), nrow = 2)", "m.txt:1:19:"},
                        {"     [,1] [,2]\n[1,]    1   1x\n", "m.txt:2:13:"},
                        {"A =\n\n   1   2\n   3  1x\n", "m.txt:4:7:"},
                        {"\\begin{bmatrix} 1 & 2 \\\\ 3 & 1x \\end{bmatrix}", "m.txt:1:30:"},
                        {"| 甲 | 乙 |\n|---|---|\n| 1 | 1x |\n", "m.txt:3:7:"},
                        {"a,b\n1,2\n3,1x\n", "m.txt:3:3:"},
                        {"t1 → [1, 1x]\n", "m.txt:1:10:"},
                        {"{\"X\": [[1, 1x]]}", "m.txt:1:12:"}}) {
    CAPTURE(bad.text);
    const std::string told = rows(bad.text).told;
    CHECK(told.find(std::string(bad.where) + " error: '1x' is not a number\n") != std::string::npos);
  }
}

// ---- any matrix, in any form ----

namespace {

using Written = std::vector<std::vector<std::string>>;

// Decimals of up to three digits before and behind the point.
Written random_matrix(std::mt19937& random) {
  Written matrix(1 + random() % 4, std::vector<std::string>(1 + random() % 5));
  for (auto& row : matrix) {
    for (std::string& cell : row) {
      cell = (random() % 2 == 0 ? "-" : "") + std::to_string(random() % 1000) + "." +
             std::to_string(random() % 1000);
    }
  }
  return matrix;
}

struct Style {
  const char* name;
  const char* open;
  const char* open_row;
  const char* between_cells;
  const char* close_row;
  const char* between_rows;
  const char* close;
};

std::string printed(const Written& matrix, const Style& style) {
  std::string text = style.open;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    text += (i > 0 ? style.between_rows : "") + std::string(style.open_row);
    for (std::size_t j = 0; j < matrix[i].size(); ++j)
      text += (j > 0 ? style.between_cells : "") + matrix[i][j];
    text += style.close_row;
  }
  return text + style.close;
}

}  // namespace

TEST_CASE("every matrix is read back from every form") {
  const std::vector<Style> styles{
      {"rows", "", "", " ", "", "\n", "\n"},
      {"tabs", "", "", "\t", "", "\r\n", ""},
      {"CSV", "", "", ",", "", "\n", "\n"},
      {"NumPy", "[", "[", " ", "]", "\n ", "]"},
      {"Python", "x = np.array([", "[", ", ", "]", ",\n              ", "], dtype=float)"},
      {"PyTorch", "tensor([", "[", ", ", "]", ",\n        ",
       "],\n       device='cuda:0', grad_fn=<MmBackward0>)"},
      {"MATLAB", "A = [", "", " ", "", "; ", "];"},
      {"Octave", "A =\n\n", "   ", "   ", "", "\n", "\n\n"},
      {"Julia", "2×2 Matrix{Float64}:\n", " ", "  ", "", "\n", ""},
      {"R", "rbind(", "c(", ", ", ")", ", ", ")"},
      {"C", "const double a[][9] = {", "{", ", ", "}", ",\n", "};"},
      {"Mathematica", "{", "{", ", ", "}", ", ", "}"},
      {"LaTeX", "\\begin{bmatrix}", "", " & ", "", " \\\\\n", "\\end{bmatrix}"},
      {"Markdown", "|a|b|\n|---|---|\n", "| ", " | ", " |", "\n", "\n"},
      {"JSON", "{\"X\": [", "[", ",", "]", ",", "]}"},
  };
  std::mt19937 random(7);
  for (int i = 0; i < 40; ++i) {
    const Written matrix = random_matrix(random);
    const std::string expected = printed(matrix, {"", "", "", " ", "", " ; ", ""});
    for (const Style& style : styles) {
      CAPTURE(style.name);
      const std::string text = printed(matrix, style);
      CAPTURE(text);
      CHECK(rows(text).text() == expected);
    }
  }
}
