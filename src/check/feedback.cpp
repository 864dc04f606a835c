#include "check/feedback.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/display_width.h"
#include "check/mistakes.h"
#include "report/cell_text.h"
#include "report/formula.h"

namespace qkv {
namespace {

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::right:
      return "right";
    case Verdict::rounded:
      return "rounded";
    case Verdict::carried:
      return "carried";
    case Verdict::wrong:
      return "wrong";
    case Verdict::blank:
      return "blank";
  }
  return "wrong";
}

constexpr const char* mark_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::right:
      return "✓";
    case Verdict::rounded:
      return "≈";
    case Verdict::carried:
      return "→";
    case Verdict::wrong:
      return "✗";
    case Verdict::blank:
      return "_";
  }
  return "";
}

// As steps are shown on a sheet or in a trace.
std::string shown(const std::string& number) {
  return number == "-inf" ? "−∞" : number == "inf" ? "∞" : number;
}

Index count(const JudgedStep& step, Verdict verdict) { return (step.cells.array() == verdict).count(); }

const JudgedStep* first_wrong(const Judgement& judgement) {
  const auto found = std::find_if(judgement.steps.begin(), judgement.steps.end(),
                                  [](const JudgedStep& s) { return s.verdict == Verdict::wrong; });
  return found == judgement.steps.end() ? nullptr : &*found;
}

class Teacher {
 public:
  Teacher(const Judgement& judgement, const Trace& truth, Language language, Hint hint)
      : judgement_(judgement), plan_(truth.plan()), language_(language), hint_(hint) {}

  Report report(const std::string& title) {
    if (!title.empty()) add(Heading{0, title, ""});
    if (judgement_.is_in_columns) {
      paragraph(say({"The sheet keeps tokens in columns; its matrices are read transposed.",
                     "这份答卷把 token 放在列里，各矩阵按转置来读。"}));
    }
    what_is_right();
    table();
    bool is_first = true;
    for (const JudgedStep& step : judgement_.steps) {
      if (step.verdict != Verdict::wrong || step.repeats) continue;
      wrong(step, is_first);
      is_first = false;
      // A hint leads on by one step at a time.
      if (hint_ != Hint::none) return std::move(report_);
    }
    carried();
    if (hint_ == Hint::none) points();
    return std::move(report_);
  }

 private:
  const std::string& in(const Said& said) const { return said.in(language_); }
  void add(Block block) { report_.blocks.push_back(std::move(block)); }
  void paragraph(const Said& said, Tone tone = Tone::plain) { add(Paragraph{in(said), tone}); }

  std::string id(const JudgedStep& step) const { return plan_[step.node].id; }

  std::string listed(Verdict verdict) const {
    std::string list;
    for (const JudgedStep& step : judgement_.steps) {
      if (step.verdict == verdict) list += (list.empty() ? "" : ", ") + id(step);
    }
    return list;
  }

  void what_is_right() {
    if (judgement_.is_right()) {
      const bool has_blanks = std::any_of(judgement_.steps.begin(), judgement_.steps.end(),
                                          [](const JudgedStep& s) { return count(s, Verdict::blank) > 0; });
      paragraph(has_blanks ? say({"Everything that is filled in is right.", "填了的都对。"})
                           : say({"Everything is right. Well done!", "全部正确，做得好！"}),
                Tone::good);
    } else if (const std::string right = listed(Verdict::right); !right.empty()) {
      paragraph(say({"Right: {0}.", "做对的：{0}。"}, right), Tone::good);
    }
    for (const JudgedStep& step : judgement_.steps) {
      if (step.is_cut_off) {
        paragraph(say({"{0}: digits were cut off, not rounded ({1} rounds to {2}); the method is right.",
                       "{0}：多余的位数是直接截去的，没有四舍五入（{1} 应舍入为 {2}）；方法没有错。"},
                      id(step), cell_name(plan_, {step.node, step.row, step.col}), step.expected),
                  Tone::good);
      } else if (step.is_rounded_root) {
        paragraph(say({"{0}: right, with √d_k taken as {1}; the difference is rounding, not method.",
                       "{0}：对，√d_k 取了 {1}；差别来自舍入，方法没有错。"},
                      id(step), step.root),
                  Tone::good);
      } else if (step.verdict == Verdict::rounded) {
        paragraph(say({"{0}: right as rounded: it follows from your rounded numbers; the exact ones would "
                       "differ in the "
                       "last digit.",
                       "{0}：对，由你舍入后的数字算出；若不舍入，末位会略有不同。"},
                      id(step)),
                  Tone::good);
      }
    }
  }

