// The cells of a table, row by row.
//
// Most tables hold their cells one by one.  A large table of numbers keeps the matrix instead, and how many
// decimals are shown: nearly every cell is the text of its double, and the few others stand in a list.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fixed.h"
#include "base/matrix.h"
#include "base/open_runs.h"

namespace qkv {

enum class CellRole {
  number,
  forbidden,  // what the mask decided: a weight of exactly 0, a score of −∞, an M of −∞
  infinite,
  symbolic,
  sum,  // in the column of row sums
};

struct TableCell {
  std::string text;
  CellRole role = CellRole::number;
  std::optional<double> value = std::nullopt;  // of a finite number, where a colour may show how large it is
};

class NumberTable {
 public:
  // Whatever is not simply the text of its double: a forbidden cell that is neither 0 nor −∞, an infinity, a
  // number whose digits the double leaves open, the sum of a row.
  struct Other {
    std::size_t row = 0;
    std::size_t col = 0;
    TableCell cell;
  };

  std::shared_ptr<const Matrix> values;
  std::vector<Index> rows;           // of the matrix, that the table shows
  std::size_t columns = 0;           // of the table; those behind the matrix's own are all among `others`
  std::shared_ptr<const Mask> open;  // [rows, cols] of the matrix; null: no cell is forbidden
  FixedDecimals decimals{0};
  std::vector<Other> others = {};       // row by row, from left to right
  std::vector<std::size_t> first = {};  // of each row among `others`; one more at the end

  bool is_forbidden(std::size_t row, std::size_t col) const {
    return open && !(*open)(rows[row], static_cast<Index>(col));
  }
  double value(std::size_t row, std::size_t col) const {
    return (*values)(rows[row], static_cast<Index>(col));
  }
  TableCell cell(std::size_t row, std::size_t col) const;

  // The row from left to right: numbers(begin, end) for columns that show their doubles, forbidden(begin,
  // end) for those that the mask closes, other(an Other).
  template <class Numbers, class Forbidden, class Others>
  void each_stretch(std::size_t row, Numbers numbers, Forbidden forbidden, Others other) const {
    std::size_t next = first[row];
    const auto without_others = [&](std::size_t begin, std::size_t end, auto& use) {
      for (; next < first[row + 1] && others[next].col < end; begin = others[next++].col + 1) {
        if (begin < others[next].col) use(begin, others[next].col);
        other(others[next]);
      }
      if (begin < end) use(begin, end);
    };
    const auto cols = static_cast<std::size_t>(values->cols());
    std::size_t at = 0;
    each_open_run(open.get(), rows[row], values->cols(), [&](Index begin, Index end) {
      without_others(at, static_cast<std::size_t>(begin), forbidden);
      at = static_cast<std::size_t>(end);
      without_others(static_cast<std::size_t>(begin), at, numbers);
    });
    without_others(at, cols, forbidden);
    for (; next < first[row + 1]; ++next) other(others[next]);
  }
};

// "0", or "−∞".
const char* forbidden_text(double value);

class TableRows {
 public:
  using Cells = std::vector<TableCell>;

  TableRows() = default;
  TableRows(std::vector<Cells> rows) : rows_(std::move(rows)) {}
  TableRows(NumberTable numbers) : numbers_(std::make_shared<const NumberTable>(std::move(numbers))) {}

  // Reads like a vector of cells, which are made as they are read.
  class Row {
   public:
    class Iterator {
     public:
      using iterator_category = std::input_iterator_tag;
      using value_type = TableCell;
      using difference_type = std::ptrdiff_t;
      using pointer = void;
      using reference = TableCell;
      Iterator(const Row& row, std::size_t at) : rows_(row.rows_), row_(row.row_), at_(at) {}
      TableCell operator*() const { return rows_->cell(row_, at_); }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }
      difference_type operator-(const Iterator& other) const {
        return static_cast<difference_type>(at_) - static_cast<difference_type>(other.at_);
      }

     private:
      const TableRows* rows_;
      std::size_t row_;
      std::size_t at_;
    };

    Row(const TableRows& rows, std::size_t row) : rows_(&rows), row_(row) {}
    std::size_t size() const { return rows_->columns(row_); }
    TableCell operator[](std::size_t col) const { return rows_->cell(row_, col); }
    TableCell back() const { return (*this)[size() - 1]; }
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size()}; }

   private:
    const TableRows* rows_;
    std::size_t row_;
  };

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Row;
    Iterator(const TableRows& rows, std::size_t at) : rows_(&rows), at_(at) {}
    Row operator*() const { return {*rows_, at_}; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const TableRows* rows_;
    std::size_t at_;
  };

  std::size_t size() const { return numbers_ ? numbers_->rows.size() : rows_.size(); }
  bool empty() const { return size() == 0; }
  std::size_t columns(std::size_t row) const { return numbers_ ? numbers_->columns : rows_[row].size(); }
  TableCell cell(std::size_t row, std::size_t col) const {
    return numbers_ ? numbers_->cell(row, col) : rows_[row][col];
  }
  Row operator[](std::size_t row) const { return {*this, row}; }
  Row front() const { return {*this, 0}; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  void push_back(Cells row) { rows_.push_back(std::move(row)); }
  // null: the cells are held one by one
  const NumberTable* numbers() const { return numbers_.get(); }

 private:
  std::vector<Cells> rows_;
  std::shared_ptr<const NumberTable> numbers_;
};

}  // namespace qkv
