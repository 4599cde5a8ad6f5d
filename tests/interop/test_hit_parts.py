"""The page and OpenClaw's plugin show a hit as `memctl` and the tools do."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from memd_client.hit_text import NO_STRONG_MATCH, text_of_hit
from memd_client.messages import Currency, Hit
from memd_client.schema import to_wire
from tests.support.node import run_node
from tests.support.tree import CLIENT, DAEMON
from tests.unit.client.test_hit_text import MESSAGE, NOTE, SESSION

PAGE = DAEMON / "page" / "static" / "js" / "hit-parts.js"
PLUGIN = CLIENT.parent / "openclaw-plugin" / "src" / "hit-parts.js"
HITS = [
    NOTE,
    MESSAGE,
    replace(NOTE, agent="work", copies=3, relevance="weak", snippet="\n  a\n\nb  \r\n"),
    replace(MESSAGE, session=replace(SESSION, title="caf\u00e9 \U0001f469\n" * 40, branch="", deleted=True)),
    replace(MESSAGE, session=replace(SESSION, title="", project="", branch=""), superseded_by=None, date=""),
    replace(NOTE, currency=Currency("changed", "src/queue.py changed in 1 commit since", "src/queue.py")),
    replace(NOTE, origin="outside", origin_reason="a page of\n docs.example.org " + "x" * 90),
    replace(MESSAGE, origin="program"),
]

PROGRAM = """
import {NO_STRONG_MATCH, partsOf, textOf} from MODULE;
const hits = JSON.parse(process.argv[2]);
const parts = hits.map((hit) => Object.entries(partsOf(hit)));
console.log(JSON.stringify([NO_STRONG_MATCH, parts, hits.map(textOf)]));
"""


def plain_excerpt(hit: Hit) -> str:
    """Return the excerpt of a hit without a block around text of others."""
    return text_of_hit(replace(hit, origin="agent")).excerpt


def test_a_hit_has_the_same_parts_in_the_same_order_in_python_and_javascript(tmp_path: Path) -> None:
    script = tmp_path / "parts.mjs"
    script.write_text(PROGRAM.replace("MODULE", json.dumps(PAGE.as_uri())))
    done = run_node([script, json.dumps([to_wire(hit) for hit in HITS])], cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    note, parts, texts = json.loads(done.stdout)

    # The page and the plugin draw text of others in their own way, without the block of a text.
    expected = [text_of_hit(hit)._replace(excerpt=plain_excerpt(hit)) for hit in HITS]
    assert note == NO_STRONG_MATCH
    assert parts == [[[name, value] for name, value in text._asdict().items()] for text in expected]
    assert texts == [
        "\n".join([*text.head(), text.excerpt, *filter(None, [text.currency])]) for text in expected
    ]


def test_page_and_plugin_have_the_same_module() -> None:
    assert PLUGIN.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