  // A mark for every cell, so that one sees at a glance where to look.
  void table() {
    if (hint_ != Hint::none) return;
    Table table;
    for (const JudgedStep& step : judgement_.steps) {
      for (Index i = 0; i < step.cells.rows(); ++i) {
        std::string marks;
        for (Index j = 0; j < step.cells.cols(); ++j)
          marks += (j == 0 ? "" : " ") + std::string(mark_of(step.cells(i, j)));
        const std::vector<std::string>& rows = plan_[step.node].rows;
        const std::string row = rows.empty() ? std::to_string(i + 1) : rows[static_cast<std::size_t>(i)];
        table.row_labels.push_back(i == 0 ? id(step) : "");
        table.rows.push_back({{row, CellRole::symbolic}, {marks, CellRole::symbolic}});
      }
    }
    if (table.rows.empty()) return;
    add(Paragraph{"", Tone::plain});
    add(std::move(table));
    paragraph(say({"✓ right  ≈ right as rounded  → follows from an earlier error  ✗ wrong  _ blank",
                   "✓ 对  ≈ 舍入所致，算对  → 由前面的错误带出  ✗ 错  _ 没填"}),
              Tone::faint);
  }

  void wrong(const JudgedStep& step, bool is_first) {
    const Index cells = count(step, Verdict::wrong);
    const CellAt at{step.node, step.row, step.col};
    if (hint_ == Hint::step)
      return paragraph(say({"Look again at {0}.", "请再看一遍 {0}。"}, id(step)), Tone::note);
    if (hint_ == Hint::cell) {
      return paragraph(say({"Look again at {0}.", "请再看一遍 {0}。"}, cell_name(plan_, at)), Tone::note);
    }
    if (hint_ == Hint::rule) {
      return paragraph(say({"{0}: the rule is {0} = {1}.", "{0}：规则是 {0} = {1}。"}, id(step),
                           plain_formula(plan_, step.node, true)),
                       Tone::note);
    }
    add(Heading{0,
                in(is_first ? say({"The first thing to mend: {0}", "首先要改的：{0}"}, id(step))
                            : say({"Then: {0}", "然后是：{0}"}, id(step))),
                ""});
    paragraph(cells == 1 ? say({"One number is wrong.", "有一个数不对。"})
                         : say({"{0} of {1} are wrong.", "{1} 个数中有 {0} 个不对。"}, cells,
                               counted(step.cells.size(), "number")));
    paragraph(say({"{0} should be {1}, going by your own numbers before it.", "{0}：由你前面的数应得 {1}。"},
                  cell_name(plan_, at), shown(step.expected)),
              Tone::note);
    if (step.mistakes.empty()) {
      paragraph(say({"What happened is not one of the mistakes known by name; the rule is {0} = {1}.",
                     "不是常见的错误；规则是 {0} = {1}。"},
                    id(step), plain_formula(plan_, step.node, true)));
    }
    bool is_likeliest = true;
    for (const Mistake* mistake : step.mistakes) {
      const std::string sentence = filled(mistake->sentence, step.node);
      const std::string remedy = filled(mistake->remedy, step.node);
      paragraph(is_likeliest
                    ? say({"Likely: {0} To mend it: {1}.", "很可能是：{0}改法：{1}。"}, sentence, remedy)
                    : say({"Or: {0} To mend it: {1}.", "也可能是：{0}改法：{1}。"}, sentence, remedy),
                Tone::note);
      is_likeliest = false;
    }
    std::string again;
    for (const JudgedStep& other : judgement_.steps) {
      if (other.repeats == step.node) again += (again.empty() ? "" : ", ") + id(other);
    }
    if (!again.empty())
      paragraph(
          say({"The same mistake again, counted once: {0}.", "同样的错误还出现在：{0}；只算一次。"}, again));
  }

