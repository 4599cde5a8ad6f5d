"""Records or compares golden hits: python scripts/golden.py [--write] [--set NAME] [--mode MODE] [--path PATH].

Each set is searched in keyword, hybrid and vector mode, the last two over all three vector paths, which must agree.
Without `--write` it prints the queries whose hits differ from `tests/golden/` and exits with 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.golden import (
    MODES,
    VECTOR_PATHS,
    GoldenSet,
    differences,
    eval_set,
    golden_home,
    read_golden,
    repository_sets,
    run_set,
    write_golden,
)


def main() -> None:
    """Record or compare the sets that the arguments select."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="record the answers")
    parser.add_argument("--set", action="append", help="abstention, multilingual, technical or eval")
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--path", action="append", choices=tuple(VECTOR_PATHS))
    arguments = parser.parse_args()
    found = [*repository_sets(), eval_set()]
    chosen = [each for each in found if each is not None and each.name in (arguments.set or [each.name])]
    paths = arguments.path or list(VECTOR_PATHS)
    failed = 0
    for golden in chosen:
        with golden_home(golden) as home:
            for mode in arguments.mode or MODES:
                for path in paths[:1] if mode == "keyword" else paths:
                    recorded = [] if arguments.write else read_golden(golden, mode)[1]
                    probe, lines = run_set(home, golden, mode, path, recorded)
                    if arguments.write and path == paths[0]:
                        write_golden(golden, mode, probe, lines)
                    failed += _compare(golden, mode, path, probe, lines)
    sys.exit(1 if failed else 0)


def _compare(golden: GoldenSet, mode: str, path: str, probe: str, lines: list[str]) -> int:
    """Print the differences from the recorded hits; return their number."""
    old_probe, recorded = read_golden(golden, mode)
    if probe != old_probe:
        print(
            f"{golden.name} {mode}: the model gives other vectors on this machine than on the recording one"
        )
    found = differences(recorded, lines)
    print(f"{golden.name} {mode} {path}: {len(lines)} queries, {len(found)} differ", flush=True)
    for each in found[:10]:
        print(each)
    return len(found)


if __name__ == "__main__":
    main()
