// One line on the terminal while a command works for longer than a second, and what a Ctrl-C leaves behind.
#pragma once

#include <string>

#include "base/text.h"

namespace qkv {

// From now on a line on standard error says what base/progress has counted, if that is a terminal that can
// erase it again.  Ends with end_progress(), or at the latest with this object.
class ProgressLine {
 public:
  explicit ProgressLine(Language language);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
};

// Erases the line; to be called before anything else is written.
void end_progress();

// An interrupted qkv erases its line and its half written file, and dies of the signal as it would have
// without.
void die_cleanly_of_signals();

// A file that an interruption removes as long as this object lives.
class UnfinishedFile {
 public:
  // Makes a file from a name that ends in XXXXXX, as mkstemp(3) does; fd() is -1, with errno, when it cannot.
  explicit UnfinishedFile(std::string& name);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace qkv
