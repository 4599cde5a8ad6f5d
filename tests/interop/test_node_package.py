"""The package `memd-client` of npm: its own tests, its types, and that it can't drift from the Python client."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from memd_client.errors import all_errors
from memd_client.messages import REQUESTS, Event, Progress
from tests.support.blocking_node_client import node_client_project
from tests.support.frames import FRAMES
from tests.support.node import MSGPACK, NODE_CLIENT, installed, node_project, npm_install, run_node
from tests.support.node_types import generated_files
from tests.support.sockets import ServerThread, short_directory
from tests.support.tree import ROOT

TYPESCRIPT = ("typescript@7.0.2", "@types/node@26.6.6")

JS_LINES = 400
"""As of Python files; what is made by `node_types` is no one's to read from end to end."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package beside what it needs."""
    where = node_project(tmp_path_factory.mktemp("node"), [MSGPACK])
    shutil.copytree(NODE_CLIENT, where / "client", ignore=shutil.ignore_patterns("node_modules"))
    return where


@pytest.mark.parametrize("name", sorted(path.name for path in (NODE_CLIENT / "test").glob("*.test.js")))
def test_its_own_tests_pass(project: Path, name: str) -> None:
    ended = run_node(
        ["--test", "--test-reporter=tap", f"client/test/{name}"],
        cwd=project,
        environ={"MEMD_FRAMES": str(FRAMES)},
    )

    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert re.search(r"^# pass [1-9]", ended.stdout, re.MULTILINE)


def test_its_types_hold_in_its_code_and_for_its_callers(tmp_path: Path) -> None:
    compiler = installed(*TYPESCRIPT) / "node_modules" / "typescript" / "bin" / "tsc"
    where = node_project(tmp_path, [MSGPACK])
    node_project(where, TYPESCRIPT)
    shutil.copytree(NODE_CLIENT, where / "client", ignore=shutil.ignore_patterns("node_modules"))

    ended = run_node([compiler, "-p", "client/tsconfig.json"], cwd=where)

    assert (ended.returncode, ended.stdout) == (0, "")


PROGRAM = """
import { Client, MemdError, socketPath, type Hit, type SearchReply } from "memd-client";

export async function main(): Promise<Hit[]> {
  const client = new Client({ agent: "main", autostart: true, timeoutMs: 5_000, socketPath: socketPath({}) });
  const reply: SearchReply = await client.search({ query: "port", max_results: 3 }, SIGNAL);
  for await (const event of client.subscribe({ kinds: ["sync"] }, SIGNAL)) if (event.agent) break;
  await client.close();
  return reply.hits;
}

export const code = (error: unknown): string => (error instanceof MemdError ? error.code : "");
// @ts-expect-error no such option
export const wrong = new Client({ autoStart: true });
"""


@pytest.mark.parametrize("libraries", [["es2022"], ["es2022", "dom"]], ids="-".join)
@pytest.mark.parametrize("resolution", ["node16", "bundler"])
def test_its_types_compile_in_a_project_that_has_nothing_but_typescript(
    tmp_path: Path, resolution: str, libraries: list[str]
) -> None:
    compiler = installed(*TYPESCRIPT) / "node_modules" / "typescript" / "bin" / "tsc"
    package = tmp_path / "node_modules" / "memd-client"
    package.mkdir(parents=True)
    shutil.copy(NODE_CLIENT / "package.json", package)
    shutil.copytree(NODE_CLIENT / "lib", package / "lib")
    signal = "{ signal: new AbortController().signal }" if "dom" in libraries else "{}"
    (tmp_path / "program.ts").write_text(PROGRAM.replace("SIGNAL", signal))
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    options = {
        "strict": True,
        "exactOptionalPropertyTypes": True,
        "skipLibCheck": False,
        "noEmit": True,
        "types": [],
        "lib": libraries,
        "target": "es2022",
        "module": "node16" if resolution == "node16" else "esnext",
        "moduleResolution": resolution,
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["program.ts"]}))

    ended = run_node([compiler, "-p", "tsconfig.json"], cwd=tmp_path)

    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("path", sorted(generated_files()), ids=lambda path: path.name)
