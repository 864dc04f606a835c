// The least that a program with a command line and formatted output does: the floor of a process that answers
// at once.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <string>

int main(int count, char** words) {
  CLI::App app{"hello"};
  std::string name = "world";
  app.add_option("name", name);
  CLI11_PARSE(app, count, words);
  fmt::print("hello, {}\n", name);
}
