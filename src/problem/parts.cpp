#include "problem/parts.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "problem/settings.h"

namespace qkv {
namespace {

// Whether a name begins with "L2." and the like; the letter is L, h or g.
bool is_part(std::string_view name, char letter) {
  const std::size_t point = name.find('.');
  return point != std::string_view::npos && point >= 2 && name[0] == letter &&
         name.substr(1, point - 1).find_first_not_of("0123456789") == std::string_view::npos;
}

constexpr std::array<std::string_view, 2> kTables{"mask", "bias"};

// b beside a, or below it.
void append(Given& a, const Given& b, bool below) {
  if (below) {
    a.cells.insert(a.cells.end(), b.cells.begin(), b.cells.end());
    a.rows += b.rows;
    return;
  }
  std::vector<Number> cells;
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) cells.push_back(a.at(i, j));
    for (Index j = 0; j < b.cols; ++j) cells.push_back(b.at(i, j));
  }
  a.cells = std::move(cells);
  a.cols += b.cols;
}

class HeadJoiner {
 public:
  HeadJoiner(Draft& draft, Diagnostics& diagnostics) : draft_(draft), diagnostics_(diagnostics) {}

  void join() {
    const Index heads = draft_.settings.heads;
    const Index kv_heads = draft_.settings.kv_heads.value_or(heads);
    for (const char* name : {"Q", "W_Q", "b_Q"}) join_one(name, 'h', heads);
    // Of several heads each keeps its own.
    if (heads == 1) {
      for (const std::string_view name : kTables) join_one(std::string(name), 'h', heads);
    }
    for (const char* name : {"K", "V", "W_K", "W_V", "b_K", "b_V"}) {
      join_one(name, 'g', kv_heads);
      join_one(name, 'h', kv_heads);
    }
  }

 private:
  void join_one(const std::string& name, char letter, Index count) {
    DraftMatrix joined;
    std::string missing;
    bool is_any = false;
    for (Index h = 1; h <= count; ++h) {
      const std::string part_name = letter + std::to_string(h) + "." + name;
      const auto part = draft_.matrices.find(part_name);
      if (part == draft_.matrices.end()) {
        missing += (missing.empty() ? "[" : ", [") + part_name + "]";
        continue;
      }
      if (!is_any) {
        joined = part->second;
        if (count > 1) {
          joined.cell_spans.clear();
          joined.row_spans.clear();
        }
      } else if (joined.has_shape && part->second.has_shape) {
        add(joined, part_name, part->second, name);
      }
      is_any = true;
      draft_.matrices.erase(part);
    }
    if (!is_any) return;
    if (!missing.empty()) {
      draft_.is_complete = false;
      joined.has_shape = false;
      report(Severity::error, joined.place(),
             say({"the other heads are missing: {0}", "还缺其他头：{0}"}, missing), {}, diagnostics_);
    }
    if (!draft_.matrices.emplace(name, joined).second) {
      draft_.is_complete = false;
      report(Severity::error, joined.place(),
             say({"{0} is given twice: as a whole and head by head", "{0} 给出了两次：整个矩阵和逐头各一份"},
                 name),
             {}, diagnostics_);
    }
  }

  void add(DraftMatrix& joined, const std::string& part_name, const DraftMatrix& part,
           const std::string& name) {
    const bool below = draft_.settings.layout == Layout::linear && name.starts_with("W_");
    const Index here = below ? part.given.cols : part.given.rows;
    const Index there = below ? joined.given.cols : joined.given.rows;
    if (here != there) {
      joined.has_shape = false;
      report(Severity::error, part.place(),
             say({"[{0}] is {1}, which does not fit beside the heads before it",
                  "[{0}] 是 {1}，不能与前面的头并排"},
                 part_name, size_text(part.given.shape())),
             {}, diagnostics_);
      return;
    }
    append(joined.given, part.given, below);
    joined.has_faults = joined.has_faults || part.has_faults;
  }

  Draft& draft_;
  Diagnostics& diagnostics_;
};

}  // namespace

void join_heads(Draft& draft, Diagnostics& diagnostics) { HeadJoiner(draft, diagnostics).join(); }

