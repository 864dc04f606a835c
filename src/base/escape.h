// Text that somebody else wrote, made harmless: one function a target.
//
// Labels and titles come from users and may hold anything.  Each function returns what shows as the same text
// in its target and does nothing else there; control characters and signs that turn the direction of writing
// are spelt out, as in visible().
#pragma once

#include <string>
#include <string_view>

namespace qkv {

// Inside a line of GitHub's Markdown, or a cell of a table: no emphasis, link, code, math, HTML or table bar.
std::string escape_markdown(std::string_view text);

// In the text mode of LaTeX; the mathematical signs that qkv writes become math.
std::string escape_latex(std::string_view text);

// Inside an element or a quoted attribute of HTML, SVG or MathML.
std::string escape_xml(std::string_view text);

// JSON that stands in a <script> of a page: no "</script>" and no "<!--" can come about.
std::string escape_json_in_html(std::string_view json);

// One field of a CSV file: quoted where it must be.  A field that a spreadsheet would take for a formula gets
// an apostrophe in front.
std::string csv_text(std::string_view text);

// A literal with its quotes.
std::string python_string(std::string_view text);
std::string octave_string(std::string_view text);

}  // namespace qkv
