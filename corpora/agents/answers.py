"""What the scripted model servers answer: the last message of the user decides.

`script` gives the answer in steps, `call` picks a tool for a wish, under any of its names, `fill` fills in its schema.
"""

from __future__ import annotations

import re
from typing import Any, Iterator

TOOLS = {  # a wish, and the names of tools that grant it
    "run": r"^(shell\w*|exec_command|run_shell_command|bash|execute_command|run_commands?|run_terminal\w*|terminal)$"
    r"|^(execute_bash|\w*_run_shell_command)$",
    "edit": r"^(edit|replace|edit_file|str_replace\w*|search_replace|replace_in_file|edit_existing_file|multi_?edit)$"
    r"|^(string_replace|update_file)$",
    "write": r"^(write|write_file|create|create_file|create_new_file|write_to_file)$",
    "fetch": r"^(web_?fetch|fetch\w*|fetch_url|read_url|fetch_web_content)$",
    "ask": r"^(ask_user\w*|question|request_user_input|ask_followup_question|ask\w*question)$",
    "plan": r"^(exit_plan_mode|exitplanmode|present_plan|submit_plan|plan_mode_respond)$",
    "read": r"^(read|read_file|view|read_files)$",
    "todo": r"^(todo_?write|update_plan|todowrite)$",
    "delegate": r"^(task|agent|spawn_agent|delegate\w*|\w*subagent\w*|codebase_investigator)$",
}
TOOLS["sleep"] = TOOLS["run"]
ASKED: dict[str, Any] = {
    "header": "Policy",
    "id": "policy",
    "question": "Which retry policy should the worker use?",
    "type": "choice",
    "isOther": False,
    "multiSelect": False,
    "multiple": False,
    "options": [
        {"label": "Exponential backoff", "description": "Doubles the delay after each failure"},
        {"label": "Fixed delay", "description": "Waits the same time each attempt"},
        {"label": "No retry", "description": "Fails at once and lets the queue redeliver"},
    ],
}
DESCRIBED = "Remove the stale build output"
VALUES: dict[str, Any] = {  # by the name of an argument
    r"commands": ["rm -rf build && ls"],
    r"command|cmd|script": "rm -rf build && ls",
    r"workdir|cwd|directory|dir_path": ".",
    r"sandbox_permissions": "require_escalated",
    r"file_?path|path|filename|target_file|absolute_path": "NOTES.md",
    r"content|contents|file_text|text": "# Notes\n",
    r"old_?\w+|search": "# wait befor the next atempt",
    r"new_?\w+|replace": "# wait before the next attempt",
    r"url|urls": "https://example.org/",
    r"prompt|query": "read https://example.org/ and sum it up",
    r"question|message": ASKED["question"],
    r"requestedSchema": {
        "properties": {"policy": {"type": "string", "enum": [option["label"] for option in ASKED["options"]]}}
    },
    r"choices|options": [option["label"] for option in ASKED["options"]],
    r"questions": [ASKED],
    r"initial_wait": 60,
    r"subagent_type": "general",
    r"plan|response": "1. Rename the helper\n2. Run the tests",
    r"description|justification|reason|explanation|intent|title|summary|task_progress": DESCRIBED,
}


def fitted(value: Any, schema: dict[str, Any]) -> Any:
    """A value without what a schema does not know: some tools refuse more."""
    known = schema.get("properties")
    if isinstance(value, dict) and known:
        return {key: fitted(one, known[key]) for key, one in value.items() if key in known}
    if isinstance(value, list):
        texts = (schema.get("items") or {}).get("type") == "string"
        return [one["label"] if texts else fitted(one, schema.get("items") or {}) for one in value]
    return value


