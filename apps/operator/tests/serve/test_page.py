"""`stallkit serve --page` in a real browser of a phone's size, over a real server: real prompts, hostile texts."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any, Iterator

import pytest
from drawn_dialog import PROGRAM, SCREENS
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from queued import Desk
from stallkit_operator.item import Choice, ChoiceKind, Draft, Item, Source
from stallkit_operator.queue import Queue
from stallkit_supervisor.notification import ClearedBy
from terminals import Server, wait_for

from stallkit.packs.screenfile import read_screen

pytestmark = pytest.mark.e2e

PHONE = {"width": 390, "height": 844}
LETS = '[[rule]]\ndo = "press"\nsignature = "claude_code:*"\noption = "Yes"\nsession = "tmux:*"\n'
expect.set_options(timeout=30_000)


class Phone:
    """A desk with a server of the page, and what opens it in a browser and keeps what goes wrong there."""

    def __init__(self, folder: Path, browser: Browser, server: Server | None = None) -> None:
        self.desk, self.folder, self.wrong, self.asked = Desk(folder, server), folder, list[str](), list[str]()
        self._context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)  # type: ignore[arg-type]

    def serve(self, *words: str) -> str:
        """Start it, and return the address that it prints."""
        (self.folder / "out").unlink(missing_ok=True)
        self.desk.begin("serve", "--page", *words)
        wait_for(lambda: re.search("^(policy|read-only)", self.out, re.M), "the server")
        return re.findall(r"page: (\S+)", self.out)[0]

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text() if (self.folder / "out").exists() else ""

    def open(self, address: str) -> Page:
        page = self._context.new_page()
        page.on("request", lambda request: self.asked.append(f"{request.method} {request.url}"))
        page.on("dialog", lambda dialog: (self.wrong.append(f"a dialog: {dialog.message}"), dialog.dismiss())[1])
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: self.wrong.append(said.text) if "Content Security" in said.text else None)
        page.goto(address)
        return page

    def filed(self, draft: Draft) -> Item:
        with closing(Queue(self.folder / "state" / "queue.db")) as queue:
            return queue.file(draft)

    def noticed(self, words: str, key: str = "0123456789") -> Item:
        with closing(Queue(self.folder / "state" / "queue.db")) as queue:
            return queue.notify("web", key, words, 4e9)

    def end(self) -> None:
        self._context.close()
        self.desk.end()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if (path := shutil.which("chromium")) is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield made
        made.close()


@pytest.fixture
def phone(tmp_path: Path, browser: Browser, server: Server) -> Iterator[Phone]:
    made = Phone(tmp_path, browser, server)
    yield made
    assert made.wrong == []
    made.end()


def card(page: Page, session: str) -> Locator:
    return page.locator("article", has=page.get_by_role("heading", name=session, exact=True))


def said(page: Page, session: str) -> Locator:
    return card(page, session).locator(".said")


def at_rest(page: Page) -> None:
    """Until no button has just moved."""
    expect(page.locator("body.moving")).to_have_count(0)


def dialog(server: Server, folder: Path) -> Path:
    """A session ``api`` that shows Claude Code's permission to run a command; the file for its keys."""
    folder.mkdir()
    (folder / "claude").symlink_to(Path(sys.executable).resolve())
    (folder / "screen").write_text(read_screen(SCREENS / "hit-bash-narrow.txt").screen.text)
    (heard := folder / "heard").touch()
    command = [str(folder / "claude"), "-c", PROGRAM, str(heard), str(folder / "screen")]
    server.start("api", *command, shows="Do you want to proceed?")
    return heard


def test_of_two_pages_one_presses_one_key_and_nobody_answers_a_secret(phone: Phone, server: Server) -> None:
    heard = dialog(server, phone.folder / "own")
    asks = "import getpass; getpass.getpass('Password for ada: ')"
    server.start("fetch", sys.executable, "-c", asks, shows="Password")
    phone.desk.watch("--all")
    item = phone.desk.item(session="tmux:api")
    phone.desk.item(state="auth_required")
    (policy := phone.folder / "own.toml").write_text(LETS)
    address = phone.serve("--policy", str(policy), "-S", str(server.socket))
    pages = [phone.open(address) for _ in range(2)]
    for page in pages:
        expect(card(page, "api").locator(".asked")).to_have_text("rm -rf build && ls")
        expect(card(page, "api")).to_contain_text("asks for permission")
        expect(card(page, "api").get_by_role("button")).to_have_count(len(item["options"]))
        expect(card(page, "fetch")).to_contain_text("Answer it at its own terminal")
        assert not card(page, "fetch").locator("button, input").count()
        at_rest(page)
    age = card(pages[0], "api").locator(".age").inner_text()
    expect(card(pages[0], "api").locator(".age")).not_to_have_text(age)
    for page in pages:  # without waiting for the first one's answer
        card(page, "api").get_by_role("button", name="this once").dispatch_event("click")
    for page in pages:
        expect(said(page, "api")).to_have_text(re.compile("Answered|over|answering it now|changed"))
    told = sorted(said(page, "api").inner_text() for page in pages)
    assert [one.startswith("Answered “Yes”: ") for one in told].count(True) == 1, told
    assert heard.read_bytes() == b"1"
    origin = address.partition("#")[0]
    assert {one.split()[1] for one in phone.asked} == {origin, f"{origin}rpc"}


