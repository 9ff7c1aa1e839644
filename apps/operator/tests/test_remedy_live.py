"""Edits of real proxies: nginx and tinyproxy serve what is new, or what they served before; and it is all audited."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Iterator

import pytest
from printed import printed
from proxied import SECRET, Nginx, Service, Tinyproxy, editor, need_proxies, service, write_proxies
from queued import COMMAND, Desk
from stallkit_operator.queue import Queue
from terminals import wait_for

pytestmark = pytest.mark.e2e


class Room:
    """A sandbox's two proxies, what is behind them, and the operator's desk."""

    def __init__(self, folder: Path, behind: Service) -> None:
        self.folder, self.behind, self.desk = folder, behind, Desk(folder)
        self.socket = folder / "state" / "stuck" / "web" / "notify.sock"
        self.nginx = Nginx(folder / "nginx", self.socket)
        self.tinyproxy = Tinyproxy(folder / "tiny", behind.port)
        self.toml = write_proxies(folder / "config", self.nginx.toml, self.tinyproxy.toml)

    def end(self) -> None:
        self.nginx.end()
        self.tinyproxy.end()
        self.desk.end()

    def routes(self, *paths: str, **more: str) -> str:
        upstream = f"http://127.0.0.1:{self.behind.port}/"
        return json.dumps({"routes": [{"path": path, "upstream": upstream, **more} for path in paths]}, indent=2)

    def edit(self, verb: str, text: str, *words: str) -> subprocess.CompletedProcess[str]:
        self.desk.environment["EDITOR"] = editor(self.folder, text)
        return self.desk(*([verb] if verb == "pipelock" else ["sandbox", verb]), "edit", "web", *words)

    def get(self, path: str, port: int | None = None) -> tuple[int, str]:
        """What nginx answers, or what is at another port."""
        with closing(http.client.HTTPConnection("127.0.0.1", port or self.nginx.port, timeout=30)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def through(self, host: str) -> int:
        return self.get(f"http://{host}:{self.behind.port}/", self.tinyproxy.port)[0]

    def audit(self, log: str) -> list[dict[str, Any]]:
        assert self.desk("sandbox", "audit", "verify", log).returncode == 0
        found: list[dict[str, Any]] = json.loads(
            self.desk("sandbox", "audit", "show", log, "--json", "-n", "500").stdout
        )["events"]
        return found


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    need_proxies()
    with service() as behind:
        made = Room(tmp_path, behind)
        yield made
        made.end()


def test_a_new_route_is_served_with_a_credential_that_no_file_of_ours_has(room: Room) -> None:
    assert room.get("/github/zen")[0] == 404
    done = room.edit("routes", room.routes("/github/", auth="github"))
    assert done.returncode == 0, done.stderr
    assert "web: applied" in done.stdout
    assert room.get("/github/zen") == (200, "/zen")
    assert room.behind.seen[-1] == ("/zen", f"Bearer {SECRET}")
    begun, applied = room.audit("cred-proxy-web")
    assert (begun["event"], applied["event"], applied["sandbox"]) == ("edit_begun", "edit_applied", "web")
    assert '+      "path": "/github/",' in applied["diff"] and applied["by"]
    kept = [path for path in (room.folder / "state").rglob("*") if path.is_file()]
    written = b"".join(path.read_bytes() for path in [*kept, *room.nginx.folder.glob("routes*")])
    assert SECRET.encode() not in written
    assert list(room.nginx.folder.glob(".*")) == list((room.folder / "state/edits").glob("*-web-*")) == []


BROKEN = [
    '{"routes": [',
    '{"routes": [{"path": "/a/"}]}',
    '{"routes": [{"path": "/a/", "upstream": "http://h/; return 200"}]}',
    '{"routes": [{"path": "/a/", "upstream": "http://127.0.0.1/", "auth": "unknown"}]}',  # nginx -t finds it
    '{"routes": [{"path": "/a/", "upstream": "http://no-such-host.invalid/"}]}',  # and this
    '{"routes": [{"path": "/a/", "upstream": "http://127.0.0.1/", "auth": "' + SECRET + '"}]}',
]


def test_an_edit_with_an_error_or_beside_another_never_reaches_the_proxy(room: Room) -> None:
    edited = room.edit("routes", room.routes("/github/"), "--json")
    assert printed("sandbox-routes-edit", edited)["result"] == "applied"
    before = {path: path.read_bytes() for path in room.nginx.folder.glob("routes*")}
    log = (room.nginx.folder / "error.log").read_text()
    for text in BROKEN:
        done = room.edit("routes", text)
        assert done.returncode == 2 and "refused" in done.stdout, text
        assert {path: path.read_bytes() for path in room.nginx.folder.glob("routes*")} == before, text
        assert room.get("/github/x") == (200, "/x"), text
        last = room.audit("cred-proxy-web")[-1]
        assert last["event"] == "edit_refused" and last["why"] and SECRET not in json.dumps(last), text
        assert SECRET not in done.stdout + done.stderr, text
    assert (room.nginx.folder / "error.log").read_text().count("reconfiguring") == log.count("reconfiguring")
    path, program = room.nginx.folder / "routes.json", room.folder / "both"
    program.write_text(f'#!/bin/sh\necho " " >> "{path}"\necho " " > "$1"\n')
    program.chmod(0o755)
    room.desk.environment["EDITOR"] = str(program)
    done = room.desk("sandbox", "routes", "edit", "web")
    assert done.returncode == 2 and "somebody else" in done.stdout and "your text is in" in done.stdout
    room.nginx.end()
    done = room.edit("routes", room.routes("/other/"))
    assert done.returncode == 2 and "does not run" in done.stdout and b"/other/" not in path.read_bytes()


def test_a_route_that_is_not_served_is_rolled_back(room: Room) -> None:
    assert room.edit("routes", room.routes("/github/")).returncode == 0
    before = {path: path.read_bytes() for path in room.nginx.folder.glob("routes*")}
    deaf = f"test -e deaf && kill -HUP $(cat {room.nginx.folder}/nginx.pid); touch deaf"  # at the first one
    room.toml.write_text(
        room.toml.read_text().replace("[web.egress]", f'reload = ["sh", "-c", "{deaf}"]\n[web.egress]')
    )
    dead = '{"routes": [{"path": "/dead/", "upstream": "http://127.0.0.1:1/"}]}'
    done = room.edit("routes", dead)
    assert done.returncode == 3 and "it still serves what was there before" in done.stdout, done
    assert {path: path.read_bytes() for path in room.nginx.folder.glob("*routes*")} == before
    wait_for(lambda: room.get("/github/x") == (200, "/x"), "the workers of the new start")
    wait_for(lambda: room.get("/dead/")[0] == 404, "the worker of before to take no more")
    assert room.audit("cred-proxy-web")[-1]["event"] == "edit_rolled_back"


def test_a_route_whose_upstream_is_down_is_applied_with_a_note(room: Room) -> None:
    room.toml.write_text(room.toml.read_text().replace("[web.egress]", "timeout_s = 1\n[web.egress]"))
    good = json.loads(room.routes("/good/"))["routes"][0]
    more = {
        "/dead/": "http://127.0.0.1:1/",
        "/held/": f"http://127.0.0.1:{room.behind.port}/held",
        "/ill/": f"{good['upstream']}broken",
    }
    routes = [good, *({"path": path, "upstream": upstream} for path, upstream in more.items())]
    with room.behind.held():
        done = room.edit("routes", json.dumps({"routes": routes}), "--json")
    told = printed("sandbox-routes-edit", done)
    assert (done.returncode, told["result"]) == (0, "applied"), done
    assert told["notes"] == [
        "/dead/ is served, and answers 502 now",
        "/held/ is served, and does not answer now",
        "/ill/ is served, and answers 500 now",
    ]
    assert all(f"web: {note}" in done.stderr.splitlines() for note in told["notes"])
    assert room.get("/good/x") == (200, "/x")
    last = room.audit("cred-proxy-web")[-1]
    assert last["event"] == "edit_applied" and last["note"] == "; ".join(told["notes"])


def test_a_renewed_credential_is_reloaded(room: Room) -> None:
    assert room.edit("routes", room.routes("/github/", auth="github")).returncode == 0
    room.behind.wanted = "Bearer fresh-one"
    expired = room.desk("sandbox", "routes", "reload", "web")
    assert expired.returncode == 0 and "web: /github/ is served, and refuses the credential github" in expired.stderr
    config = room.nginx.folder / "nginx.conf"
    given = config.read_text()
    config.write_text(given.replace(SECRET, '"; nonsense'))
    refused = room.desk("sandbox", "routes", "reload", "web")
    assert refused.returncode == 2 and "nginx" in refused.stdout and room.get("/github/x")[0] == 401, refused
    config.write_text(given.replace(SECRET, "fresh-one"))
    unchanged = room.edit("routes", room.routes("/github/", auth="github"))
    assert unchanged.returncode == 2 and "stallkit sandbox routes reload web" in unchanged.stdout
    with closing(Queue(room.folder / "state" / "queue.db")) as queue:
        item = queue.notify("web", "key-00001", "github says 401", time.time() + 1_000).id
    assert room.desk("stuck", "show", str(item)).returncode == 0
    done = room.desk("sandbox", "routes", "reload", "web", "--reply", str(item), "try again", "--json")
    assert (done.returncode, printed("sandbox-routes-reload", done)["notes"]) == (0, []), done
    assert room.get("/github/x") == (200, "/x") and room.desk.item(state="answered")["text"] == "try again"
    events = room.audit("cred-proxy-web")
    assert [one["event"] for one in events][2:] == [
        "reload_begun", "reload_applied", "reload_refused", "reload_begun", "reload_applied"
    ]  # fmt: skip
    assert (events[-1]["item"], events[-1]["reply"], events[-1]["diff"]) == (item, "try again", "")
    written = json.dumps(events)
    assert SECRET not in written and "fresh-one" not in written, events
    room.nginx.end()
    gone = room.desk("sandbox", "routes", "reload", "web")
    assert gone.returncode == 2 and "does not run" in gone.stdout


def test_a_held_notice_survives_the_reload_that_answers_it(room: Room) -> None:
    room.desk.begin("sandbox", "serve", "web")
    wait_for(room.socket.exists, "the endpoint's socket")
    assert room.edit("routes", room.routes("/npm/")).returncode == 0  # from now on notices go through
    held: list[tuple[int, bytes]] = []

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", room.nginx.port, timeout=300)
        connection.request("POST", "/supervise/notify", b"github answers 404 here", {"Idempotency-Key": "key-00001"})
        answer = connection.getresponse()
        held.append((answer.status, answer.read()))

    asking = threading.Thread(target=ask)
    asking.start()
    item = room.desk.item(state="input_required")
    assert room.desk("stuck", "triage", str(item["id"]), "credential").returncode == 0
    assert "[credential]" in room.desk("stuck", "list").stdout
    assert (
        f"stallkit sandbox routes edit web --reply {item['id']} TEXT"
        in room.desk("stuck", "show", str(item["id"])).stdout
    )
    assert room.edit("routes", room.routes("/npm/", "/github/")).returncode == 0  # a reload while it is held
    later = room.routes("/npm/", "/github/", "/pypi/")
    for ref in (f"{item['id']}@2", f"{item['id']}@9"):  # of which it was not shown
        refused = room.edit("routes", later, "--reply", ref, "try again")
        assert refused.returncode == 2 and "not as it was shown" in refused.stdout and not held
    assert room.get("/pypi/x")[0] == 404, "nothing was edited"
    done = room.edit("routes", later, "--reply", str(item["id"]), "try again")
    assert done.returncode == 0, done.stderr
    asking.join(60)
    assert held == [(200, b'{"text":"try again"}')]
    last = room.audit("cred-proxy-web")[-1]
    assert (last["event"], last["item"], last["reply"]) == ("edit_applied", item["id"], "try again")
    assert room.desk.item(state="answered")["category"] == "credential"
    again = room.edit("routes", room.routes("/npm/"), "--reply", str(item["id"]), "x")
    assert again.returncode == 64 and "answered already" in again.stderr


NO_HOSTS = ["[", "*", "*.org", "https://example.org", "a b", "example.org:443", "ex(ample", "^x$"]


def test_a_host_is_allowed_and_taken_back_and_none_never_reaches_the_proxy(room: Room) -> None:
    assert room.through("localhost") == 403
    before = room.tinyproxy.process.pid
    done = room.edit("egress", "# packages\nlocalhost\n", "--json")
    assert done.returncode == 0 and printed("sandbox-egress-edit", done)["result"] == "applied", done.stderr
    assert "give a `restart`" in done.stderr and "give a `restart`" in room.audit("pipelock-web")[-1]["note"]
    assert room.tinyproxy.pid == before, "without a restart it is signalled, and that is told"
    assert room.through("localhost") == 200 and room.through("127.0.0.1") == 403
    assert (room.folder / "tiny/filter").read_text() == "^localhost$\n"
    for text in NO_HOSTS:
        done = room.edit("egress", f"localhost\n{text}\n")
        assert done.returncode == 2 and "line 2" in done.stdout, text
    assert room.through("localhost") == 200 and room.tinyproxy.process.poll() is None
    again = printed("sandbox-egress-edit", room.edit("pipelock", "# packages\nlocalhost\n", "--json"))
    assert (again["result"], again["diff"]) == ("unchanged", "")
    assert room.edit("egress", "").returncode == 0
    assert room.through("localhost") == 403
    events = [one for one in room.audit("pipelock-web") if one["event"] != "edit_refused"]
    assert [one["event"] for one in events] == ["edit_begun", "edit_applied"] * 2
    assert "+localhost" in events[0]["diff"] and "-localhost" in events[2]["diff"]


def test_a_host_that_is_down_is_allowed_with_a_note(room: Room) -> None:
    room.toml.write_text(room.toml.read_text().replace(f":{room.behind.port}/", ":1/"))
    done = room.edit("egress", "localhost\n127.0.0.1\n*.example.org\n")
    notes = [f"web: {host} is allowed, and answers 500 now" for host in ("localhost", "127.0.0.1")]
    assert done.returncode == 0 and set(notes) <= set(done.stderr.splitlines()), done
    assert room.through("localhost") == 200
    assert "localhost is allowed, and answers 500 now; 127.0.0.1" in room.audit("pipelock-web")[-1]["note"]


def test_a_host_that_the_proxy_still_refuses_is_rolled_back(room: Room) -> None:
    room.toml.write_text(room.toml.read_text() + 'reload = ["true"]\ntimeout_s = 0.5\n')
    done = room.edit("egress", "localhost\n")
    assert done.returncode == 3 and "localhost, which is allowed now, is still refused by the proxy" in done.stdout
    assert (room.folder / "tiny/filter").read_text() == "" and not (room.folder / "tiny/hosts").exists()
    assert room.through("localhost") == 403


def test_tinyproxy_is_restarted_by_its_own_command(room: Room) -> None:
    before = room.tinyproxy.process.pid
    room.toml.write_text(room.toml.read_text() + room.tinyproxy.restart)
    done = room.edit("egress", "localhost\n")
    assert done.returncode == 0 and "signalled" not in done.stderr, done.stderr + done.stdout
    assert room.tinyproxy.process.wait(30) is not None and room.tinyproxy.pid != before
    assert room.through("localhost") == 200 and room.through("127.0.0.1") == 403


def test_a_tinyproxy_that_ended_at_its_signal_is_told(room: Room) -> None:
    pid_file = room.folder / "tiny/tinyproxy.pid"
    kill = f'reload = ["sh", "-c", "kill -9 $(cat {pid_file})"]\ntimeout_s = 1\n'
    room.toml.write_text(room.toml.read_text() + kill)
    done = room.edit("egress", "localhost\n")
    assert done.returncode == 1 and "does not answer" in done.stdout, done.stdout
    assert room.audit("pipelock-web")[-1]["event"] == "edit_broken"


def test_an_edit_that_was_killed_is_put_back_by_the_next_one(room: Room) -> None:
    assert room.edit("routes", room.routes("/github/")).returncode == 0
    before = {path: path.read_bytes() for path in room.nginx.folder.glob("routes*")}
    os.kill(int((room.nginx.folder / "nginx.pid").read_text()), signal.SIGSTOP)  # the reload does not happen
    room.desk.environment["EDITOR"] = editor(room.folder, room.routes("/other/"))
    killed = subprocess.Popen([COMMAND, "sandbox", "routes", "edit", "web"], env=room.desk.environment, cwd=room.folder)
    wait_for(lambda: b"/other/" in (room.nginx.folder / "routes.json").read_bytes(), "the file to be replaced")
    killed.kill()
    killed.wait()
    os.kill(int((room.nginx.folder / "nginx.pid").read_text()), signal.SIGCONT)
    done = room.edit("routes", room.routes("/github/"))  # as it was before: unchanged
    assert done.returncode == 2 and "put back" in done.stderr
    assert {path: path.read_bytes() for path in room.nginx.folder.glob("routes*")} == before
    assert room.get("/github/x") == (200, "/x") and room.get("/other/x")[0] == 404
    assert room.audit("cred-proxy-web")[-1]["event"] == "edit_put_back"


def test_a_proxy_of_ones_own_is_run_by_commands(room: Room) -> None:
    table = f"""