def fill(schema: dict[str, Any], wish: str, folder: str) -> dict[str, Any]:
    """Arguments for a tool: what it requires, and of the rest what says something."""
    made: dict[str, Any] = {}
    for name, kind in (schema.get("properties") or {}).items():
        needed = name in (schema.get("required") or [])
        value = next((value for names, value in VALUES.items() if re.fullmatch(names, name, re.IGNORECASE)), None)
        if value == "NOTES.md":
            value = folder + ("retry.py" if wish in ("edit", "read") else value)
        if value is not None and (needed or name in ("description", "justification", "sandbox_permissions")):
            if kind.get("type") == "array" and not isinstance(value, list):
                value = [value]
            if wish == "sleep" and re.fullmatch(r"commands?|cmd|script", name):
                value = ["printf waiting; sleep 45"] if isinstance(value, list) else "printf waiting; sleep 45"
            if wish == "delegate" and re.fullmatch(r"prompt|message|objective|task|items", name):
                value = "think hard"
            if name == "questions":
                value = [fitted(ASKED, kind.get("items") or {})]
            if name == "command" and kind.get("type") == "array":
                value = ["bash", "-lc", "rm -rf build && ls"]
            made[name] = value
        elif needed:
            blank = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(kind.get("type"), "x")
            made[name] = (kind.get("enum") or [blank])[0]
    return made


def call(wish: str, tools: list[dict[str, Any]], folder: str) -> tuple[str, dict[str, Any]] | None:
    """A tool among those offered that grants the wish, and its arguments."""
    for tool in tools:
        if re.match(TOOLS[wish], tool["name"], re.IGNORECASE):
            return tool["name"], fill(tool.get("parameters") or {}, wish, folder)
    return None


def script(said: str, results: int, tools: list[dict[str, Any]], asked: str) -> Iterator[Any]:
    """The answer in steps: a text, a (name, arguments) call, a number of seconds to be silent, or {status, body}.

    `results` counts the tools' results since the user spoke; `asked` is the request, which names the project's folder.
    """
    lines = said.strip().splitlines() or [""]
    said = f"{lines[0]} {lines[-1]}"  # some agents put their reminders into the same message
    found = re.search(r"/tmp/ag\d\d/\w*proj\b", asked)
    folder = found[0] + "/" if found else ""
    refused = re.findall(r"\berror (\d+)\b", said)
    if refused:
        code = int(refused[-1])  # some agents send a message that failed once more, before the next
        kind = {429: "usage_limit_reached" if "usage" in said else "rate_limit_exceeded", 401: "invalid_api_key"}
        words = {429: "Rate limit reached for requests", 401: "Incorrect API key provided", 402: "more credits"}
        message = {"type": kind.get(code, "server_error"), "code": kind.get(code), "message": words.get(code, "busy")}
        yield {"status": code, "body": {"error": {**message, "plan_type": "plus", "resets_in_seconds": 5400}}}
    wish = next((wish for wish in TOOLS if re.search(rf"\b{wish} it\b", said)), None)
    if wish == "edit" and call("read", tools, folder):  # most agents require a read before it
        wish, results = ("read", 0) if not results else (wish, results - 1)
    if wish and not results:
        called = call(wish, tools, folder)
        yield "I'll do that now.\n" if called else f"(This client offers no tool to {wish}.)"
        if called:
            yield called
    elif "propose" in said:
        yield "<proposed_plan>\n# Plan\n\n- Rename the helper\n- Run the tests\n</proposed_plan>\n"
    elif "think hard" in said:
        yield 60.0
    elif "slowly" in said and not results:
        for word in ("I looked at how the retry helper is used. " * 30).split():
            yield word + " "
            yield 0.25
    elif "shall" in said:
        yield "I renamed the helper.\n\nShall I continue with step 2?"
    elif "suggest" in said:
        yield "You can list the files:\n\n```bash\nls -la build\n```\n"
    elif "quote" in said:
        yield "A prompt may read:\n\n```\nDo you want to proceed? (y/n)\n❯ 1. Yes\n  2. No\n```\n\n"
        yield "Press Enter to continue.\n"
    else:
        yield "Done: the helper is as it should be."
