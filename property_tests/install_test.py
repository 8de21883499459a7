"""What is installed can be used: `library` installs the build, builds examples/cpp against it outside the tree and lets it
pay at `onceproof serve`; `package` makes the .deb and looks into it.

usage: install_test.py library|package SOURCE_DIR BUILD_DIR

Everything is made in a temporary folder, which goes with the test. Nothing but the standard library.
"""

import contextlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PATIENCE_S = 120  # for one step on a machine that does other things, too

NEEDED_BY_LIBRARY = {"libcpp-httplib-dev", "libexpected-dev", "libfmt-dev", "libsqlite3-dev", "libssl-dev",
                     "libyaml-cpp-dev", "nlohmann-json3-dev", "pkg-config"}


def check(right, message):
    if not right:
        sys.exit(f"install_test: {message}")


def run(*command, cwd=None):
    """Its output; a failure is the test's."""
    ended = subprocess.run([str(c) for c in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
    check(ended.returncode == 0, f"{command[0]} {command[1]} ended with {ended.returncode}:\n{ended.stdout}")
    return ended.stdout


def cached(build, name):
    """A variable of the build: the example is compiled by the same compiler, with the same sanitizers."""
    return re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)[1]


def check_headers(root):
    """Each header that one of ours includes is there, and none is for tests."""
    headers = sorted(root.rglob("*.h"))
    check(len(headers) > 20, f"{len(headers)} headers in {root}")
    for header in headers:
        text = header.read_text()
        purpose = text.splitlines()[0]
        check(not re.search("For tests|for the tests", purpose) and "<gtest/" not in text, f"{header} is for tests")
        for include in re.findall(r'^#include "(.*)"', text, re.MULTILINE):
            check((root / include).is_file(), f'{header} includes "{include}", which is not installed')


def check_page(source):
    """docs/library.md shows the example as it is."""
    page = (source / "docs/library.md").read_text()
    for name in ("CMakeLists.txt", "policy.yaml", "main.cc"):
        lines = (source / "examples/cpp" / name).read_text().splitlines()
        shown = "".join(f"    {line}".rstrip() + "\n" for line in lines)
        check(shown in page, f"docs/library.md shows another {name} than examples/cpp has")


@contextlib.contextmanager
def serving(program):
    """`onceproof serve`: the payments' URL and the admin API's. It dies with this process, however that ends."""
    command = ["setpriv", "--pdeathsig", "KILL", program, "serve", "--profile", "keyed", "--port", "0", "--admin-port", "0"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        try:
            said = ""
            for line in server.stdout:
                said += line
                if "Ctrl-C" in line:
                    break
            urls = re.findall(r"http://127\.0\.0\.1:\d+", said)
            check(len(urls) == 2, f"serve said: {said}")
            yield urls
        finally:
            server.terminate()
            try:
                server.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                server.kill()


def ask(url, body=None):
    with urllib.request.urlopen(url, data=body, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def pay(program, cwd, url, order, amount):
    """Exit code and what it printed."""
    ended = subprocess.run([program, url, order, amount], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           text=True, timeout=PATIENCE_S)
    return ended.returncode, ended.stdout


def check_payments(program, cwd, payments, admin):
    def effects(order):
        return [e["id"] for e in ask(admin + "/ledger")["effects"] if e["business_ref"] == order]

    first = pay(program, cwd, payments, "817", "490000")
    again = pay(program, cwd, payments, "817", "490000")
    paid = effects("817")
    check(len(paid) == 1, f"order 817 was paid {len(paid)} times")
    check(first == (0, f"succeeded {paid[0]}\n"), f"the first run said {first}, the ledger has {paid}")
    check(again == first, f"the first run said {first}, the second {again}")
    other = pay(program, cwd, payments, "817", "1")
    check(other == (1, "conflict \n") and effects("817") == paid, f"another amount for the same order: {other}")

    # The reply is lost: at first no one knows; soon the lookup finds the one payment.
    ask(admin + "/faults", b'{"at":"after_commit","on":{"route":"create","nth":1},"do":"close"}')
    doubtful = pay(program, cwd, payments, "818", "100")
    check(doubtful[0] == 1 and doubtful[1].startswith("verification_required"), f"after a lost reply: {doubtful}")
    until = time.monotonic() + PATIENCE_S
    answer = doubtful
    while answer[0] != 0 and time.monotonic() < until:
        time.sleep(0.05)
        answer = pay(program, cwd, payments, "818", "100")
    paid = effects("818")
    check(len(paid) == 1 and answer == (0, f"succeeded {paid[0]}\n"), f"at last {answer}; the ledger has {paid}")


def check_walk(source, program, cwd):
    """docs/reference.md walks through order 818: what it shows is what the journal shows, but for keys and times."""
    def plain(text):
        text = re.sub(r"op_[0-9a-f-]{36}", "KEY", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
        text = re.sub(r"\+[\d.]+ m?s\b", "LATER", text)
        return re.sub(r"pay_\d+", "ID", " ".join(text.split()))

    def onceproof(*arguments):
        return subprocess.run([program, "journal", *arguments, "--journal", "sqlite:journal.db"], cwd=cwd, check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S).stdout

    line = next(line for line in onceproof("list").splitlines() if " 818 " in line)
    shown = onceproof("show", line.split()[0])
    page = (source / "docs/reference.md").read_text()
    check(plain(shown) in plain(page), f"docs/reference.md does not show this:\n{shown}")


def test_library(source, build, tmp):
    prefix, project, binary = tmp / "prefix", tmp / "pay", tmp / "pay-build"
    run("cmake", "--install", build, "--prefix", prefix)
    check_page(source)
    check_headers(prefix / "include/onceproof")
    for config in prefix.rglob("*.cmake"):
        for word in (str(source), "onceproof_options", "onceproof_pch", "gtest"):
            check(word not in config.read_text(), f"{config} knows of {word}")
    for name in ("LICENSE", "NOTICE"):
        check((prefix / "share/doc/onceproof" / name).is_file(), f"{name} is not installed")

    run("cp", "-r", source / "examples/cpp", project)
    run("cmake", "-S", project, "-B", binary, "-G", cached(build, "CMAKE_GENERATOR"), f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_CXX_COMPILER=" + cached(build, "CMAKE_CXX_COMPILER"),
        "-DCMAKE_CXX_FLAGS=" + cached(build, "CMAKE_CXX_FLAGS"))
    run("cmake", "--build", binary)
    with serving(prefix / "bin/onceproof") as (payments, admin):
        check_payments(binary / "pay", tmp, payments, admin)
    check_walk(source, prefix / "bin/onceproof", tmp)


def test_package(source, build, tmp):
    version = re.search(r"project\(onceproof VERSION (\S+)", (source / "CMakeLists.txt").read_text())[1]
    run("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", tmp)
    packages = list(tmp.glob("*.deb"))
    check(len(packages) == 1, f"cpack made {packages}")
    package = packages[0]

    def field(name):
        return run("dpkg-deb", "-f", package, name).strip()

    check((field("Package"), field("Version")) == ("onceproof", version), run("dpkg-deb", "-I", package))
    check(package.name == f"onceproof_{version}_{field('Architecture')}.deb", f"its name is {package.name}")
    check("@" in field("Maintainer"), "it has no maintainer")
    depends = {entry.split()[0] for entry in re.split("[,|] *", field("Depends"))}
    wanted = NEEDED_BY_LIBRARY | {"libc6", "libstdc++6"}
    check(wanted <= depends, f"it does not depend on {sorted(wanted - depends)}")
    extra = {d for d in depends if d.endswith("-dev")} - wanted
    check(not extra, f"it depends on {sorted(extra)}, which the library does not need")

    listed = run("dpkg-deb", "-c", package)
    check(all(line.split()[1] == "root/root" for line in listed.splitlines()), f"not all is root's:\n{listed}")
    check(not re.search(r"^.....w|^........w", listed, re.MULTILINE), f"others may write:\n{listed}")
    for path in ("usr/bin/onceproof", "usr/include/onceproof/base/error.h", "usr/include/onceproof/reference/executor.h",
                 "/libonceproof_base.a", "/libonceproof_reference.a", "/cmake/onceproof/onceproofConfig.cmake",
                 "/cmake/onceproof/onceproofConfigVersion.cmake", "usr/share/doc/onceproof/LICENSE",
                 "usr/share/doc/onceproof/NOTICE"):
        check(path in listed, f"{path} is not in the package:\n{listed}")
    run("dpkg-deb", "-x", package, tmp / "root")
    check_headers(tmp / "root/usr/include/onceproof")
    said = run(tmp / "root/usr/bin/onceproof", "--version")
    check(said == f"onceproof {version}\n", f"--version says {said}")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("install_test: stopped"))
    what, source, build = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="onceproof-install-") as tmp:
        {"library": test_library, "package": test_package}[what](source, build, Path(tmp))


main()
