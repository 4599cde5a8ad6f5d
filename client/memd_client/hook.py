"""The program that other agents' programs run as a hook: `python -I -S hook.py PROGRAM EVENT`.

It is run as a file and doesn't import the package `memd_client`, whose start takes longer than all that a hook does.
"""

from __future__ import annotations

import sys


def run() -> None:
    """Run the hook; an error is no reason to say anything."""
    try:
        if __package__ in (None, ""):
            package = type(sys)("memd_client")
            package.__path__ = [__file__.rpartition("/")[0] or "."]
            sys.modules["memd_client"] = package
        from memd_client.hook_program import main

        main(sys.argv[1:])
    except BaseException:  # noqa: BLE001, S110 - with status 2 or a traceback it would disturb the program
        pass


if __name__ == "__main__":
    run()
