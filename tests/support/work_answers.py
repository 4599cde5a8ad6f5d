"""Asks the questions of the set of work and compares the answers with what is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import unescape

from tests.support.transcript_programs.agent_steps import Said
from tests.support.work_home import WorkHome, line_with
from tests.support.work_set import ACTIONS, QUESTIONS, WorkProject, WorkQuestion

MAX_SHOWN_CHARS = 160


@dataclass(frozen=True)
class WorkAnswer:
    """A question with its answers, best first.

    Attributes:
        project: The question's project.
        question: The question.
        answers: What was answered, in short.
        is_first: Whether the first answer is right, or nothing was answered and nothing is right.
        is_among: Whether one of the first five is right.
        is_wrong: Whether an answer must not be there.
    """

    project: WorkProject
    question: WorkQuestion
    answers: tuple[str, ...]
    is_first: bool
    is_among: bool
    is_wrong: bool = False

    @property
    def is_right(self) -> bool:
        """Whether the first answer is right and none must not be there."""
        return self.is_first and not self.is_wrong

    def __str__(self) -> str:
        question = self.question
        first = (
            " | ".join(answer.replace("\n", "⏎")[:MAX_SHOWN_CHARS] for answer in self.answers[:2])
            or "nothing"
        )
        expected = " or ".join(question.right) or "nothing"
        asked = question.text.replace("\n", "⏎")[:MAX_SHOWN_CHARS]
        return f"{question.id}: {asked!r}\n    right: {expected}\n    got:   {first}{' (forbidden)' * self.is_wrong}"


def ask_all(home: WorkHome, projects: Iterable[WorkProject], kinds: Sequence[str]) -> list[WorkAnswer]:
    """Return the answers to the questions of some kinds."""
    return [
        ask(home, project, question)
        for project in projects
        for question in project.questions
        if question.kind in kinds
    ]


def ask(home: WorkHome, project: WorkProject, question: WorkQuestion) -> WorkAnswer:
    """Return the answer to a question or an action."""
    folder = home.folder(project)
    text = question.text.replace("{P}", folder)
    where = folder if question.has_project else ""
    match question.kind:
        case "how":
            return _judge_how(home, project, question, text, where)
        case "fix":
            fixes = home.client.fix(text, project=where).fixes
            answers = [
                "\n".join([fix.fixed_by, *(f"{step.action} {step.text}\n{step.new}" for step in fix.steps)])
                for fix in fixes
            ]
            return _judge_texts(project, question, answers)
        case "blame":
            return _judge_blame(home, project, question, text, where)
        case "files":
            files = [file.file for file in home.client.work_files(text, project=where).files]
            right = [any(file.endswith(f"/{path}") for path in question.right) for file in files]
            return _judged(project, question, files, right)
    return _judge_action(home, project, question, text, folder)


def normal(line: str) -> str:
    """Return a command line without what differs between runs of one invocation."""
    line = line.partition(" && ")[2] if line.startswith("cd ") else line
    line = line.split(" | tail")[0].split(" | head")[0].replace(" 2>&1", "")
    return " ".join(line.replace('"', "").replace("'", "").split())


def report(answers: Sequence[WorkAnswer]) -> str:
    """Return a table of the shares by kind and half."""
    rows = []
    for kind in (*QUESTIONS, *ACTIONS):
        for is_held_out in (False, True):
            half = [
                row for row in answers if row.question.kind == kind and row.project.is_held_out == is_held_out
            ]
            if half:
                first, among = sum(row.is_right for row in half), sum(row.is_among for row in half)
                name = "held out" if is_held_out else "tuned"
                rows.append(
                    f"{kind:6} {name:9} first {first:3} of {len(half):3} ({first / len(half):.3f}), in 5: {among}"
                )
    return "\n".join(rows)


def _judged(
    project: WorkProject,
    question: WorkQuestion,
    answers: Sequence[str],
    right: Sequence[bool],
    *,
    is_wrong: bool = False,
) -> WorkAnswer:
    if not question.right:
        return WorkAnswer(project, question, tuple(answers), not answers, not answers, is_wrong)
    return WorkAnswer(project, question, tuple(answers), any(right[:1]), any(right[:5]), is_wrong)


def _judge_how(
    home: WorkHome, project: WorkProject, question: WorkQuestion, text: str, where: str
) -> WorkAnswer:
    commands = [row for row in home.client.how(text, project=where).commands if row.status != "failed"]
    lines = [normal(row.line) for row in commands]
    expected = [normal(line) for line in question.right]
    right = [any(map(line.startswith, expected)) for line in lines]
    is_wrong = bool({normal(line) for line in question.wrong} & set(lines))
    if not question.right:  # commands of other programs may be listed, but not the one that never worked
        lines = [line for line in lines if normal(text).split()[0] in line.split()]
    return _judged(project, question, lines, right, is_wrong=is_wrong)


def _judge_texts(project: WorkProject, question: WorkQuestion, answers: Sequence[str]) -> WorkAnswer:
    right = [any(value.casefold() in answer.casefold() for value in question.right) for answer in answers]
    is_wrong = any(value in answer for value in question.wrong for answer in answers[:1])
    return _judged(project, question, answers, right, is_wrong=is_wrong)


def _judge_blame(
    home: WorkHome, project: WorkProject, question: WorkQuestion, text: str, where: str
) -> WorkAnswer:
    name, _, span = text.partition(" :: ")
    path = f"{home.folder(project)}/{name}"
    line = line_with(path, span) if span else None
    sessions = home.client.blame(path if where else name, line=line).sessions
    requests = {
        next(event.text for event in session.events if isinstance(event, Said))
        for session in project.sessions
        if session.name.partition("/")[2] in question.right
    }
    right = [touch.request in requests for touch in sessions]
    return _judged(project, question, [touch.request for touch in sessions], right)


def _judge_action(
    home: WorkHome, project: WorkProject, question: WorkQuestion, text: str, folder: str
) -> WorkAnswer:
    """Report an action as a hook of Claude Code does, in a session of its own."""
    tool = (
        {"tool": "Edit", "file": f"{folder}/{text}"}
        if question.kind == "edit"
        else {"tool": "Bash", "command": text}
    )
    event = "after_failure" if question.kind == "fail" else "before_tool"
    error = {"error": question.output} if question.kind == "fail" else {}
    reply = home.client.hook("claude-code", event, question.id, cwd=folder, **tool, **error)
    return _judge_texts(project, question, [unescape(reply.text)] if reply.text else [])


def false_share(answers: Sequence[WorkAnswer]) -> float:
    """Return the share of actions without an answer that got one."""
    silent = [row for row in answers if not row.question.right]
    return sum(bool(row.answers) for row in silent) / len(silent)


def precision(answers: Sequence[WorkAnswer]) -> float:
    """Return the share of injected texts that contain what is right."""
    injected = [row for row in answers if row.answers]
    return sum(row.is_right for row in injected) / len(injected) if injected else 0.0


def count_kinds(projects: Iterable[WorkProject]) -> Counter[str]:
    """Return how many questions and actions there are of each kind."""
    return Counter(question.kind for project in projects for question in project.questions)
