#include "cli/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/progress.h"
#include "render/diagnostics.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

Said reason_of(int error) {
  switch (error) {
    case ENOSPC:
      return say({"no space left on the device", "磁盘空间已满"});
    case EACCES:
    case EPERM:
      return say({"permission denied", "没有权限"});
    case ENOENT:
      return say({"no such directory", "目录不存在"});
    case EISDIR:
      return say({"it is a directory", "这是一个目录"});
    case EROFS:
      return say({"the file system is read-only", "文件系统只读"});
    default:
      return {std::strerror(error), std::strerror(error)};
  }
}

void cannot_write(const std::string& name, int error, Diagnostics& diagnostics) {
  diagnostics.error(name, say({"cannot be written: {0}", "无法写入：{0}"}, reason_of(error)));
}

using Produce = std::function<void(const WritePiece&)>;

// Everything, or false with errno.  A short write is only seen when the stream is closed.
bool write_all(std::FILE* file, const Produce& produce) {
  bool is_written = true;
  int error = 0;
  produce([&](std::string_view text) {
    if (!is_written) return;
    is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    error = errno;
  });
  if (is_written) return std::fflush(file) == 0;
  errno = error;
  return false;
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat sa {};
  struct stat sb {};
  return stat(a.c_str(), &sa) == 0 && stat(b.c_str(), &sb) == 0 && sa.st_dev == sb.st_dev &&
         sa.st_ino == sb.st_ino;
}

bool is_regular_or_new(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

bool write_directly(const std::string& path, const Produce& produce) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool is_written = write_all(file, produce);
  const int error = errno;
  const bool is_closed = std::fclose(file) == 0;
  if (!is_written) errno = error;
  return is_written && is_closed;
}

// The temporary file stands beside the target, so that renaming cannot cross a file system.
bool write_and_rename(const std::string& path, const Produce& produce) {
  std::error_code ignored;
  const fs::path target =
      fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path(path);
  std::string temporary = target.string() + ".XXXXXX";
  const UnfinishedFile unfinished(temporary);
  const int fd = unfinished.fd();
  if (fd < 0) return false;
  struct stat info {};
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t mode = stat(target.c_str(), &info) == 0 ? info.st_mode & 07777 : 0666 & ~mask;
  std::FILE* file = fdopen(fd, "wb");
  bool is_written = file != nullptr && fchmod(fd, mode) == 0 && write_all(file, produce);
  int error = errno;
  if (file != nullptr && std::fclose(file) != 0 && is_written) {
    is_written = false;
    error = errno;
  }
  if (is_written && std::rename(temporary.c_str(), target.c_str()) != 0) {
    is_written = false;
    error = errno;
  }
  if (!is_written) {
    unlink(temporary.c_str());
    errno = error;
  }
  return is_written;
}

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

bool is_set(const char* variable) { return !value_of(variable).empty(); }

bool is_forced_by_environment() {
  for (const char* variable : {"CLICOLOR_FORCE", "FORCE_COLOR"}) {
    if (is_set(variable) && value_of(variable) != "0") return true;
  }
  return false;
}

}  // namespace

bool write_output(const std::string& path, const std::string& text, const std::vector<std::string>& inputs,
                  Diagnostics& diagnostics) {
  return write_output(
      path, [&text](const WritePiece& write) { write(text); }, inputs, diagnostics);
}

bool write_output(const std::string& path, const Produce& produce, const std::vector<std::string>& inputs,
                  Diagnostics& diagnostics) {
  end_progress();
  if (path.empty() || path == "-") {
    if (write_all(stdout, produce)) return true;
    cannot_write("stdout", errno, diagnostics);
    return false;
  }
  for (const std::string& input : inputs) {
    if (!is_same_file(path, input)) continue;
    diagnostics.error(
        path,
        say({"is an input of this command and will not be overwritten", "是本命令的输入文件，不会被覆盖"}),
        say({"give the output another name", "请换一个输出文件名"}));
    return false;
  }
  const bool is_written =
      is_regular_or_new(path) ? write_and_rename(path, produce) : write_directly(path, produce);
  if (!is_written) cannot_write(path, errno, diagnostics);
  return is_written;
}

bool wants_color(ColorChoice choice, int fd) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (is_set("NO_COLOR")) return false;
  if (is_forced_by_environment()) return true;
  if (value_of("TERM") == "dumb") return false;
  return isatty(fd) == 1;
}

ColorDepth color_depth(ColorChoice choice, int fd) {
  if (!wants_color(choice, fd)) return ColorDepth::none;
  const std::string color_term = value_of("COLORTERM");
  const std::string term = value_of("TERM");
  if (color_term == "truecolor" || color_term == "24bit" || term.ends_with("-direct"))
    return ColorDepth::full;
  const bool is_forced = choice == ColorChoice::always || is_forced_by_environment();
  return term.ends_with("-256color") || is_forced ? ColorDepth::palette : ColorDepth::none;
}

void print_diagnostics(const Diagnostics& diagnostics, const DiagnosticStyle& style) {
  end_progress();
  if (diagnostics.list().empty()) return;
  const bool color = wants_color(style.color, STDERR_FILENO);
  std::string out;
  for (const Diagnostic& d : diagnostics.list()) {
    if (style.is_quiet && d.severity != Severity::error) continue;
    out += render_diagnostic(d, style.language, color, style.is_ascii);
  }
  std::fwrite(out.data(), 1, out.size(), stderr);
}

}  // namespace qkv