def test_what_it_knows_of_the_protocol_is_what_the_python_client_knows(path: Path) -> None:
    assert path.read_text() == generated_files()[path], "run python -m tests.support.node_types"


def test_its_requests_methods_and_codes_are_those_of_the_python_client(tmp_path: Path) -> None:
    node_client_project(tmp_path)
    (tmp_path / "list.mjs").write_text(
        'import { Client, ERROR_CODES, MemdError, REQUESTS } from "memd-client";\n'
        "const methods = Object.getOwnPropertyNames(Client.prototype);\n"
        "const hints = Object.fromEntries(ERROR_CODES.map((code) => [code, new MemdError(code).hint]));\n"
        "console.log(JSON.stringify({ methods, hints, REQUESTS }));\n"
    )

    ended = run_node(["list.mjs"], cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["REQUESTS"] == list(REQUESTS)
    assert told["hints"] == {code: kind.hint for code, kind in all_errors().items()}
    wanted = {re.sub(r"_(\w)", lambda found: found[1].upper(), name) for name in REQUESTS.keys() - {"cancel"}}
    assert wanted <= set(told["methods"])


def test_every_record_of_a_request_has_a_type() -> None:
    types = (NODE_CLIENT / "lib" / "messages.d.ts").read_text()

    for kind in {kind for pair in REQUESTS.values() for kind in pair} | {Progress, Event}:
        assert f"export interface {kind.__name__} {{" in types


def test_it_needs_msgpack_and_nothing_else() -> None:
    facts = json.loads((NODE_CLIENT / "package.json").read_text())

    assert facts["dependencies"].keys() == {"@msgpack/msgpack"}
    assert facts["type"] == "module"
    imported = {
        name
        for path in (NODE_CLIENT / "lib").glob("*.js")
        for name in re.findall(r'from "([^"]+)"', path.read_text())
        if not name.startswith((".", "node:"))
    }
    assert imported == {"@msgpack/msgpack"}


def test_the_release_is_the_python_clients() -> None:
    facts = json.loads((NODE_CLIENT / "package.json").read_text())

    assert f'version = "{facts["version"]}"' in (ROOT / "client" / "pyproject.toml").read_text()


def test_it_can_be_installed_as_its_readme_says_and_does_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    npm_install(tmp_path, [NODE_CLIENT])
    (code,) = re.findall(r"```js\n(.*?)```", (NODE_CLIENT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "readme.js").write_text(code)

    with short_directory() as directory, ServerThread(directory / "s") as server:
        ended = run_node(["readme.js"], cwd=tmp_path, environ={"MEMD_SOCKET": str(server.path)})

    question = "which port does the staging gateway use"
    assert (ended.stdout, ended.stderr) == (f"MEMORY.md#L1\n{question}\n", "")


def test_its_page_names_every_option() -> None:
    page = (ROOT / "docs" / "node.md").read_text()
    types = (NODE_CLIENT / "lib" / "index.d.ts").read_text()
    options = [
        name
        for interface in ("ClientOptions", "CallOptions")
        for name in re.findall(
            r"^  (\w+)\?:", types.split(f"interface {interface} ")[1].split("\n}")[0], re.MULTILINE
        )
    ]

    assert len(options) > 8
    assert [name for name in options if f"| `{name}` |" not in page] == []


def test_its_files_are_short() -> None:
    made = set(generated_files())
    long = {
        path.name: lines
        for path in NODE_CLIENT.rglob("*.*s")
        if path.is_file() and "node_modules" not in path.parts and path not in made
        if (lines := len(path.read_text().splitlines())) > JS_LINES
    }

    assert long == {}
