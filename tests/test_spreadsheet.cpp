// Formulas of a spreadsheet.  That they give the numbers of the trace, tests/export.py finds with
// LibreOffice.

#include <doctest/doctest.h>

#include <string>

#include "render/spreadsheet.h"

using namespace qkv;

TEST_CASE("an expression of a cell in the words of a spreadsheet") {
  const auto formula = [](const char* text) { return spreadsheet_formula(text).value_or("none"); };
  CHECK(formula("B3·B9 + C3·C9") == "B3*B9+C3*C9");
  CHECK(formula("e^(B4 − B9) / √2") == "EXP(B4-B9)/SQRT(2)");
  CHECK(formula("B4 / √(1/3)") == "B4/SQRT(1/3)");
  CHECK(formula("−1/4·|2 − 0|") == "-1/4*ABS(2-0)");
  CHECK(formula("√((B3 − B9)²)") == "SQRT((B3-B9)^2)");
  CHECK(formula("max(B3, 0) + e^(min(B3, 0))") == "MAX(B3,0)+EXP(MIN(B3,0))");
  CHECK(formula("B3·[C3 > 0]") == "B3*(C3>0)");
  CHECK(formula("B3 / (10000)^(2/4)") == "B3/(10000)^(2/4)");
  CHECK(formula("B3·(ln(B9) − B5)") == "B3*(LN(B9)-B5)");
  CHECK(formula("2·sqrt(2)/3 + 50% + 1e-3") == "2*SQRT(2)/3+50%+1E-3");
}

TEST_CASE("what a spreadsheet has no word for is no formula") {
  CHECK(spreadsheet_formula("argmax(B3→B9, C3→B10)") == std::nullopt);
  CHECK(spreadsheet_formula("−∞") == std::nullopt);
  CHECK(spreadsheet_formula("nan") == std::nullopt);
  CHECK(spreadsheet_formula("√x") == std::nullopt);
}
