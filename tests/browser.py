"""The HTML report: first as text, then in a headless Chromium, with nothing but Python's standard library.

Not named html.py, which would hide Python's own package.

    QKV=build/qkv python3 tests/browser.py [FOLDER]     screenshots in light, dark and print go to FOLDER
"""

import base64
import hashlib
import html.parser
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
QKV = os.environ["QKV"]
FAILED = []


def check(name, ok, *found):
    if not ok:
        FAILED.append(name)
        print("FAILED:", name, *found)


def page_of(problem, *options):
    done = subprocess.run([QKV, "trace", str(problem), "-f", "html", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"FAILED: qkv trace {problem}: {done.stderr}")
    return done.stdout


# Labels that would do something wherever they were not escaped.
HOSTILE = """title = </title><script>pwned=1</script>
source = <img src=x onerror=pwned=1>&lt;b&gt;
tokens = <script>pwned=1</script> x"onfocus=pwned=1//
kv_tokens = </script><script>pwned=1</script> '><svg/onload=pwned=1> javascript:pwned=1
scale = none
[scores]
1 2 3
4 5 6
[V]
a
b
c
"""

# ---- as text ------------------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Every element is closed where it must be; nothing in an attribute is a style, a script or an address."""

    VOID = {"meta", "mspace", "rect", "path"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.inside = [], [], {}

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "style" or name.startswith("on") or (name in ("href", "src") and not value.startswith("#")):
                self.wrong.append(f"{tag} {name}={value}")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open:
            self.inside.setdefault(self.open[-1], []).append(data)


def hash_of(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def check_text(name, page):
    reader = Reader()
    reader.feed(page)
    check(f"{name}: elements nest, attributes are harmless", not reader.wrong and not reader.open,
          reader.wrong, reader.open)
    check(f"{name}: names no address", not re.search(r"https?://|@import|url\((?!#)", page))
    for kind, text in (("style", re.search(r"<style>(.*?)</style>", page, re.S)[1]),
                       ("script", re.findall(r"<script>(.*?)</script>", page, re.S)[-1])):
        check(f"{name}: the policy names this {kind}; src/render/html_page.cpp should say", hash_of(text) in page,
              hash_of(text))


# ---- in a browser -------------------------------------------------------------------------------


class Browser:
    """Chromium over --remote-debugging-pipe: JSON with a zero byte at the end, in on 3, out on 4."""

    def __init__(self, program, profile):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()

        def put_in_place():
            low, high = os.dup(to_read), os.dup(to_write)
            while low in (3, 4):
                low = os.dup(low)
            while high in (3, 4):
                high = os.dup(high)
            os.dup2(low, 3)
            os.dup2(high, 4)

        options = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                   "--disable-background-networking", f"--user-data-dir={profile}"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        self.process = subprocess.Popen([program, *options], pass_fds=(3, 4), preexec_fn=put_in_place,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=True)
        os.close(to_read)
        os.close(to_write)
        self.numbers, self.rest, self.events = itertools.count(1), b"", []
        self.session = None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")

    def read(self):
        while b"\0" not in self.rest:
            part = os.read(self.back, 1 << 16)
            if not part:
                raise RuntimeError("Chromium has gone")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def __call__(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, path):
        self.events.clear()
        self("Page.navigate", url=path.as_uri())
        self.until("document.readyState === 'complete'")

    def eval(self, expression):
        result = self("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression):
        for _ in range(200):
            if self.eval(expression):
                return True
            time.sleep(0.05)
        return False

    def key(self, key, code=0, modifiers=0):
        for kind in ("rawKeyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def place(self, selector):
        return self.eval(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                         " e.scrollIntoView({block: 'center', behavior: 'instant'});"
                         " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")

    def point(self, selector):
        x, y = self.place(selector)
        self("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector):
        x, y = self.place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def media(self, kind="", scheme="light"):
        self("Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def photograph(self, path, whole=True):
        size = self("Page.getLayoutMetrics")["cssContentSize"] if whole else {"width": 1000, "height": 800}
        self("Emulation.setDeviceMetricsOverride", width=1000, height=min(4000, max(600, int(size["height"]))),
             deviceScaleFactor=1, mobile=False)
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot")["data"]))
        self("Emulation.setDeviceMetricsOverride", width=1000, height=800, deviceScaleFactor=1, mobile=False)

    def close(self):
        try:
            self.session = None
            self("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(timeout=30)


LINE = "document.getElementById('arithmetic').innerText.replace(/\\s+/g, ' ')"
OUTLINED = "[...document.querySelectorAll('.from')].map((c) => c.textContent).join(' ')"
IN_FOCUS = "document.activeElement.textContent"


def cell(step, row, column):
    return f"section:nth-of-type({step}) tbody tr:nth-of-type({row}) td:nth-of-type({column})"


def drive(browser, folder, photos):
    # hand.qkv: 1 Q, 2 K, 3 V, 4 scores, 5 scaled, 6 weights, 7 output
    browser.media()
    browser("Emulation.setDeviceMetricsOverride", width=1000, height=800, deviceScaleFactor=1, mobile=False)
    browser.open(folder / "hand.html")
    asked = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    check("no request leaves the page", asked == [(folder / "hand.html").as_uri()], asked)
    complaints = [e["params"]["entry"]["text"] for e in browser.events if e["method"] == "Log.entryAdded"]
    check("the page's own style and script run", not complaints, complaints)

    browser.point(cell(4, 3, 3))
    check("hover shows the arithmetic", browser.eval(LINE) == "scores[t3,t3] = q_t3·k_t3 = 1·1 + 1·1 = 2.0000",
          browser.eval(LINE))
    check("hover outlines the cells it came from", browser.eval(OUTLINED) == "1.0000 1.0000", browser.eval(OUTLINED))
    check("which are those of the step before",
          browser.eval("document.querySelectorAll('#s1 .from').length") == 2)
    browser.point("h1")
    check("away from a cell the arithmetic goes", browser.eval("document.getElementById('arithmetic').hidden"))

    browser.click(cell(6, 1, 1))
    check("focus shows the arithmetic", browser.eval(LINE).startswith("weights[t1,t1] = "), browser.eval(LINE))
    walk = [("ArrowRight", 39, 0, "0.1978"), ("ArrowDown", 40, 0, "0.4011"), ("End", 35, 0, "1.0000"),
            ("Home", 36, 0, "0.1978"), ("ArrowUp", 38, 0, "0.4011"), ("ArrowUp", 38, 0, "0.4011"),
            ("ArrowLeft", 37, 0, "0.4011"), ("End", 35, 2, "1.0000"), ("Home", 36, 2, "0.4011")]
    for key, code, modifiers, shown in walk:
        browser.key(key, code, modifiers)
        check(f"{key} moves to {shown}", browser.eval(IN_FOCUS) == shown, browser.eval(IN_FOCUS))
    check("one stop of Tab a table",
          browser.eval("[...document.querySelectorAll('table')].every("
                       "(t) => t.querySelectorAll('td[tabindex=\"0\"]').length === 1)"))
    browser.key("Tab", 9)
    check("Tab goes to the next table", browser.eval("document.activeElement.closest('section').id") == "s7")
    browser.key("Escape", 27)
    check("Escape leaves the table", browser.eval("document.activeElement === document.body"))

    visible = "[...document.querySelectorAll('section')].filter((s) => s.offsetHeight > 0).map((s) => s.id).join(' ')"
    everything = browser.eval(visible)
    browser.click("#next")
    check("the stepper begins with the first step", browser.eval(visible) == "s1", browser.eval(visible))
    for _ in range(3):
        browser.key("PageDown", 34)
    check("a step stands beside what it reads", browser.eval(visible) == "s1 s4", browser.eval(visible))
    browser.key("PageUp", 33)
    check("Page Up goes back", browser.eval(visible) == "s3", browser.eval(visible))
    browser.key("ArrowRight", 39)
    if photos:
        browser.point(cell(4, 3, 3))
        browser.photograph(photos / "stepper.png", whole=False)
    browser.media("print")
    check("paper holds all steps", browser.eval(visible) == everything)
    check("and no controls", browser.eval("document.querySelector('.bar').offsetHeight + "
                                          "document.getElementById('panel').offsetHeight") == 0)
    browser.media()
    browser.click("#all")
    check("and all again", browser.eval(visible) == everything)

    words = "document.querySelector('#s4 h2').innerText"
    check("the page begins in the command's language", browser.eval(words) == "4Scores", browser.eval(words))
    browser.click("button[lang=zh]")
    check("the switch says it in Chinese", browser.eval(words) == "4分数（打分） scores", browser.eval(words))
    check("and names the language", browser.eval("document.documentElement.lang") == "zh")
    browser.click("button[lang=en]")

    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.eval(paper)
    browser.media(scheme="dark")
    dark = browser.eval(paper)
    check("dark where the system is dark", dark != light, light, dark)
    check("the button knows", browser.until("document.getElementById('dark').getAttribute('aria-pressed') === 'true'"))
    browser.click("#dark")
    check("the button makes it light", browser.eval(paper) == light)
    browser.media(scheme="light")
    browser.click("#dark")
    check("and dark", browser.eval(paper) == dark)
    browser.media("print", "dark")
    check("paper is white", browser.eval(paper) == "rgb(255, 255, 255)", browser.eval(paper))
    browser.media()
    ground = f"getComputedStyle(document.querySelector({json.dumps(cell(6, 1, 1))})).backgroundColor"
    check("a cell has heat", browser.eval(ground) != "rgba(0, 0, 0, 0)")
    browser.click("#heat")
    check("heat can be switched off", browser.eval(ground) == "rgba(0, 0, 0, 0)", browser.eval(ground))

    # heads.qkv: the small tables lead to their steps.
    browser.open(folder / "heads.html")
    check("a page that is asked for in Chinese begins in Chinese",
          browser.eval("document.documentElement.lang") == "zh")
    check("each head has a picture", browser.eval("document.querySelectorAll('.heads svg').length") == 2)
    browser.click(".heads li:nth-of-type(2) a")
    check("which leads to its weights", browser.until(
        "location.hash && document.querySelector(location.hash + ' h2').innerText.includes('h2.weights')"))
    check("a closed key is hatched, never a colour of the scale",
          browser.eval("[...document.querySelectorAll('td.no')].length > 0 && [...document.querySelectorAll('td.no')]"
                       ".every((c) => c.className === 'no' && getComputedStyle(c).backgroundImage.includes('gradient'))"))

    # A hostile label is text; the policy stops what somebody injects.
    browser.open(folder / "hostile.html")
    check("a hostile title is text", browser.eval("document.querySelector('h1').textContent + document.title") ==
          2 * "</title><script>pwned=1</script>")
    labels = browser.eval("[...document.querySelectorAll('th')].map((c) => c.textContent).join(' ')")
    for label in ("<script>pwned=1</script>", "x\"onfocus=pwned=1//", "</script><script>pwned=1</script>",
                  "'><svg/onload=pwned=1>", "javascript:pwned=1"):
        check(f"{label} is text", label in labels, labels)
    browser.click("#s1 td")
    check("in the arithmetic too", "<script>pwned=1</script>" in browser.eval(LINE), browser.eval(LINE))
    check("nothing of it ran", browser.eval("typeof pwned") == "undefined")
    browser.eval("""(() => { const s = document.createElement('script'); s.textContent = 'pwned = 1';
      document.body.append(s); const i = document.createElement('img'); i.setAttribute('onerror', 'pwned = 1');
      i.src = 'https://example.invalid/x.png'; document.body.append(i); return 1; })()""")
    time.sleep(0.3)
    check("the policy stops an injected script", browser.eval("typeof pwned") == "undefined")
    stopped = [e["params"] for e in browser.events if e["method"] == "Network.loadingFailed"]
    check("and the request of an injected image", any(f.get("blockedReason") == "csp" for f in stopped), stopped)

    browser.open(folder / "long.html")
    check("a long page says why it has no arithmetic", "200000" in browser.eval("document.querySelector('.note').innerText"))
    check("and shows no empty panel", browser.eval("document.getElementById('panel').offsetHeight") == 0)
    browser.click("#s2 td")
    browser.key("ArrowRight", 39)
    check("its tables are walked all the same", browser.eval("document.activeElement.tagName") == "TD")

    if photos:
        for name, (kind, scheme) in {"light": ("", "light"), "dark": ("", "dark"), "print": ("print", "light")}.items():
            for page in ("hand", "heads", "symbols"):
                browser.media(kind, scheme)
                browser.open(folder / f"{page}.html")
                if kind == "" and page == "hand":
                    browser.point(cell(6, 1, 1))
                browser.photograph(photos / f"{page}-{name}.png")


def long_problem():
    # 96 queries and keys of 16: the scores alone read 300,000 numbers.
    row = " ".join(str(k % 3) for k in range(16))
    rows = "\n".join([row] * 96)
    return f"[Q]\n{rows}\n[K]\n{rows}\n[V]\n" + "\n".join(["1"] * 96) + "\n"


def many_heads():
    # Two heads of 101 by 101: just over the 20,000 cells up to which heads are drawn.
    rows = "\n".join(["1 0"] * 101)
    return f"heads = 2\n[X]\n{rows}\n" + "".join(f"[{w}]\n1 0\n0 1\n" for w in ("W_Q", "W_K", "W_V", "W_O"))


def main():
    signal.alarm(300)  # a browser that does not answer ends the test
    photos = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        (folder / "hostile.qkv").write_text(HOSTILE)
        (folder / "long.qkv").write_text(long_problem())
        (folder / "many.qkv").write_text(many_heads())
        pages = {"hand": (ROOT / "examples/hand.qkv", "--lang", "en"), "heads": (ROOT / "examples/heads.qkv", "--lang", "zh"),
                 "symbols": (ROOT / "examples/causal-masked.qkv", "--lang", "en", "--detail", "cells"),
                 "hostile": (folder / "hostile.qkv",), "many": (folder / "many.qkv",),
                 "long": (folder / "long.qkv", "--lang", "en")}
        for name, (problem, *options) in pages.items():
            page = page_of(problem, *options)
            check_text(name, page)
            (folder / f"{name}.html").write_text(page)
            check(f"{name}: heads are drawn side by side, unless they are too large",
                  ('class="heads"' in page) == (name == "heads"))
            check(f"{name}: arithmetic, unless it is too long",
                  ('id="data"' in page) == (name not in ("long", "many")))
        program = shutil.which("chromium") or shutil.which("google-chrome")
        if program is None and not FAILED:
            print("skipped: Chromium is not installed; the pages were checked as text alone")
            return 77
        if program is not None:
            browser = Browser(program, folder / "profile")
            try:
                drive(browser, folder, photos)
            finally:
                browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(FAILED)} failed" if FAILED else "the HTML report works in a browser")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