std::vector<std::string> tables_given(const Draft& draft, std::string_view name) {
  std::vector<std::string> given;
  if (draft.has(name)) given.emplace_back(name);
  for (Index head = 0; head < draft.settings.heads; ++head) {
    if (std::string own = table_of_head(name, head); draft.has(own)) given.push_back(std::move(own));
  }
  return given;
}

Draft draft_of_layer(const Draft& draft, Index layer, Diagnostics& diagnostics) {
  Draft result = draft;
  result.layer_settings.clear();
  result.settings.layers = 1;
  result.settings.given.erase("layers");
  const std::string prefix = "L" + std::to_string(layer) + ".";
  std::erase_if(result.matrices, [](const auto& matrix) { return is_part(matrix.first, 'L'); });
  result.layer = prefix;
  result.is_last_layer = layer == draft.settings.layers;
  if (!result.is_last_layer) {  // the backward pass starts at the last one
    std::erase_if(result.matrices, [](const auto& matrix) {
      return matrix.first == "target" || matrix.first.starts_with("d.");
    });
  }
  for (const auto& [name, matrix] : draft.matrices) {
    if (name.starts_with(prefix)) result.matrices[name.substr(prefix.size())] = matrix;
  }
  const auto own = draft.layer_settings.find(layer);
  if (own == draft.layer_settings.end()) return result;
  for (const SettingText& setting : own->second) {
    result.settings.given.erase(setting.key->name);
    read_setting(setting, result.settings, diagnostics);
  }
  return result;
}

namespace {

// What all layers have in common: their tokens, how digits are shown, and how the whole is carried out.
constexpr std::array<std::string_view, 17> kOfTheWhole{
    "title", "source", "tokens",   "kv_tokens", "first_index", "order",   "positions", "kv_positions", "pos",
    "X_kv",  "hops",   "decimals", "round",     "decode",      "prefill", "layers",    "gradient"};

}  // namespace

void reject_other_parts(const Draft& draft, Diagnostics& diagnostics) {
  const Index layers = draft.settings.layers;
  const auto is_a_layer = [&](Index layer) { return layers > 1 && layer >= 1 && layer <= layers; };
  // [h2.mask], of one head that is there.
  const auto is_table_of_a_head = [&](std::string_view name) {
    return std::any_of(kTables.begin(), kTables.end(), [&](std::string_view table) {
      const std::vector<std::string> given = tables_given(draft, table);
      return std::find(given.begin(), given.end(), name) != given.end();
    });
  };
  const auto hint = [&](const std::string& name) -> Said {
    const std::string inner = name.substr(name.find('.') + 1);
    if (name[0] != 'g' || std::find(kTables.begin(), kTables.end(), inner) == kTables.end()) return {};
    return say({"each query head has its own: [h1.{0}]", "每个查询头各有一份：[h1.{0}]"}, inner);
  };
  const auto reject = [&](const Place& place, const std::string& name) {
    report(Severity::error, place,
           name[0] == 'L' ? say({"'{0}' belongs to a layer that is not there: layers = {1}",
                                 "“{0}”属于不存在的层：layers = {1}"},
                                name, layers)
                          : say({"'{0}' belongs to a head that is not there, or is the same for all heads: "
                                 "heads = {1}",
                                 "“{0}”属于不存在的头，或者是各个头共用的：heads = {1}"},
                                name, draft.settings.heads),
           hint(name), diagnostics);
  };
  for (const auto& [name, matrix] : draft.matrices) {
    const bool is_layer = is_part(name, 'L');
    if (is_layer && is_a_layer(std::stol(name.substr(1)))) continue;
    if (is_table_of_a_head(name)) continue;
    if (is_layer || (layers == 1 && (is_part(name, 'h') || is_part(name, 'g')))) reject(matrix.place(), name);
  }
  for (const auto& [layer, settings] : draft.layer_settings) {
    for (const SettingText& setting : settings) {
      if (std::find(kOfTheWhole.begin(), kOfTheWhole.end(), setting.key->name) != kOfTheWhole.end()) {
        report(Severity::error, setting.place,
               say({"'{0}' is the same for all layers: write it without 'L{1}.'",
                    "“{0}”对所有层都一样：请去掉前面的“L{1}.”"},
                   setting.key->name, layer),
               {}, diagnostics);
      } else if (!is_a_layer(layer)) {
        reject(setting.place, "L" + std::to_string(layer) + "." + setting.key->name);
      }
    }
  }
}

}  // namespace qkv
