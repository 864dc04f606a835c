// The digits of single cells, proved one by one and only when somebody asks.
//
// A cell that is a sum of products of short decimals is had exactly, in whole numbers.  Any other is enclosed
// with 40 digits; if both ends print alike, the text is proved.  If not, its
// exact value is looked for, which settles ties and zeros; then it is enclosed with more and more
// digits.  A choice that remains at the last precision is taken for a tie, and is counted.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "run/cells.h"
#include "run/decimal_cells.h"

namespace qkv {

inline constexpr Index kRowSum = -1;

struct CellPlace {
  NodeId node = 0;
  Index row = 0;
  Index col = 0;  // kRowSum: the sum of the row
};

class Proof {
 public:
  static constexpr unsigned kFirstPrecision = 40;  // in decimal digits; decides nearly everything
  static constexpr std::size_t kLevels = 4;        // of precision

  explicit Proof(std::shared_ptr<const Plan> plan);
  Proof(const Proof&) = delete;  // its cells ask it back
  Proof& operator=(const Proof&) = delete;

  // The enclosure of a whole node at the first precision, computed by somebody else.
  void pin(NodeId id, IntervalMatrix enclosure);
  // The same, computed here, of all nodes from the first to this one.
  void enclose_up_to(NodeId id);
  // The node has this value from now on, as when a step is rounded on paper.
  void pin(NodeId id, ExactMatrix value);

  std::string text(const CellPlace& at, int decimals);
  // Of a number as written minus the cell.
  std::string difference_text(const Number& from, const CellPlace& at, int decimals);
  double nearest(const CellPlace& at);
  Exact exact(const CellPlace& at);
  bool is_zero(const CellPlace& at);
  Interval enclosure(const CellPlace& at) { return enclosure(0, at); }
  const IntervalMatrix& whole(NodeId id);

  // How many numbers were settled only by taking them for ties, however often they were asked for.
  std::size_t assumed_ties() const { return assumed_ties_.size(); }
  // How many texts were asked for.
  std::size_t texts() const { return texts_; }

 private:
  Cells<IntervalMatrix>& level(std::size_t i);
  Interval enclosure(std::size_t i, const CellPlace& at);
  std::optional<IntervalMatrix> row_around_exact_values(NodeId id, Index row);

  std::shared_ptr<const Plan> plan_;
  std::array<std::optional<Cells<IntervalMatrix>>, kLevels> levels_;
  Cells<ExactMatrix> exact_cells_;
  DecimalCells decimal_cells_;
  std::map<NodeId, std::shared_ptr<const ExactMatrix>> pinned_;
  std::vector<bool> is_algebraic_;  // one a node: no exponential comes before it
  bool has_enclosure_ = false;      // the nodes at hand are enclosed at the first precision
  NodeId enclosed_ = 0;             // how many of them by enclose_up_to
  std::set<std::tuple<NodeId, Index, Index>> assumed_ties_;
  std::size_t texts_ = 0;
};

}  // namespace qkv
