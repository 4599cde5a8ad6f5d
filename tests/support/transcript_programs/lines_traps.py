"""Records of programs with a file of lines per session: every type that their code or documentation shows.

Each function returns a session with `MACHINE` in all texts that are neither a user's nor an answer, and with the talk
`TALK`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.support.transcript_programs.lines_plain import blocks
from tests.support.transcript_programs.plain import CWD, START_MS, stamp

MACHINE: Final = "machine text"
SESSION: Final = "0199a213-81c4-7000-8000-000000000001"

ASKED, ANSWERED = "Which port does staging use?", "Staging uses 8443."
ALSO, ALSO_ANSWERED = "And production?", "443."
TALK: Final = [("user", ASKED), ("assistant", ANSWERED), ("user", ALSO), ("assistant", ALSO_ANSWERED)]

Record = dict[str, Any]


def lines_of(records: Sequence[Record]) -> list[bytes]:
    """Return records as lines."""
    return [json.dumps(record).encode() for record in records]


class QwenRecords:
    """Writes records of Qwen Code; each follows the one before it, unless `after` names another."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, kind: str, after: str | None = "", **fields: Any) -> str:
        """Append a record and return its id."""
        count = len(self.records)
        above = f"u{count - 1}" if count else None
        base = {"uuid": f"u{count}", "parentUuid": above if after == "" else after, "sessionId": SESSION}
        facts = {
            "timestamp": stamp(count),
            "type": kind,
            "cwd": CWD,
            "version": "0.24.4",
            "gitBranch": "main",
        }
        self.records.append({**base, **facts, **fields})
        return f"u{count}"

    def user(self, *texts: str, **fields: Any) -> str:
        """Append a prompt."""
        parts = [{"text": text} for text in texts]
        return self.add("user", **{"message": {"role": "user", "parts": parts}, **fields})

    def model(self, *parts: Any, **fields: Any) -> str:
        """Append an answer; a string becomes a part."""
        found = [{"text": part} if isinstance(part, str) else part for part in parts]
        return self.add("assistant", message={"role": "model", "parts": found}, model="m", **fields)

    def system(self, subtype: str, payload: Any = None, **fields: Any) -> str:
        """Append a record of the program."""
        return self.add("system", subtype=subtype, systemPayload=payload, **fields)


HOOK: Final = f"<qwen:user-prompt-submit-context>\n{MACHINE}\n</qwen:user-prompt-submit-context>"
FILES: Final = (
    f"--- Content from referenced files ---\nContent from @a.txt:\n{MACHINE}\n--- End of content ---"
)


