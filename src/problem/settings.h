// The settings of a problem, read one by one through the table of keys.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/number.h"
#include "problem/keys.h"
#include "problem/mask.h"
#include "problem/place.h"
#include "problem/problem.h"

namespace qkv {

enum class MaskValues { automatic, look, hide, add };

struct Align {
  enum class Kind { bottom_right, top_left, number } kind = Kind::bottom_right;
  long number = 0;
};

// A setting as somebody gave it.
struct SettingText {
  const Key* key = nullptr;
  std::string value;  // as written, full-width forms and all
  Place place;        // of the name
  Place value_place;  // of the value
};

// What is known before any matrix is looked at; each member has its default.
struct Settings {
  std::string title;
  std::string source;
  std::optional<std::vector<std::string>> tokens;
  std::optional<std::vector<std::string>> kv_tokens;
  int first_index = 1;
  std::map<std::string, std::string, std::less<>> same_as;
  MaskSetting mask;
  MaskValues mask_values = MaskValues::automatic;
  Align align;
  EmptyRow empty_row = EmptyRow::zero;
  std::optional<Scale> scale;  // without its d_k; nullopt: not given
  bool scales_by_width = false;  // 1/d_k: a factor still to be worked out; `scale` is a root till then
  std::optional<Number> d_k;
  std::optional<Number> temperature;
  std::optional<Number> softcap;
  std::vector<Number> sink_logits;  // as many as were written
  std::vector<Number> slopes;
  bool alibi_is_on = false;  // the usual slopes, which depend on the number of heads
  Index heads = 1;
  std::optional<Index> kv_heads;  // nullopt: as many as heads
  std::vector<long> drop_heads;   // head numbers as written, counted from first_index
  ScoreKind score = ScoreKind::dot;
  ReadKind read = ReadKind::soft;
  MethodKind method = MethodKind::softmax;
  Phi phi = Phi::elu_plus_1;
  Number eps = whole_number(0);
  Rope::Pairs rope = Rope::Pairs::none;
  Number rope_base = whole_number(10000);
  std::optional<Index> rope_dims;  // nullopt: all
  bool adds_sinusoids = false;
  std::vector<long> positions;  // empty: 0, 1, 2, …
  std::vector<long> kv_positions;
  std::vector<long> order;  // token numbers as written, counted from first_index
  bool is_decoded = false;
  Index prefill = 0;
  std::optional<Tile> tile;
  Index layers = 1;
  bool has_residual = false;
  Index hops = 1;
  bool wants_gradient = false;
  Layout layout = Layout::columns;
  int decimals = 4;
  Rounding round = Rounding::exact;

  struct Given {
    std::string text;  // the value as understood, in its usual spelling
    Place place;       // of the name
    Place value_place;
  };
  std::map<std::string, Given, std::less<>> given;  // by key

  // Null when it was not given.
  const Given* find(std::string_view key) const {
    const auto found = given.find(key);
    return found == given.end() ? nullptr : &found->second;
  }
};

// Reads one value into `settings`.  Faults are added to `diagnostics`; the default then stays.
void read_setting(const SettingText& setting, Settings& settings, Diagnostics& diagnostics);

}  // namespace qkv
