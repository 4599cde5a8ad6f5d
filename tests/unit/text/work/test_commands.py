"""Command lines have the same key and form for two runs of the same invocation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.work.commands import (
    MAX_KEY_CHARS,
    MAX_LINE_CHARS,
    command_key,
    is_looking,
    normalize_command,
    program_of,
)
from tests.support.growth import check_linear

NESTED = 'cd x && FOO=1 sudo -E env A=b timeout 60 npx --yes vitest run src/a.test.ts -t "name" 2>&1 | tail -40 || true'


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (NESTED, "vitest"),
        ("cargo test --all 2>&1 | grep FAIL", "cargo test"),
        ("cargo +nightly fmt", "cargo fmt"),
        ('bash -lc "cd web && npm run build"', "npm run build"),
        ("docker compose -f dev.yml exec web pytest -q", "pytest"),
        ("docker run -d --name db postgres:16", "docker run"),
        ("kubectl -n shop exec web-1 -- psql -c 'select 1'", "psql"),
        ("ssh -p 22 web 'systemctl restart shop'", "systemctl restart"),
        ("python -m pytest tests", "pytest"),
        ("uv run --with x pytest", "pytest"),
        ("/srv/.venv/bin/python3.11 manage.py migrate shop", "python manage.py migrate"),
        ("python - <<'EOF'\nnpm test\nEOF", "python -"),
        ("make -C sub target", "make target"),
        ("git -C x commit -m 'a b'", "git commit"),
        ("terraform -chdir=infra plan", "terraform plan"),
        ("aws --profile p s3 cp a b", "aws s3 cp"),
        ("./gradlew.bat test --info", "gradle test"),
        (".\\gradlew.bat test", "gradle test"),
        ("& 'C:\\Program Files\\nodejs\\npm.cmd' run test", "npm test"),
        ("$env:CI = '1'; dotnet test Shop.sln", "dotnet test"),
        ("powershell -NoProfile -Command \"$env:A='1'; npm test\"", "npm test"),
        ("npm ci && npm test; echo done", "npm test"),
        ("pytest > out.log; tail -5 out.log", "pytest"),
        ("export A=1\nnpm ci\nnpm run build\n", "npm run build"),
        ("if ! make lint; then exit 1; fi", "make lint"),
        ("for path in *.py; do ruff check $path; done", "ruff check"),
        ("ls -la | head", "ls"),
        ("git status && git diff | head", "git diff"),
        ("curl -s http://x | jq .", "curl"),
        ("cat data.json | python -c 'import json'", "cat"),
        ("find . -name '*.py' | xargs ruff check", "ruff check"),
        ("echo 'it && npm test", "npm test"),
        ("time (make test)", "make test"),
        ("CI=1", ""),
        ("# a comment", ""),
        ("", ""),
    ],
)
def test_key_is_the_program_and_subcommand_that_matter(line: str, key: str) -> None:
    assert command_key(line) == key
    assert program_of(line) == key.split(" ")[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("pytest tests/a.py -q", "cd /srv && CI=1 timeout 60 uv run pytest tests/a.py -q 2>&1 | tail -20"),
        ("npm run test -- -t 'a b'", 'npm test -- -t "a b" || true'),
        ("pytest --basetemp=/tmp/pytest-1/x9", "pytest --basetemp=/tmp/pytest-2/y3 > /tmp/out.log"),
        ("docker compose exec web pytest", "docker-compose exec -T web pytest"),
        ("python script.py /var/folders/ab/xyz1/T/tmp1", "python3 script.py /var/folders/ab/xyz1/T/tmp2"),
        ("cargo build \\\n  --release", "cargo build --release"),
        ("make all # now", "make all"),
    ],
)
def test_two_runs_of_one_invocation_have_one_form(first: str, second: str) -> None:
    assert normalize_command(first) == normalize_command(second) != ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("git commit -m a", "git commit -m b"),
        ("python - <<E\na\nE", "python - <<E\nb\nE"),
        (f"python -c '{'x' * 300}a'", f"python -c '{'x' * 300}b'"),
        ("cargo test", "cargo test --release"),
    ],
)
def test_different_invocations_have_different_forms(first: str, second: str) -> None:
    assert normalize_command(first) != normalize_command(second)


@pytest.mark.parametrize(
    "line",
    [
        "ls -la",
        "cd src && cat a.py | head -20",
        "git status; git log --oneline | head",
        "git branch -a",
        "rg -n token src 2>/dev/null",
        "find . -name '*.py' | xargs grep x > /tmp/found.txt",
        "kubectl get pods",
        "Get-ChildItem | Select-Object Name",
        "python --version",
        "cat a.json | python -c 'import json, sys'",
    ],
)
def test_commands_that_only_look_are_recognized(line: str) -> None:
    assert is_looking(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "pytest",
        "ls && make",
        "cat > a.txt <<E\nx\nE",
        "echo x >> a.txt",
        "sed -i s/a/b/ a.txt",
        "find . -name x -delete",
        "git branch -D x",
        "git tag v1",
        "git stash",
        'bash -c "rm -r build"',
        "find . | xargs rm",
    ],
)
def test_commands_that_change_something_do_not_look(line: str) -> None:
    assert not is_looking(line)


HOSTILE = st.text(st.sampled_from("ab $\"'`\\|&;<>(){}#=-\n/E.") | st.characters(), max_size=200)


@given(HOSTILE)
def test_any_line_has_a_bounded_key_and_a_stable_form(line: str) -> None:
    form = normalize_command(line)

    assert len(command_key(line)) <= MAX_KEY_CHARS
    assert len(form) <= MAX_LINE_CHARS
    assert normalize_command(form) == form
    is_looking(line)


@pytest.mark.parametrize(
    "text", ["a ", "'", '"', '\\"', "$(", "$((a)", "<<E\n", "sudo ", "a=1 ", "bash -c ", "| ", "`", "/tmp/"]
)
def test_work_is_linear_and_long_lines_are_cut(text: str) -> None:
    check_linear(lambda count: text * count, normalize_command, 200)
    assert len(normalize_command(text * 100_000)) <= MAX_LINE_CHARS