def test_who_has_no_token_or_another_host_or_origin_gets_nothing(phone: Phone) -> None:
    phone.noticed("nobody else reads this")
    address = phone.serve()
    origin, token = address.split("/#token=")
    page = phone.open(f"{origin}/#token={'x' * 43}")
    expect(page.locator("#trouble")).to_contain_text("no valid token")
    assert not page.locator("article").count() and "nobody else" not in page.content()
    expect(card(phone.open(address), "web")).to_contain_text("nobody else reads this")

    def answer(path: str, **headers: str) -> tuple[int, str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "who_waits"}).encode() if path else None
        asks = urllib.request.Request(f"{origin}/{path}", body, {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(asks) as found:
                return found.status, found.read().decode(), found.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    own = {"Authorization": f"Bearer {token}"}
    code, page_itself, headers = answer("")
    assert code == 200 and "nobody else" not in page_itself and token not in page_itself
    policy = headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'sha256-", "frame-ancestors 'none'", "connect-src 'self'"):
        assert part in policy
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert headers["x-content-type-options"] == "nosniff"
    assert answer("", Host="evil.example")[0] == answer("rpc", **own, Host="evil.example")[0] == 421
    assert answer("rpc", **own, Origin="http://evil.example")[0] == 403
    assert answer("rpc", **own, Origin=origin)[0] == 200 and answer("rpc")[0] == 401
    refused = phone.desk("serve", "--page", "--mcp")
    assert refused.returncode == 64


EVIL = (
    '<img src=x onerror="alert(1)"><script>alert(2)</script>\u202egnp.exe\u2066 \x1b[31mred\x07 \u200bhid\U000e0041den'
)
LONG = "W" * 10_000
CUT = """[...document.querySelectorAll("main *")]
    .filter(one => one.clientWidth && one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML.slice(0, 60))"""


def test_hostile_texts_run_nothing_and_break_no_layout(phone: Phone) -> None:
    options = (Choice("1", EVIL, ChoiceKind.ALLOW_ONCE, EVIL), Choice("2", LONG), Choice("3", "̷̸" * 500))
    words = f"{EVIL}\n{LONG}\n─\n{'ש' * 200}\n{LONG}"
    phone.filed(Draft(f"tmux:{EVIL}", Source.PROMPT, "select", words, options, asked=EVIL))
    phone.filed(Draft(f"tmux:{LONG}", Source.PROMPT, EVIL, words, asked=LONG, questions=3))
    phone.noticed(f"{EVIL}\n{LONG}\n" + "\n" * 5_000)
    page = phone.open(phone.serve("--policy", "careful"))
    expect(page.locator("article")).to_have_count(3)
    assert not page.locator("main").locator("img, script, iframe, a, link, style").count()
    shown = page.locator("main").inner_text()
    assert "<script>alert(2)</script>\\u{202e}gnp.exe\\u{2066} \\u{1b}[31mred\\u{7} \\u{200b}hid\\u{e0041}den" in shown
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x1b\x07]", page.title() + page.locator("html").inner_text())
    for width in (390, 320, 1200):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT) == [], "a part of a command may be out of sight"
        for one in page.locator("article, article *:visible:not(.rows *)").all():
            box = one.bounding_box()
            assert box is None or (box["x"] >= 0 and box["x"] + box["width"] <= width + 1), one.inner_text()[:80]
    page.set_viewport_size({"width": 390, "height": 844})
    for one in page.locator("button, input").all():
        box = one.bounding_box()
        assert box and box["height"] >= 44 and box["width"] >= 44
    origin = page.url.partition("#")[0]
    assert {one.split()[1] for one in phone.asked} == {origin, f"{origin}rpc"}


def test_without_a_policy_there_is_no_button(phone: Phone) -> None:
    address = phone.serve()
    page = phone.open(address)
    expect(page.locator("#none")).to_contain_text("Nothing waits for you.")
    expect(page.locator("#none")).to_contain_text("stallkit watch --all")
    phone.filed(Draft("tmux:one", Source.PROMPT, "select", "Which?", (Choice("1", "a"), Choice("2", "b"))))
    phone.noticed("the mirror is blocked")
    expect(page.locator("article")).to_have_count(2)
    expect(page.locator("#sum")).to_contain_text("look only")
    assert not page.locator("button, input, form").count()
    assert page.title() == "(2) stallkit"