def qwen() -> list[bytes]:
    """Qwen Code."""
    file = QwenRecords()
    file.system("session_source", {"sourceType": "default", "sourceId": MACHINE})
    file.user(f"{ASKED}\n{FILES}", provenance="real_user")
    response = {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": MACHINE}}}
    thought, call = {"text": MACHINE, "thought": True}, {"functionCall": {"id": "c1", "args": {"p": MACHINE}}}
    file.model(thought, call)
    file.add("tool_result", message={"role": "user", "parts": [response]}, toolCallResult={"x": MACHINE})
    file.add("user", message={"role": "user", "parts": [response]})  # older releases
    file.model(thought, ANSWERED)
    for subtype in ("notification", "cron", "goal_runtime", "at_command"):
        file.user(MACHINE, subtype=subtype, provenance="system", systemPayload={"displayText": MACHINE})
    file.user(MACHINE, provenance="goal_control")
    file.user(MACHINE, isSidechain=True, agentId="a1")
    file.model(MACHINE, isSidechain=True, agentId="a1")
    file.user(f"<system-reminder>{MACHINE}</system-reminder>")
    for subtype in (
        "agent_bootstrap agent_launch_prompt agent_retry agent_session_ready attribution_snapshot "
        "background_task_completed branch_checkpoint chat_compression file_history_snapshot goal_state goal_turn_end "
        "omni_recall parent_session session_artifact_event session_artifact_snapshot session_model "
        "session_sources_snapshot slash_command turn_result ui_telemetry"
    ).split():
        file.system(subtype, {"uiEvent": {"response_text": MACHINE}, "summary": MACHINE})
    shown = {"displayText": ALSO, "hookContext": MACHINE}
    file.user(ALSO, HOOK, subtype="mid_turn_user_message", systemPayload=shown)
    file.model(ALSO_ANSWERED)
    file.system("custom_title", {"customTitle": "Ports", "titleSource": "auto"})
    return lines_of(file.records)


KIMI_ORIGINS: Final[tuple[Record, ...]] = (
    {"kind": "injection", "variant": "date_change"},
    {"kind": "skill_activation", "skillName": "x", "trigger": "model"},
    {"kind": "plugin_command", "trigger": "agent"},
    {"kind": "system_trigger"},
    {"kind": "task", "taskId": "t1"},
    {"kind": "background_task"},
    {"kind": "compaction_summary"},
    {"kind": "retry"},
)
"""Origins of text that Kimi Code adds."""


def kimi_code() -> list[bytes]:
    """Kimi Code."""
    records: list[Record] = [{"type": "metadata", "protocol_version": "1.5", "created_at": START_MS}]

    def add(kind: str, **fields: Any) -> None:
        time = START_MS + len(records) * 1_000
        records.append({"type": kind, "agentId": "main", **fields, "time": time})

    def said(text: str, origin: Any, role: str = "user") -> None:
        add("context.append_message", message={"role": role, "content": blocks(text), "origin": origin})

    def event(kind: str, **fields: Any) -> None:
        add("context.append_loop_event", event={"type": kind, "turnId": "0", "step": 1, **fields})

    def answered(text: str) -> None:
        event("step.begin")
        event("content.part", part={"type": "think", "think": MACHINE, "text": MACHINE})
        event("content.part", uuid=f"p{len(records)}", part=blocks(text)[0])
        event("tool.call", toolCallId="c1", name="Read", args={"path": MACHINE})
        event("tool.result", toolCallId="c1", result={"output": MACHINE})
        event("step.end", finishReason="end_turn")

    add("profile.bind", systemPrompt=MACHINE)
    add("config.update", systemPrompt=MACHINE, environmentDisclosure={"cwd": CWD})
    add("turn.prompt", input=blocks(ASKED), origin={"kind": "user"})
    said(ASKED, {"kind": "user"})
    for origin in KIMI_ORIGINS:
        said(MACHINE, origin)
    said(f"<hook_result hook_event='UserPromptSubmit'>{MACHINE}</hook_result>", {"kind": "user"})
    said(MACHINE, {"kind": "user"}, role="assistant")
    answered(ANSWERED)
    content = {"message": {"role": "assistant", "content": blocks(MACHINE)}}
    records.append({"type": "agent.message.appended", "kind": "event", "time": START_MS, "message": content})
    for kind in (
        "agent.turn.started agent.turn.ended context.update_token_count context.undone cron.add file_history.tracked "
        "full_compaction.begin goal.create interaction.request interruptionReminder.recorded llm.request "
        "llm.tools_snapshot mcp.tools_discovered micro_compaction.apply permission.set_mode plan.revision "
        "plan_mode.enter plugin.session_start prompt.completed runtime.set_binding staleGuard.recorded "
        "subagent.completed swarm_mode.enter task.started token_counting.measured tools.update_store tower_mode.enter "
        "turn.cancel turn.ended turn.step.interrupted turn.step.retrying usage.record"
    ).split():
        add(kind, content=MACHINE, summary=MACHINE, input=blocks(MACHINE))
    add("context.apply_compaction", summary=MACHINE, contextSummary=MACHINE, compactedCount=2)
    add("turn.steer", input=blocks(ALSO), origin={"kind": "user"})
    said(ALSO, {"kind": "user", "inTurn": True})
    answered(ALSO_ANSWERED)
    return lines_of(records)


def kimi_cli() -> list[bytes]:
    """Kimi CLI: the wire."""
    records: list[Record] = [{"type": "metadata", "protocol_version": "1.3"}]

    def add(kind: str, **payload: Any) -> None:
        time = START_MS / 1_000 + len(records)
        records.append({"timestamp": time, "message": {"type": kind, "payload": payload}})

    add("TurnBegin", user_input=[*blocks(ASKED), {"type": "image_url", "image_url": {"url": MACHINE}}])
    add("StepBegin", n=1)
    add("ContentPart", type="think", think=MACHINE)
    add("ToolCall", type="function", id="c1", function={"name": "ReadFile", "arguments": MACHINE})
    add("ToolResult", tool_call_id="c1", return_value={"is_error": False, "output": MACHINE})
    add("ContentPart", **blocks(ANSWERED)[0])
    inner = {"type": "ContentPart", "payload": blocks(MACHINE)[0]}
    add("SubagentEvent", parent_tool_call_id="c1", event=inner)
    for kind in (
        "ApprovalRequest ApprovalRequestResolved ApprovalResponse BtwBegin BtwEnd CompactionBegin CompactionEnd "
        "HookRequest HookResolved HookTriggered MCPLoadingBegin MCPLoadingEnd MCPStatusSnapshot Notification "
        "PlanDisplay QuestionRequest StatusUpdate StepInterrupted StepRetry ToolCallPart ToolCallRequest"
    ).split():
        add(kind, content=MACHINE, response=MACHINE, body=MACHINE)
    add("TurnBegin", user_input=f"<notification>{MACHINE}</notification>")
    add("SteerInput", user_input=ALSO)
    add("ContentPart", **blocks(ALSO_ANSWERED)[0])
    add("TurnEnd")
    return lines_of(records)


def kimi_context() -> list[bytes]:
    """Kimi CLI: the model's context."""
    return lines_of(
        [
            {"role": "_system_prompt", "content": MACHINE},
            {"role": "_checkpoint", "id": 0},
            {"role": "user", "content": f"<system>CHECKPOINT 0 {MACHINE}</system>"},
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": [{"type": "think", "think": MACHINE}], "tool_calls": [MACHINE]},
            {"role": "tool", "content": MACHINE, "tool_call_id": "c1"},
            {"role": "assistant", "content": blocks(ANSWERED)},
            {"role": "_usage", "token_count": 7},
            {"role": "user", "content": blocks(ALSO)},
            {"role": "assistant", "content": ALSO_ANSWERED},
        ]
    )


class PiEntries:
    """Writes entries of pi and omp; each follows the one before it, unless `after` names another."""

    def __init__(self, **header: Any) -> None:
        first = {"type": "session", "version": 3, "id": SESSION, "timestamp": stamp(0), "cwd": CWD}
        self.records: list[Record] = [{**first, **header}]

    def add(self, kind: str, after: str | None = "", **fields: Any) -> str:
        """Append an entry and return its id."""
        count = len(self.records)
        above = f"e{count - 1}" if count > 1 else None
        base = {"type": kind, "id": f"e{count}", "parentId": above if after == "" else after}
        self.records.append({**base, "timestamp": stamp(count), **fields})
        return f"e{count}"

    def said(self, role: str, content: Any, after: str | None = "", **fields: Any) -> str:
        """Append a message."""
        found = blocks(content) if isinstance(content, str) else content
        return self.add("message", after, message={"role": role, "content": found, **fields})


def pi() -> list[bytes]:
    """pi and omp."""
    file = PiEntries(title="A title")
    file.add("model_change", provider="x", modelId=MACHINE)
    file.said("system", MACHINE, sections={"preamble": MACHINE})
    file.said("user", ASKED, attribution="user")
    thinking = {"type": "thinking", "thinking": MACHINE}
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": MACHINE}}
    file.said("assistant", [thinking, call])
    file.said("toolResult", MACHINE, toolCallId="c1", toolName="read")
    file.said("assistant", [thinking, *blocks(ANSWERED), {"type": "image", "data": MACHINE}])
    file.said("user", MACHINE, synthetic=True)
    file.said("user", MACHINE, attribution="agent")
    file.said("user", f"<skill name='x'>{MACHINE}</skill>")
    for role in "bashExecution branchSummary compactionSummary custom developer hookMessage".split():
        file.said(role, MACHINE, summary=MACHINE, output=MACHINE)
    for role in ("fileMention", "pythonExecution"):
        file.said(role, MACHINE)
    for kind in (
        "branch_summary compaction context_edit credential_pin custom custom_message label mode_change model_usage "
        "reset_boundary service_tier_change session_init thinking_level_change ttsr_injection usage"
    ).split():
        file.add(kind, summary=MACHINE, content=MACHINE, task=MACHINE, data={"text": MACHINE})
    file.said("user", ALSO, steering=True)
    file.said("assistant", ALSO_ANSWERED)
    file.records.append({"type": "title", "v": 1, "title": "Ports", "pad": ""})
    return lines_of(file.records)


class DeepseekEvents:
    """Writes events of DeepSeek Harness."""

    def __init__(self, **header: Any) -> None:
        first = {"type": "session", "version": 0, "id": SESSION, "createdAt": START_MS, "cwd": CWD}
        self.records: list[Record] = [{**first, "delegationDepth": 0, **header}]

    def add(self, kind: str, data: Any) -> None:
        """Append an event."""
        count = len(self.records)
        self.records.append({"type": kind, "seq": count - 1, "time": START_MS + count * 1_000, "data": data})

    def user(self, text: str, source: Any = None) -> None:
        """Append a message of the role user."""
        message = {"id": f"m{len(self.records)}", "role": "user", "content": blocks(text)}
        self.add("user/message", {**message, "source": source or {"kind": "user"}})

    def model(self, *content: Any) -> None:
        """Append an answer."""
        message = {"id": f"m{len(self.records)}", "role": "assistant", "content": [*content]}
        self.add("assistant/message", {"turn": 0, "step": 0, "message": message})

    def piece(self, text: str) -> None:
        """Append a piece of an answer."""
        chunk = {"type": "text-delta", "index": 0, "text": text}
        self.add("assistant/chunk", {"turn": 0, "step": 0, "chunk": chunk})

    def pieces(self, *texts: str) -> None:
        """Append several pieces in one record."""
        record = {"type": "text-chunks", "seq0": len(self.records) - 1, "time0": START_MS}
        self.records.append({**record, "data": {"texts": [*texts], "dt": [1] * (len(texts) - 1)}})


def deepseek() -> list[bytes]:
    """DeepSeek Harness."""
    file = DeepseekEvents()
    file.add("turn/start", {"turn": 0})
    file.user(ASKED)
    for kind in ("plugin", "tool", "model"):
        file.user(MACHINE, {"kind": kind, "plugin": "skill"})
    file.add("step/start", {"turn": 0, "step": 0})
    file.add("assistant/chunk", {"chunk": {"type": "reasoning-delta", "text": MACHINE}})
    file.piece("Staging uses ")
    file.pieces("84", "43.")
    file.records.append(
        {"type": "reasoning-chunks", "seq0": 9, "time0": START_MS, "data": {"texts": [MACHINE]}}
    )
    file.records.append(
        {"type": "tool-call-chunks", "seq0": 9, "time0": START_MS, "data": {"args": [MACHINE]}}
    )
    file.model({"type": "reasoning", "text": MACHINE}, *blocks(ANSWERED))
    file.add("tool/call", {"callId": "c1", "name": "read", "arguments": MACHINE})
    result = [{"type": "tool-result", "content": blocks(MACHINE)}]
    file.add("tool/result", {"message": {"role": "user", "source": {"kind": "tool"}, "content": result}})
    for kind in (
        "agent-preset/selected agent/inbox/spliced approval/asked approval/decided approval/policy command/done "
        "command/run compaction/end compaction/prune compaction/start compaction/summary feedback/record goal/change "
        "hook/invoked hook/result llm/retry llm/retry-started permission/preset plan/mode request/context "
        "request/header sandbox/mode schedule/change session/end-seed session/title-llm-request step/end "
        "subagent/descriptor team/member team/message/delivered team/message/queued team/task todo/write "
        "tool-workflow/agent-end tool-workflow/run-start tool/code-dispatch web/deepseek-search-llm-request"
    ).split():
        file.add(kind, {"text": MACHINE, "summary": MACHINE, "content": blocks(MACHINE)})
    file.add("session/title", {"title": "Ports", "messageSeqs": [], "source": {"kind": "user"}})
    file.add("turn/end", {"turn": 0, "reason": {"kind": "completed"}})
    file.user(ALSO)
    file.model(*blocks(ALSO_ANSWERED))
    return lines_of(file.records)


class GrokUpdates:
    """Writes updates of Grok Build."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, kind: str, session: str = SESSION, turn: str = "p0", **fields: Any) -> None:
        """Append an update; `session` is the one that made it first."""
        count = len(self.records) + 1
        update = {"sessionUpdate": kind, **fields}
        meta = {
            "eventId": f"{session}-{count}",
            "agentTimestampMs": START_MS + count * 1_000,
            "promptId": turn,
        }
        params = {"sessionId": SESSION, "update": update, "_meta": meta}
        self.records.append({"timestamp": START_MS, "method": "session/update", "params": params})

    def said(self, role: str, text: str, prompt: int = 0, session: str = SESSION, **meta: Any) -> None:
        """Append a piece of a message."""
        content = {"type": "text", "text": text}
        marks = {"promptIndex": prompt, **meta}
        self.add(f"{role}_message_chunk", session, f"p{prompt}", content=content, _meta=marks)


def grok() -> list[bytes]:
    """Grok Build."""
    file = GrokUpdates()
    file.said("user", ASKED)
    file.said("user", MACHINE, hostTurn=True)
    file.said("user", f"<system-reminder>{MACHINE}</system-reminder>", 9)
    file.add("agent_thought_chunk", content={"type": "text", "text": MACHINE})
    file.add("tool_call", toolCallId="c1", title=MACHINE, rawInput={"path": MACHINE})
    content = [{"type": "content", "content": {"type": "text", "text": MACHINE}}]
    file.add("tool_call_update", toolCallId="c1", content=content, rawOutput=MACHINE)
    for piece in ("Staging", " ", "uses 8443.", "\n"):
        file.said("agent", piece)
    for kind in (
        "available_commands_update background_tasks config_option_update current_mode_update plan "
        "compaction_checkpoint retry_state session_info_update turn_completed usage_update"
    ).split():
        file.add(kind, content={"type": "text", "text": MACHINE}, entries=[MACHINE])
    file.said("user", ALSO, 1)
    file.said("agent", ALSO_ANSWERED, 1)
    return lines_of(file.records)


def kiro_cli() -> list[bytes]:
    """Kiro CLI: lines with a `kind`, and in another form with a `role`."""
    use = {"kind": "toolUse", "data": {"toolUseId": "t1", "name": "read", "input": {"path": MACHINE}}}
    result = {"kind": "toolResult", "data": {"toolUseId": "t1", "content": [MACHINE], "status": "success"}}

    def line(kind: str, *content: Any) -> Record:
        return {"version": "v1", "kind": kind, "data": {"message_id": "m1", "content": [*content]}}

    return lines_of(
        [
            line("Prompt", {"kind": "text", "data": ASKED}, {"kind": "image", "data": MACHINE}),
            line("AssistantMessage", use),
            line("ToolResults", result),
            line("AssistantMessage", {"kind": "text", "data": ANSWERED}, use),
            line("Compaction", {"kind": "text", "data": MACHINE}),
            line("Clear"),
            {"role": "user", "content": ALSO, "timestamp": stamp(4)},
            {"role": "tool", "content": MACHINE, "timestamp": stamp(5)},
            {"role": "system", "content": MACHINE, "timestamp": stamp(5)},
            {"role": "assistant", "content": blocks(ALSO_ANSWERED), "timestamp": stamp(6)},
        ]
    )


def antigravity() -> list[bytes]:
    """Antigravity."""
    added = (
        f"\n<ADDITIONAL_METADATA>\n{MACHINE}\n</ADDITIONAL_METADATA>"
        f"<USER_SETTINGS_CHANGE>\n{MACHINE}\n</USER_SETTINGS_CHANGE>"
    )
    steps = [
        ("USER_EXPLICIT", "USER_INPUT", f"<USER_REQUEST>\n{ASKED}\n</USER_REQUEST>{added}"),
        ("SYSTEM", "CONVERSATION_HISTORY", MACHINE),
        ("MODEL", "RUN_COMMAND", f"Task Description: {MACHINE}"),
        ("MODEL", "VIEW_FILE", MACHINE),
        ("MODEL", "GENERIC", MACHINE),
        ("MODEL", "PLANNER_RESPONSE", ANSWERED),
        ("SYSTEM_SDK", "EPHEMERAL_MESSAGE", MACHINE),
        ("USER_IMPLICIT", "USER_INPUT", MACHINE),
        ("USER_EXPLICIT", "USER_INPUT", f"{ALSO}{added}"),
        ("MODEL", "PLANNER_RESPONSE", ALSO_ANSWERED),
    ]
    return lines_of(
        [
            {"source": source, "type": kind, "status": "DONE", "created_at": stamp(turn), "content": content}
            for turn, (source, kind, content) in enumerate(steps)
        ]
    )


def windsurf() -> list[bytes]:
    """Windsurf."""
    rules = {"always_on": [MACHINE]}
    steps: list[tuple[str, Any]] = [
        ("user_input", {"rules_applied": rules, "user_response": ASKED}),
        ("code_action", {"path": "a.py", "new_content": MACHINE}),
        ("command_action", {"command": MACHINE, "output": MACHINE}),
        ("planner_response", {"thinking": MACHINE, "response": ANSWERED}),
        ("user_input", {"user_response": ALSO}),
        ("planner_response", {"response": ALSO_ANSWERED}),
    ]
    return lines_of([{"type": kind, "status": "done", kind: step} for kind, step in steps])


def workbuddy() -> list[bytes]:
    """WorkBuddy."""
    records: list[Record] = []

    def add(kind: str, **fields: Any) -> None:
        count = len(records)
        records.append({"id": f"r{count}", "timestamp": START_MS + count, "type": kind, "cwd": CWD, **fields})

    add("message", role="user", content=[{"type": "input_text", "text": ASKED}])
    add("reasoning", content=MACHINE)
    add("function_call", name="read", callId="c1", arguments=MACHINE)
    add("function_call_result", callId="c1", output={"type": "text", "text": MACHINE})
    add("message", role="assistant", content=[{"type": "output_text", "text": ANSWERED}])
    add("message", role="system", content=MACHINE)
    add("file-history-snapshot", snapshot=MACHINE)
    add("topic", topic=MACHINE)
    add("message", role="user", content=f"<system-reminder>{MACHINE}</system-reminder>")
    add("message", role="user", content=ALSO)
    add("message", role="assistant", content=ALSO_ANSWERED)
    return lines_of(records)


_FOLDER = "-home-eva-shop"

TRAPS: Final[dict[str, tuple[str, Callable[[], list[bytes]]]]] = {
    "qwen": (f"{_FOLDER}/chats/{SESSION}.jsonl", qwen),
    "kimi-code": (f"wd_shop_0123/{SESSION}/agents/main/wire.jsonl", kimi_code),
    "kimi-cli": (f"0123abcd/{SESSION}/wire.jsonl", kimi_cli),
    "pi": (f"{_FOLDER}/2026-11-02T08-00-00-000Z_{SESSION}.jsonl", pi),
    "omp": (f"{_FOLDER}/2026-11-02T08-00-00-000Z_{SESSION}.jsonl", pi),
    "deepseek": (f"{_FOLDER}/{SESSION}/session.jsonl", deepseek),
    "grok": (f"%2Fhome%2Feva%2Fshop/{SESSION}/updates.jsonl", grok),
    "kiro-cli": (f"{SESSION}.jsonl", kiro_cli),
    "antigravity": (f"{SESSION}/.system_generated/logs/transcript.jsonl", antigravity),
    "windsurf": (f"{SESSION}.jsonl", windsurf),
    "workbuddy": (f"{_FOLDER}/{SESSION}.jsonl", workbuddy),
}
"""By program: the path of a session, and its lines."""
