#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/progress.h"

namespace qkv {
namespace {

using namespace std::chrono_literals;

constexpr auto kSilence = 1s;  // what is done by then needs no line
constexpr auto kEvery = 200ms;
constexpr std::string_view kErase = "\r\x1b[K";

// What a signal handler may look at.
std::atomic<bool> line_is_shown = false;
std::array<char, PATH_MAX> unfinished_file{};
volatile std::sig_atomic_t has_unfinished_file = 0;

std::thread drawing;
std::mutex mutex;
std::condition_variable ended;
bool has_ended = false;

void to_stderr(std::string_view text) {
  // A terminal that takes no line gets none; nothing depends on it.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

bool can_erase(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && *term != '\0' && std::strcmp(term, "dumb") != 0;
}

void draw(Language language) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  if (ended.wait_for(lock, kSilence, [] { return has_ended; })) return;
  do {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start).count();
    const int percent = Progress::percent();
    const Said said =
        percent < 0 ? say({"qkv: working, {0} s", "qkv：正在计算，{0} 秒"}, seconds)
                    : say({"qkv: working, {0} s, {1}%", "qkv：正在计算，{0} 秒，{1}%"}, seconds, percent);
    line_is_shown = true;
    to_stderr(std::string(kErase) + said.in(language));
  } while (!ended.wait_for(lock, kEvery, [] { return has_ended; }));
  to_stderr(kErase);
  line_is_shown = false;
}

extern "C" void clean_up(int signal) {
  if (has_unfinished_file != 0) unlink(unfinished_file.data());
  if (line_is_shown) to_stderr(kErase);
  raise(signal);  // its default action was restored when it came
}

}  // namespace

ProgressLine::ProgressLine(Language language) {
  if (!can_erase(STDERR_FILENO)) return;
  has_ended = false;
  drawing = std::thread(draw, language);
}

ProgressLine::~ProgressLine() { end_progress(); }

void end_progress() {
  if (!drawing.joinable()) return;
  {
    const std::lock_guard lock(mutex);
    has_ended = true;
  }
  ended.notify_all();
  drawing.join();
}

void die_cleanly_of_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;  // under nohup
    action.sa_handler = clean_up;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

UnfinishedFile::UnfinishedFile(std::string& name) {
  // Between making the file and noting its name no signal may come.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  fd_ = mkstemp(name.data());
  const int error = errno;
  if (fd_ >= 0 && name.size() < unfinished_file.size()) {
    name.copy(unfinished_file.data(), name.size());
    unfinished_file[name.size()] = '\0';
    has_unfinished_file = 1;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
}

UnfinishedFile::~UnfinishedFile() { has_unfinished_file = 0; }

}  // namespace qkv
