#include "render/number_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "base/display_width.h"
#include "base/threads.h"

namespace qkv {
namespace {

std::size_t width_of(const std::string& text) { return static_cast<std::size_t>(column_width(text)); }

// As the screen shows it.
const std::string& shown(const std::string& text, const NumberLayout& layout) {
  return text == "−∞" ? layout.minus_infinity : text;
}

bool is_faint(CellRole role) { return role == CellRole::forbidden || role == CellRole::sum; }

// Writes one row into a buffer that is long enough for any.
class RowWriter {
 public:
  RowWriter(const NumberTable& table, const NumberLayout& layout, const std::vector<std::string>& begins,
            const std::vector<std::size_t>& widths)
      : table_(table),
        layout_(layout),
        begins_(begins),
        widths_(widths),
        with_gap_(widths),
        zeros_(closed_row("0")),
        infinities_(closed_row(layout.minus_infinity)) {
    // Behind the last character spaces may be written; ∞ has more bytes than columns.
    longest_ = FixedDecimals::kMostBehind + 1;
    const std::size_t around = layout.gap.size() + layout.before_faint.size() + layout.after_faint.size() +
                               layout.minus_infinity.size();
    for (const std::size_t width : widths) longest_ += width + around;
    for (std::size_t& width : with_gap_) width += layout.gap.size();
  }

  // Bytes that so many rows may take.
  std::size_t room_for(std::size_t rows) const {
    std::size_t longest_begin = 0;
    for (const std::string& begin : begins_) longest_begin = std::max(longest_begin, begin.size());
    return rows * (longest_begin + longest_);
  }

  // The rows [from, to), in such a room.
  std::string_view rows(std::size_t from, std::size_t to, std::string& room) {
    at_ = room.data();
    for (std::size_t i = from; i < to; ++i) row(i);
    return std::string_view(room).substr(0, static_cast<std::size_t>(at_ - room.data()));
  }

 private:
  void row(std::size_t row) {
    put(begins_[row]);
    table_.each_stretch(
        row,
        [&](std::size_t from, std::size_t to) {
          const double* const values = &(*table_.values)(table_.rows[row], 0);
          at_ = table_.decimals.write_columns(at_, values + from, with_gap_.data() + from, to - from);
        },
        [&](std::size_t from, std::size_t to) {
          while (from < to) {
            const bool is_zero = table_.value(row, from) == 0;
            std::size_t end = from + 1;
            while (end < to && (table_.value(row, end) == 0) == is_zero) ++end;
            put((is_zero ? zeros_ : infinities_).part(from, end));
            from = end;
          }
        },
        [&](const NumberTable::Other& other) {
          const std::string& s = shown(other.cell.text, layout_);
          text(s, width_of(s), widths_[other.col], is_faint(other.cell.role));
        });
    *at_++ = '\n';
  }

  // A row in which every cell is closed; others are made of pieces of it.
  struct ClosedRow {
    std::string text;
    std::vector<std::size_t> begins;  // of each column, and the end
    std::string_view part(std::size_t from, std::size_t to) const {
      return std::string_view(text).substr(begins[from], begins[to] - begins[from]);
    }
  };
  ClosedRow closed_row(const std::string& cell) const {
    ClosedRow row;
    const std::size_t own = width_of(cell);
    for (const std::size_t width : widths_) {
      row.begins.push_back(row.text.size());
      row.text += layout_.gap + layout_.before_faint + std::string(width - std::min(width, own), ' ') + cell +
                  layout_.after_faint;
    }
    row.begins.push_back(row.text.size());
    return row;
  }

  void spaces(std::size_t count) {
    std::memset(at_, ' ', count);
    at_ += count;
  }

  void put(std::string_view s) {
    std::memcpy(at_, s.data(), s.size());
    at_ += s.size();
  }

  void text(const std::string& s, std::size_t own, std::size_t width, bool is_faint) {
    spaces(layout_.gap.size());
    if (is_faint) put(layout_.before_faint);
    spaces(width - own);
    put(s);
    if (is_faint) put(layout_.after_faint);
  }