def test_an_agents_notice_is_approved_declined_or_replied_to(phone: Phone) -> None:
    phone.noticed("may I?")
    page = phone.open(phone.serve("--policy", "careful"))
    for key, press, told, state, text in (
        ("key-of-1", "Approve", "Answered “approved”", "answered", "approved"),
        ("key-of-2", "Decline", "Declined", "declined", "not today"),
        ("key-of-3", "Send", "Answered “use the mirror”", "answered", "use the mirror"),
    ):
        item = phone.noticed(f"{key}: may I?", key)
        one = page.locator("article", has_text=key)
        if press != "Approve":
            one.get_by_role("textbox").fill(text)
        one.get_by_role("button", name=press).click()
        expect(page.locator(".said", has_text=told)).to_be_visible()
        with closing(Queue(phone.folder / "state" / "queue.db")) as queue:
            found = queue.item(item.id)
        assert (found.state, found.text, found.through) == (state, text, "stallkit serve, HTTP")


def test_an_answer_is_to_what_the_page_shows(phone: Phone) -> None:
    phone.noticed("delete the copy?")
    page = phone.open(phone.serve("--policy", "careful"))
    at_rest(page)
    expect(card(page, "web")).to_be_visible()
    page.route("**/rpc", lambda route: route.continue_() if "reply" in route.request.post_data else None)  # no look
    phone.noticed("and the original too?", "another-key")
    with closing(Queue(phone.folder / "state" / "queue.db")) as queue:
        queue._change(1, lambda item: item.appended("delete the original too?").revised(item))
    card(page, "web").get_by_role("button", name="Approve").click()
    expect(said(page, "web")).to_contain_text("It has changed, nothing was pressed")
    assert phone.desk.item(state="input_required")["id"] == 1


def test_enter_alone_answers_what_asks_for_it(phone: Phone, server: Server) -> None:
    (policy := phone.folder / "own.toml").write_text(
        LETS.replace("claude_code:*", "shell_tools:*").replace('option = "Yes"\n', "")
    )
    asks = "read -p 'Press Enter to continue ' it; echo \"got [$it]\"; exec sleep 1000"
    server.start("one", "bash", "-c", asks, shows="Enter")
    phone.desk.watch("--all")
    phone.desk.item(session="tmux:one")
    page = phone.open(phone.serve("--policy", str(policy), "-S", str(server.socket)))
    at_rest(page)
    card(page, "one").get_by_role("button", name="Press Enter").click()
    expect(said(page, "one")).to_contain_text("Answered")
    wait_for(lambda: "got []" in server.tmux("capture-pane", "-p", "-t", "=one:"), "the key")


def test_several_choices_are_ticked_and_what_ends_elsewhere_says_so(phone: Phone) -> None:
    options = tuple(Choice(str(number), name) for number, name in enumerate("abc", 1))
    item = phone.filed(Draft("tmux:gone", Source.PROMPT, "multiselect", "Which?", options, several=True))
    other = phone.filed(Draft("tmux:other", Source.PROMPT, "text", "Name:"))
    page = phone.open(phone.serve("--policy", "careful"))
    one = card(page, "gone")
    one.get_by_role("button", name="Choose these").click()
    expect(said(page, "gone")).to_have_text("Tick one first.")
    for name in ("1 a", "3 c"):
        one.get_by_role("button", name=name).click()
    with page.expect_request(lambda request: "reply" in (request.post_data or "")) as sent:
        one.get_by_role("button", name="Choose these").click()
    params = json.loads(sent.value.post_data or "")["params"]
    assert params == {"id": item.id, "revision": item.revision, "option": "1,3"}
    expect(said(page, "gone")).to_contain_text("It's over, nothing was pressed")
    with closing(Queue(phone.folder / "state" / "queue.db")) as queue:
        queue.gone(other.id, ClearedBy.TYPED)
    expect(said(page, "other")).to_have_text("It's over: answered elsewhere, or gone.")
    expect(card(page, "other").get_by_role("button", name="Send")).to_be_hidden()


def test_a_page_that_lost_its_server_says_so_and_goes_on_once_it_is_back(phone: Phone) -> None:
    (tokens := phone.folder / "tokens").write_text(f"ada {'a' * 40}\n")
    tokens.chmod(0o600)
    phone.noticed("still here?")
    phone.serve("--policy", "careful", "--token-file", str(tokens))
    port = re.findall(r"page: http://127.0.0.1:(\d+)/#token=TOKEN", phone.out)[0]
    assert "a" * 40 not in phone.out
    page = phone.open(f"http://localhost:{port}/#token={'a' * 40}")
    expect(card(page, "web").get_by_role("button", name="Approve")).to_be_enabled()
    phone.desk.started[-1].terminate()
    phone.desk.started[-1].wait(30)
    expect(page.locator("#trouble")).to_contain_text("No connection for")
    expect(card(page, "web").get_by_role("button", name="Approve")).to_be_disabled()
    phone.serve("--policy", "careful", "--token-file", str(tokens), "--listen", f"127.0.0.1:{port}")
    expect(page.locator("#trouble")).to_be_hidden()
    card(page, "web").get_by_role("button", name="Approve").click()
    expect(said(page, "web")).to_have_text("Answered “approved”")
    assert phone.desk.item(state="answered")["by"] == "ada"
