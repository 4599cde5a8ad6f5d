"""Recorded sessions: the commands that run, and blocks that stay unchanged."""

from __future__ import annotations

from tests.support.scripts import load_script

DOC = load_script("session_doc")

PAGE = """\
```console clone
$ scripts/run
done, 8 s
$ memctl search x
```

```sh
$ never run
```

```console
$ memctl search x
1 hit · hybrid · 8.1 ms
pending: 1 chunk still without a vector

$ touch note
```
"""


class FakeShell:
    """Records commands and gives one answer to all."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.commands: list[str] = []

    def run(self, command: str) -> str:
        """Return the answer."""
        self.commands.append(command)
        return self.answer if command != "touch note" else ""


def test_block_is_unchanged_if_only_volatile_values_differ() -> None:
    shell = FakeShell("1 hit · hybrid · 310 ms\n")

    assert DOC.render(PAGE, shell) == PAGE
    assert shell.commands == ["memctl search x", "touch note"]


def test_block_is_rewritten_if_other_values_differ() -> None:
    written = DOC.render(PAGE, FakeShell("2 hits · hybrid · 1.2 s\n"))

    assert "$ memctl search x\n2 hits · hybrid · 1.2 s\n\n$ touch note\n```\n" in written
    assert "1 hit · hybrid" not in written
    assert "pending" not in written


def test_fresh_clone_runs_only_the_first_line_of_its_blocks() -> None:
    shell = FakeShell("  15 s\n  done, 41 s\n")

    assert "$ scripts/run\n  15 s\n  done, 41 s\n```" in DOC.render(PAGE, shell, "clone")
    assert shell.commands == ["scripts/run"]
