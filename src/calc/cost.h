// What attention costs: multiply-adds and memory of every step.
//
// A step of r × c cells, each a sum of t products, takes r·c·t multiply-adds.  Scores and output take
// n²·d of them each, in every layer, and their heads share the d: that is why twice the tokens cost four
// times as much.  Additions, exponentials and divisions are not counted, nor what is worked out once a
// row, as the denominators of linear attention.  A mask makes cells that nobody needs; code that skips hidden
// pairs pays for the open ones only, n·w of them in a window.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/algebraic.h"
#include "base/text.h"
#include "plan/plan.h"
#include "report/report.h"

namespace qkv {

struct CostRow {
  std::string id;
  Integer rows;
  Integer cols;
  Integer copies = 1;        // heads and layers that have such a step
  Integer terms;             // products that one cell adds up; 0: none
  Integer open;              // multiply-adds without those for hidden pairs
  Integer shared_terms = 0;  // products that all cells of a row share
  bool is_masked = false;

  Integer multiply_adds() const { return copies * rows * (cols * terms + shared_terms); }
  Integer cells() const { return copies * rows * cols; }
};

// The online softmax goes over the scores of one head in tiles of rows × cols.
struct TileShape {
  long long rows = 64;
  long long cols = 64;
};

// One head of one layer: where the n × m scores are, or are not, held in memory.
struct ScoreTable {
  std::string place;  // "L2.h1"; "" where there is one alone
  Integer rows;
  Integer cols;
  Integer width;  // of a value
  Integer open;   // pairs of a query and a key that the mask leaves open
};

struct Cost {
  std::vector<CostRow> rows;
  // Of a method that does without them: shown beside it, and counted in no sum but their own.
  std::vector<CostRow> for_comparison;
  std::vector<ScoreTable> scores;  // of each head, layer and pass; of sizes alone, where all are alike, one
  long long bits = 16;             // a number
  TileShape tile = {};
  bool grows_with_n = false;  // of a model whose tokens can be doubled, not of a file
  std::optional<long long> window = std::nullopt;
};

// Of sizes alone: self-attention with its four projections.
struct CostQuestion {
  long long n = 1;  // tokens
  long long d = 1;  // width of the model; heads divides it
  long long heads = 1;
  long long kv_heads = 1;
  long long layers = 1;
  std::optional<long long> window = std::nullopt;  // the latest keys that a query sees, itself counted
  bool is_causal = false;
  long long bits = 16;
  TileShape tile = {};
};
Cost cost_of(const CostQuestion& question);

// Of every step of a plan.
Cost cost_of(const Plan& plan, long long bits, const TileShape& tile);

// Query–key pairs that may look at each other.
Integer open_pairs(const CostQuestion& question);

// Of the rows, not of what stands beside for comparison.
Integer total_multiply_adds(const Cost& cost);
Integer total_bytes(const Cost& cost);

Report told(const Cost& cost, Language language);
std::string as_json(const Cost& cost);  // schema qkv/cost-1

}  // namespace qkv
