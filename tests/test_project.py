"""Promises of the project's frame: commands, pins, sizes, and files that name no machine."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import rlg
from scripts import record_results, sizes

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CONTRIBUTING.md"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", read("Makefile"), flags=re.MULTILINE))


def constraint_lines() -> list[str]:
    return [line for line in read("constraints.txt").splitlines() if not line.startswith("#")]


def pinned_names() -> set[str]:
    return {normal(line.split("==")[0]) for line in constraint_lines()}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def project_files() -> list[Path]:
    """Files under version control or about to be."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in run.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("page", PAGES)
def test_make_commands_on_the_pages_exist(page):
    commands = set(re.findall(r"^ {4}make ([a-z-]+)|`make ([a-z-]+)", read(page), re.MULTILINE))
    mentioned = {first or second for first, second in commands}
    assert mentioned
    assert mentioned - make_targets() == set()


def test_the_readme_shows_demo_and_test():
    assert "    make demo " in read("README.md")
    assert "    make test " in read("README.md")


def test_links_on_the_pages_lead_to_files():
    for page in PAGES:
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", read(page))
        assert [link for link in links if not (ROOT / link).exists()] == []


def test_ci_calls_make_test_and_nothing_else():
    lines = [line for line in read(".ci/run").splitlines() if line and not line.startswith("#")]
    assert lines[0] == "set -euo pipefail"
    assert [line for line in lines[1:] if not line.startswith("cd ")] == ["make test"]
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


def test_every_constraint_is_an_exact_pin_given_once():
    lines = constraint_lines()
    assert len(lines) > 100
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert len(pinned_names()) == len(lines)


def test_every_dependency_is_pinned():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for lines in extras.values() for line in lines)]
    names = {normal(re.match(r"[\w.-]+", line).group()) for line in wanted}
    assert names - pinned_names() == set()


def test_no_file_names_a_machine_path_or_a_package_registry():
    # `agent/root/` is the path of a component, hence the lookbehind; brackets keep this line legal.
    folders = r"(?<![\w.}\])])/(work|opt|root)/"
    hosts = r"pypi\.|python[h]osted|download\.pytorch|index[-]url"
    forbidden = re.compile(f"{folders}|{hosts}")
    found = []
    for path in project_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # images and other data
        lines = enumerate(text.splitlines(), start=1)
        found += [f"{path.name}:{n}: {line}" for n, line in lines if forbidden.search(line)]
    assert found == []


def test_no_file_of_the_package_is_too_long():
    script = [sys.executable, "scripts/sizes.py"]
    run = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "")


def test_sizes_names_the_files_that_are_too_long_longest_first(tmp_path):
    for name, lines in [("fits", 400), ("long", 401), ("longer", 500)]:
        (tmp_path / f"{name}.py").write_text("x = 1\n" * lines)
    found = sizes.offenders(tmp_path)
    assert [(lines, path.name) for lines, path in found] == [(500, "longer.py"), (401, "long.py")]


def test_a_recorded_run_states_date_commit_and_counts(tmp_path):
    junit = tmp_path / "junit.xml"
    junit.write_text(
        '<testsuites><testsuite tests="10" failures="1" errors="1" skipped="2" time="3.6"/>'
        "</testsuites>"
    )
    line = record_results.row(junit, "2030-01-31", "abc1234")
    assert line == "| 2030-01-31 | abc1234 | 6 | 2 | 2 | 4 |"


def test_the_results_page_keeps_earlier_runs():
    earlier = ["| 2030-01-31 | abc1234 | 6 | 2 | 2 | 4 |"]
    assert record_results.recorded(record_results.page(earlier)) == earlier


def test_the_results_page_has_the_form_that_the_script_writes():
    text = read("docs/results.md")
    above = record_results.above(text)
    assert text == record_results.page(record_results.recorded(text), above)
    assert text.startswith("# Results\n\n## Learning\n")


def test_the_installed_package_has_the_version_that_the_code_states():
    assert metadata.version("rlgraph-next") == rlg.__version__
