// Which conventions turn a problem's inputs into somebody's output: how an engineer finds the bug in a port.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "check/conventions.h"
#include "check/shown_steps.h"
#include "problem/problem.h"
#include "report/report.h"

namespace qkv {

struct Explanation {
  Conventions conventions;
  std::string reproduces;   // "weights", "output", "Y", "h2.weights", or several of them: "weights, output"
  std::string unexplained;  // those of them that were given too, and come out otherwise
};

// All sets of conventions that reproduce the most of what was given with the fewest changes.
//   output  one matrix, or named steps of which weights, output and Y are looked at, of several heads concat
//           and h1.weights, h2.weights, …
// Beside the lattice of check/conventions.h: {"precision", "fp16"} where the numbers come out digit for digit
// with every operation rounded to that format, "about fp16" where they are as near as the format reaches.
std::vector<Explanation> detect(const Problem& problem, const std::vector<ShownStep>& output);

// What keeps detect from recomputing a problem: all but dot products of numbers, softmax and soft read, in
// one head or several, in one layer.
struct NotDetected {
  const char* name;  // of the setting, "read", or of the section, "past_K"
  Text what;
};
// All there is; empty where detect can.
std::vector<NotDetected> not_detected(const Problem& problem);

Report told(const std::vector<Explanation>& found, Language language);
// Schema qkv/detect-1.
std::string as_json(const std::vector<Explanation>& found);

}  // namespace qkv
