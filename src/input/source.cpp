#include "input/source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/display_width.h"
#include "base/suggest.h"
#include "input/npy.h"
#include "input/safetensors.h"

namespace qkv {
namespace {

Said too_large() { return say({"larger than 64 MiB, the most qkv reads", "超过 64 MiB，qkv 读取的上限"}); }

// The system's own words are English only; the usual reasons are said in both languages.
Said reason(int error_number) {
  switch (error_number) {
    case ENOENT:
      return say({"no such file", "没有这个文件"});
    case EACCES:
    case EPERM:
      return say({"permission denied", "没有读取权限"});
    case EISDIR:
      return say({"this is a directory, not a file", "这是目录，不是文件"});
    case ENOTDIR:
      return say({"a part of this path is not a directory", "路径中有一段不是目录"});
    case ENAMETOOLONG:
      return say({"the name is too long", "文件名太长"});
    default:
      return say({"cannot be read: {0}", "无法读取：{0}"}, std::strerror(error_number));
  }
}

// "\x1b[31m": what a terminal was told about colours, and a copied text still holds.
void drop_colours(std::string& text) {
  std::size_t kept = text.find("\x1b[");
  if (kept == std::string::npos) return;
  for (std::size_t at = kept; at < text.size();) {
    if (text.compare(at, 2, "\x1b[") == 0) {
      const std::size_t end = text.find_first_not_of("0123456789;:", at + 2);
      if (end != std::string::npos && (text[end] == 'm' || text[end] == 'K')) {
        at = end + 1;
        continue;
      }
    }
    text[kept++] = text[at++];
  }
  text.resize(kept);
}

// A carriage return alone ends a line too: in old files of a Mac, and in some exports of spreadsheets.
void write_line_ends(std::string& text) {
  for (std::size_t at = text.find('\r'); at != std::string::npos; at = text.find('\r', at + 1)) {
    if (at + 1 == text.size() || text[at + 1] != '\n') text[at] = '\n';
  }
}

// The names in a folder, in order.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  constexpr std::size_t kMostNames = 10'000;
  std::vector<std::string> names;
  std::error_code fault;
  for (auto entry = std::filesystem::directory_iterator(folder, fault);
       !fault && entry != std::filesystem::directory_iterator() && names.size() < kMostNames;
       entry.increment(fault))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// A missing file whose folder, or whose folder's folder, holds a name like it: examples/hnad.qkv,
// example/hand.qkv.
Said near_file(const std::filesystem::path& name) {
  const auto beside = [](const std::filesystem::path& path) -> std::filesystem::path {
    const std::filesystem::path folder = path.parent_path();
    const std::vector<std::string> names = names_in(folder.empty() ? "." : folder);
    const auto near = nearest_word(path.filename().string(), {names.begin(), names.end()});
    return near ? folder / *near : std::filesystem::path();
  };
  std::error_code fault;
  std::filesystem::path found = beside(name);
  if (found.empty() && name.has_parent_path()) {
    const std::filesystem::path folder = beside(name.parent_path());
    if (!folder.empty()) found = folder / name.filename();
  }
  if (found.empty() || !std::filesystem::is_regular_file(found, fault)) return {};
  return say({"did you mean '{0}'?", "是不是想写“{0}”？"}, quotable(found.string()));
}

// Markup of a browser: what stands in it would be read as whatever its numbers look like.
bool is_page(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  for (const std::string_view begin : {"<!doctype", "<html", "<svg", "<?xml"}) {
    const bool is_same = text.size() > begin.size() &&
                         std::equal(begin.begin(), begin.end(), text.begin(), [](char low, char c) {
                           return low == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
                         });
    if (is_same) return true;
  }
  return false;
}

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

}  // namespace

void cannot_open(const std::string& name, int error, Diagnostics& diagnostics) {
  diagnostics.error(name, reason(error), error == ENOENT ? near_file(name) : Said());
}

SourcePtr source_from_text(std::string name, std::string text, Diagnostics& diagnostics) {
  const auto refuse = [&](Said message, Said hint = {}) {
    diagnostics.error(name, std::move(message), std::move(hint));
    return nullptr;
  };
  if (text.size() > kLargestFile) return refuse(too_large());
  if (is_npy(text)) {
    auto array = npy_as_text(name, text, diagnostics);
    if (!array) return nullptr;
    return std::make_shared<Source>(Source{std::move(name), std::move(array->text), array->digits});
  }
  if (refuse_pytorch(name, text, diagnostics)) return nullptr;
  if (is_tensor_file(text)) {
    return refuse(say({"this is a safetensors file, which holds a model's tensors",
                       "这是 safetensors 文件，里面是模型的张量"}),
                  say({"qkv trace --weights {0} takes the matrices of one layer from it",
                       "qkv trace --weights {0} 从中取一层的矩阵"},
                      name == "-" ? "FILE" : name));
  }
  if (text.starts_with("PK\x03\x04")) {
    return refuse(say({"this is a zip archive, as .npz is", "这是 zip 压缩包（.npz 也是）"}),
                  say({"save the matrix alone with numpy.save", "请用 numpy.save 单独保存这个矩阵"}));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  drop_colours(text);
  write_line_ends(text);
  if (text.empty()) return refuse(say({"the file is empty", "文件是空的"}));
  if (is_page(text)) {
    return refuse(say({"this is a page (HTML, SVG or XML), which qkv writes but does not read",
                       "这是网页或图（HTML、SVG 或 XML），qkv 能写但不能读"}),
                  say({"give the text, JSON, CSV or Markdown of the same numbers",
                       "请给出同样这些数的文本、JSON、CSV 或 Markdown"}));
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return refuse(say({"the text is UTF-16; qkv reads UTF-8", "这是 UTF-16 文本；qkv 读取 UTF-8"}),
                  say({"save it again as UTF-8", "请另存为 UTF-8"}));
  }
  if (const std::size_t at = text.find('\0'); at != std::string::npos) {
    return refuse(say({"not a text file: byte {0} is zero", "不是文本文件：第 {0} 个字节是 0"}, at + 1));
  }
  if (const auto at = invalid_utf8_at(text)) {
    return refuse(
        say({"not UTF-8: byte {0} (offset {1}) is 0x{2}", "不是 UTF-8：第 {0} 个字节（偏移 {1}）是 0x{2}"},
            *at + 1, *at, fmt::format("{:02x}", static_cast<unsigned char>(text[*at]))),
        say({"if the file was saved as GBK, save it again as UTF-8", "如果文件是 GBK 编码，请另存为 UTF-8"}));
  }
  return std::make_shared<Source>(Source{std::move(name), std::move(text)});
}

namespace {

SourcePtr given_back;

SourcePtr read_new_source(const std::string& name, Diagnostics& diagnostics) {
  const auto refuse = [&](Said message) {
    diagnostics.error(name, std::move(message));
    return nullptr;
  };
  const File file(name == "-" ? stdin : std::fopen(name.c_str(), "rb"));
  if (!file) {
    cannot_open(name, errno, diagnostics);
    return nullptr;
  }
  struct stat status {};
  if (fstat(fileno(file.get()), &status) != 0) return refuse(reason(errno));
  if (S_ISDIR(status.st_mode)) return refuse(reason(EISDIR));
  // Believed before a byte is read: a sparse file of 2 GiB costs nothing.
  if (S_ISREG(status.st_mode) && status.st_size > static_cast<off_t>(kLargestFile))
    return refuse(too_large());

  std::string text;
  // Not much longer than the file: each new page of memory takes as long as reading a small problem.
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  const bool is_short = S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size < off_t{kBlock};
  std::string block(is_short ? static_cast<std::size_t>(status.st_size) + 1 : kBlock, '\0');
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), file.get())) {
    text.append(block, 0, count);
    if (text.size() > kLargestFile) return refuse(too_large());  // a pipe does not say how long it is
  }
  if (std::ferror(file.get())) return refuse(reason(errno));
  return source_from_text(name, std::move(text), diagnostics);
}

}  // namespace

SourcePtr read_source(const std::string& name, Diagnostics& diagnostics) {
  if (name == "-") {
    if (given_back) return std::exchange(given_back, nullptr);
    static bool was_read = false;
    if (std::exchange(was_read, true)) {
      diagnostics.error("", say({"standard input (-) can be read only once", "标准输入（-）只能读一次"}));
      return nullptr;
    }
  }
  return read_new_source(name, diagnostics);
}

void give_back(SourcePtr standard_input) { given_back = std::move(standard_input); }

}  // namespace qkv