[db.egress]
preset = "command"
file = "{room.folder}/own.conf"
check = ["grep", "-q", "good", "{{file}}"]
reload = ["cp", "{room.folder}/own.conf", "{room.folder}/served"]
health = ["grep", "-q", "healthy", "{room.folder}/served"]
"""
    write_proxies(room.folder / "config", table)
    (room.folder / "own.conf").write_text("good healthy\n")
    room.desk.environment["EDITOR"] = editor(room.folder, "bad\n")
    assert room.desk("sandbox", "egress", "edit", "db").returncode == 2
    room.desk.environment["EDITOR"] = editor(room.folder, "good\n")
    assert room.desk("sandbox", "egress", "edit", "db").returncode == 3
    assert (room.folder / "served").read_text() == "good healthy\n"
    room.desk.environment["EDITOR"] = editor(room.folder, "good healthy, port 2\n")
    assert room.desk("sandbox", "egress", "edit", "db").returncode == 0
    assert (room.folder / "served").read_text() == "good healthy, port 2\n"


def test_texts_of_refused_edits_are_kept_for_a_week(room: Room) -> None:
    edits = room.folder / "state" / "edits"
    refused = room.edit("routes", "{")
    (kept,) = edits.glob("routes-web-*/routes.json")
    assert str(kept) in refused.stdout and kept.read_text() == "{"
    room.edit("egress", "[")
    assert kept.exists()
    os.utime(kept.parent, (1, 1))
    room.edit("egress", "[")
    assert not kept.parent.exists() and len(list(edits.glob("egress-web-*/"))) == 2


def test_what_the_file_of_proxies_lacks_is_said_in_one_line(room: Room) -> None:
    unknown = room.desk("sandbox", "routes", "edit", "db")
    assert unknown.returncode == 1 and "[db.routes]" in unknown.stderr
    room.toml.chmod(0o666)
    open_to_all = room.desk("sandbox", "routes", "edit", "web")
    assert open_to_all.returncode == 1 and "can be written" in open_to_all.stderr
    room.desk.environment["EDITOR"] = "false"
    room.toml.chmod(0o600)
    failed = room.desk("sandbox", "routes", "edit", "web")
    assert failed.returncode == 1 and "nothing was touched" in failed.stderr