  void carried() {
    const std::string list = listed(Verdict::carried);
    if (list.empty()) return;
    add(Paragraph{"", Tone::plain});
    paragraph(say({"Carried from your earlier numbers: {0}. The method is right there, and it counts.",
                   "由你前面的数带出：{0}。方法是对的，照样得分。"},
                  list));
    for (const JudgedStep& step : judgement_.steps) {
      if (step.verdict == Verdict::carried && !step.earns && count(step, Verdict::blank) == 0) {
        paragraph(say({"{0} earns no point: it follows from a step of equal numbers, which takes no work.",
                       "{0} 不得分：它来自一整步相同的数，没有真正计算。"},
                      id(step)));
      }
    }
  }

  void points() {
    add(Paragraph{"", Tone::plain});
    paragraph(say({"Points: {0} of {1}", "得分：{0} / {1}"}, judgement_.points, judgement_.of));
  }

  // The step of that name of the same head; of any head for a step of all heads together.
  const Node* beside(NodeId step, std::string_view name) const {
    if (const auto found = plan_.find_beside(plan_[step], name)) return &plan_[*found];
    const auto any = std::find_if(plan_.nodes.begin(), plan_.nodes.end(),
                                  [&](const Node& node) { return node.name() == name; });
    return any == plan_.nodes.end() ? nullptr : &*any;
  }

  // @d and @m in the sentences of mistakes.
  std::string filled(const Text& text, NodeId step) const {
    std::string out = text.in(language_);
    const auto replace = [&](std::string_view name, const std::string& value) {
      for (std::size_t at = out.find(name); at != std::string::npos; at = out.find(name))
        out.replace(at, name.size(), value);
    };
    if (const Node* scaled = beside(step, "scaled"); scaled != nullptr && !scaled->params.numbers.empty())
      replace("@d", scaled->params.numbers[0].text);
    if (const Node* scores = beside(step, "scores")) replace("@m", std::to_string(scores->shape.cols));
    return out;
  }

  const Judgement& judgement_;
  const Plan& plan_;
  Language language_;
  Hint hint_;
  Report report_;
};

// nlohmann gives every cell a line of its own.
std::string with_rows_on_one_line(const std::string& json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t close = json.find_first_of("[]{}", at + 1);
    const bool is_row = json[at] == '[' && close != std::string::npos && json[close] == ']';
    if (!is_row) {
      out += json[at++];
      continue;
    }
    bool is_after_break = false;
    for (; at <= close; ++at) {
      const char c = json[at];
      if (c == '\n' || (c == ' ' && is_after_break)) {
        is_after_break = true;
        continue;
      }
      is_after_break = false;
      out += c;
    }
  }
  return out;
}

// A field of CSV: quoted where need be, and never the beginning of a formula.
std::string csv_field(std::string text) {
  text = visible(text);
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string first_wrong_id(const Judgement& judgement, const Plan& plan) {
  const JudgedStep* step = first_wrong(judgement);
  return step != nullptr ? plan[step->node].id : "";
}
std::string first_mistake(const Judgement& judgement) {
  const JudgedStep* step = first_wrong(judgement);
  return step != nullptr && !step->mistakes.empty() ? step->mistakes.front()->name : "";
}

}  // namespace

Report feedback(const Judgement& judgement, const Trace& truth, const std::string& title, Language language,
                Hint hint) {
  return Teacher(judgement, truth, language, hint).report(title);
}