  const NumberTable& table_;
  const NumberLayout& layout_;
  const std::vector<std::string>& begins_;
  const std::vector<std::size_t>& widths_;
  std::vector<std::size_t> with_gap_;
  ClosedRow zeros_;
  ClosedRow infinities_;
  std::size_t longest_ = 0;  // bytes of a row, and of what may be written behind it
  char* at_ = nullptr;
};

}  // namespace

std::vector<std::size_t> column_widths(const NumberTable& table, const NumberLayout& layout,
                                       std::vector<std::size_t> least) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Columns {
    std::vector<double> low;
    std::vector<double> high;
    std::vector<std::size_t> widths;  // of what are no numbers
  };
  Columns all{std::vector(table.columns, kInfinity), std::vector(table.columns, -kInfinity),
              std::move(least)};
  std::mutex mutex;
  const std::size_t infinity_width = width_of(layout.minus_infinity);
  const auto look_at = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    Columns own{std::vector(table.columns, kInfinity), std::vector(table.columns, -kInfinity),
                std::vector(table.columns, std::size_t{0})};
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      table.each_stretch(
          i,
          [&](std::size_t from, std::size_t to) {
            const double* const values = &(*table.values)(table.rows[i], 0);
            double* const lows = own.low.data();
            double* const highs = own.high.data();
            for (std::size_t j = from; j < to; ++j) {
              lows[j] = values[j] < lows[j] ? values[j] : lows[j];
              highs[j] = values[j] > highs[j] ? values[j] : highs[j];
            }
          },
          [&](std::size_t from, std::size_t to) {
            for (std::size_t j = from; j < to; ++j)
              own.widths[j] = std::max(own.widths[j], table.value(i, j) == 0 ? 1 : infinity_width);
          },
          [&](const NumberTable::Other& other) {
            own.widths[other.col] = std::max(own.widths[other.col], width_of(shown(other.cell.text, layout)));
          });
    }
    const std::lock_guard lock(mutex);
    for (std::size_t j = 0; j < table.columns; ++j) {
      all.low[j] = std::min(all.low[j], own.low[j]);
      all.high[j] = std::max(all.high[j], own.high[j]);
      all.widths[j] = std::max(all.widths[j], own.widths[j]);
    }
  };
  share_rows(static_cast<std::ptrdiff_t>(table.rows.size()), static_cast<std::ptrdiff_t>(table.columns),
             look_at);
  auto& [low, high, widths] = all;
  // The longest text of a column is that of its largest number or of its smallest.
  for (std::size_t j = 0; j < table.columns; ++j) {
    if (low[j] > high[j]) continue;
    for (const double end : {low[j], high[j]})
      widths[j] = std::max(widths[j], table.decimals.width(table.decimals.units(end)));
  }
  return std::move(widths);
}

void write_rows(const NumberTable& table, const NumberLayout& layout, const std::vector<std::string>& begins,
                const std::vector<std::size_t>& widths, int threads,
                const std::function<void(std::string_view)>& write) {
  constexpr std::size_t kCellsOfPart = 1 << 14;    // stays in a processor's nearest cache
  constexpr std::size_t kCellsOfThreads = 50'000;  // below, a thread costs more than it saves
  constexpr std::size_t kPlacesEach = 2;  // a thread lays out the next part while the last is written
  const std::size_t rows = table.rows.size();
  const std::size_t step = std::max<std::size_t>(1, kCellsOfPart / std::max<std::size_t>(1, table.columns));
  const std::size_t count = (rows + step - 1) / step;
  const RowWriter writer(table, layout, begins, widths);  // each thread has a copy of its own
  const auto lay_out = [&](std::size_t part, std::string& room, RowWriter& own) {
    return own.rows(part * step, std::min(rows, (part + 1) * step), room);
  };
  if (threads < 2 || rows * table.columns < kCellsOfThreads) {
    std::string room(writer.room_for(std::min(step, rows)), '\0');
    RowWriter own = writer;
    for (std::size_t part = 0; part < count; ++part) write(lay_out(part, room, own));
    return;
  }

  // Parts take turns in a few places: one is laid out as soon as the one before it in its place is written.
  struct Place {
    std::string room;
    std::string_view text;
    std::atomic<std::size_t> done = 0;  // parts that were laid out here
  };
  std::vector<Place> places(kPlacesEach * static_cast<std::size_t>(threads));
  for (Place& place : places) place.room.resize(writer.room_for(step));
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> written = 0;
  const auto lay_out_in_place = [&](std::size_t part, RowWriter& own) {
    Place& place = places[part % places.size()];
    place.text = lay_out(part, place.room, own);
    ++place.done;
    place.done.notify_one();
  };
  // This thread writes what is done, and lays out while it would have to wait.
  const auto write_all = [&] {
    RowWriter own = writer;
    for (std::size_t part = written; part < count; ++part) {
      const Place& place = places[part % places.size()];
      const std::size_t before = part / places.size();
      while (place.done == before) {
        std::size_t begun = next;
        if (begun >= std::min(count, part + places.size())) {
          place.done.wait(before);
        } else if (next.compare_exchange_weak(begun, begun + 1)) {
          lay_out_in_place(begun, own);
        }
      }
      write(place.text);
      written = part + 1;
      written.notify_all();
    }
  };
  share(threads, static_cast<std::size_t>(threads), [&](std::ptrdiff_t, std::size_t thread) {
    if (thread == 0) return write_all();
    RowWriter own = writer;
    for (std::size_t part = next++; part < count; part = next++) {
      for (std::size_t done = written; part >= done + places.size(); done = written) written.wait(done);
      lay_out_in_place(part, own);
    }
  });
}

}  // namespace qkv
