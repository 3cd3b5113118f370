"""A plugin that can't be imported gets one line that says what to do about it."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("words", [["train", "plugins=[{}]"], ["list", "--plugin", "{}"]])
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("raise RuntimeError('my plugin is broken')", "RuntimeError: my plugin is broken. Correct"),
        ("def x(:", "SyntaxError: invalid syntax"),
        ("import sys; sys.exit(7)", "raised SystemExit: 7. Correct it"),
    ],
)
def test_a_plugin_that_fails_on_import_is_to_be_corrected(rlg, folder, words, text, part):
    name = f"failing_{abs(hash(part))}"
    (folder / f"{name}.py").write_text(text)
    result = rlg(*(word.format(name) for word in words))
    assert result.code == 2
    assert f"plugins: importing '{name}' raised " in result.err
    assert part in result.err
    assert "Install it" not in result.err


def test_a_plugin_is_named_without_its_suffix(rlg, folder):
    (folder / "suffixed_plugin.py").write_text("")
    result = rlg("train", "plugins=[suffixed_plugin.py]")
    assert (result.code, "plugins=[suffixed_plugin]." in result.err) == (2, True)


def test_a_folder_of_a_plugins_name_is_not_taken_for_the_plugin(rlg, folder):
    """The run `corridor` of the plugin `corridor` lies where `rlg eval` is started, say."""
    (folder / "plugin_of_this_name").mkdir()
    result = rlg("train", "plugins=[plugin_of_this_name]", "agent.type=of_the_plugin")
    assert (result.code, "is a folder without an __init__.py" in result.err) == (2, True)


def test_a_list_is_shown_with_an_item(rlg):
    result = rlg("train", "plugins=my_plugin")
    assert "plugins: expected a list, each item text, got 'my_plugin'." in result.err
    assert result.err.endswith("Write for example plugins=[name].\n")