std::string feedback_json(const Judgement& judgement, const Plan& plan, Language language) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["schema"] = "qkv/check-1";
  json["verdict"] = judgement.is_right() ? "right" : "wrong";
  json["points"] = judgement.points;
  json["of"] = judgement.of;
  if (judgement.is_in_columns) json["in_columns"] = true;
  json["steps"] = Json::array();
  for (const JudgedStep& step : judgement.steps) {
    Json entry;
    entry["id"] = plan[step.node].id;
    entry["verdict"] = name_of(step.verdict);
    entry["cells"] = Json::array();
    for (Index i = 0; i < step.cells.rows(); ++i) {
      Json row = Json::array();
      for (Index j = 0; j < step.cells.cols(); ++j) row.push_back(name_of(step.cells(i, j)));
      entry["cells"].push_back(std::move(row));
    }
    if (step.verdict == Verdict::wrong) {
      entry["first"] = {{"cell", {step.row + 1, step.col + 1}}, {"expected", step.expected}};
    }
    if (step.repeats) entry["repeats"] = plan[*step.repeats].id;
    if (step.is_rounded_root) entry["root"] = step.root;
    if (step.is_cut_off) entry["cut_off"] = true;
    entry["mistakes"] = Json::array();
    for (const Mistake* mistake : step.mistakes) {
      entry["mistakes"].push_back(
          {{"id", mistake->id}, {"name", mistake->name}, {"sentence", mistake->sentence.in(language)}});
    }
    json["steps"].push_back(std::move(entry));
  }
  return with_rows_on_one_line(json.dump(2)) + "\n";
}

std::string marks_json(const std::vector<Marked>& sheets, const Plan& plan, Language language) {
  std::string list = "[\n";
  for (std::size_t i = 0; i < sheets.size(); ++i) {
    nlohmann::ordered_json json = {{"schema", "qkv/check-1"}, {"file", sheets[i].file}};
    if (sheets[i].is_read) {
      json.update(nlohmann::ordered_json::parse(feedback_json(sheets[i].judgement, plan, language)));
    } else {
      json["verdict"] = "unread";
    }
    list += (i == 0 ? "" : ",\n") + with_rows_on_one_line(json.dump(2));
  }
  return list + "\n]\n";
}

std::string marks_csv(const std::vector<Marked>& sheets, const Plan& plan) {
  std::string out = "file,points,of,verdict,first_wrong,mistake\n";
  for (const Marked& sheet : sheets) {
    const Judgement& j = sheet.judgement;
    if (!sheet.is_read) {
      out += csv_field(sheet.file) + ",,,unread,,\n";
      continue;
    }
    out += csv_field(sheet.file) + "," + std::to_string(j.points) + "," + std::to_string(j.of) + "," +
           (j.is_right() ? "right" : "wrong") + "," + csv_field(first_wrong_id(j, plan)) + "," +
           csv_field(first_mistake(j)) + "\n";
  }
  return out;
}

Report marks_table(const std::vector<Marked>& sheets, const Plan& plan, Language language) {
  Table table;
  table.columns = {say({"points", "得分"}).in(language), say({"first wrong", "最先错在"}).in(language),
                   say({"mistake", "错误"}).in(language)};
  for (const Marked& sheet : sheets) {
    const Judgement& j = sheet.judgement;
    const auto or_dash = [](std::string text) { return text.empty() ? std::string("–") : text; };
    table.row_labels.push_back(sheet.file);
    if (!sheet.is_read) {
      const std::string unread = say({"not marked", "未批改"}).in(language);
      table.rows.push_back(
          {{unread, CellRole::symbolic}, {"–", CellRole::symbolic}, {"–", CellRole::symbolic}});
      continue;
    }
    table.rows.push_back({{std::to_string(j.points) + "/" + std::to_string(j.of), CellRole::symbolic},
                          {or_dash(first_wrong_id(j, plan)), CellRole::symbolic},
                          {or_dash(first_mistake(j)), CellRole::symbolic}});
  }
  Report report;
  report.blocks.emplace_back(std::move(table));
  return report;
}

}  // namespace qkv
