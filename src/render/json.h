// A trace as JSON, schema qkv/trace-1: what other programs, and `qkv diff`, read.
#pragma once

#include <string>
#include <vector>

#include "report/narrate.h"
#include "run/trace.h"

namespace qkv {

// Every step, whatever the telling's detail; `decimals`, and the language of titles, are its.
std::string render_json(const Trace& trace, const About& about, const std::vector<Comparison>& comparisons,
                        const Telling& telling);

}  // namespace qkv
