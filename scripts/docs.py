"""Writes what docs/ and the plugin's manifest have from the program; `scripts/docs` calls it."""

from __future__ import annotations

from pathlib import Path

import cli_doc
import config_doc
import errors_doc
import log_events_doc
import metrics_doc
import programs_doc
import requests_doc

WHOLE_PAGES = (cli_doc, errors_doc, log_events_doc, metrics_doc, programs_doc, requests_doc)


def generated() -> dict[Path, str]:
    """Return the text of every file that is generated, as a whole or in part."""
    return {each.PAGE: each.render() for each in WHOLE_PAGES} | config_doc.generated()


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
