#include "problem/settings.h"

#include <string>
#include <utility>

#include "base/display_width.h"
#include "problem/value_reader.h"

namespace qkv {

void read_setting(const SettingText& setting, Settings& settings, Diagnostics& diagnostics) {
  const Key& key = *setting.key;
  if (setting.value.empty()) {
    report(Severity::error, setting.place, say({"'{0}' has no value", "“{0}”没有取值"}, key.name),
           say({"values of '{0}': {1}", "“{0}”的取值：{1}"}, key.name, allowed_values(key)), diagnostics);
    return;
  }
  ValueReader value(setting, diagnostics);
  std::optional<std::string> text = key.read(value, settings);
  if (!text) return;
  settings.given[key.name] = {std::move(*text), setting.place, setting.value_place};
}

}  // namespace qkv
