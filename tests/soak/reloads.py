"""The routes (nginx) and the hosts (tinyproxy) of a sandbox are edited with `sandbox routes edit` and `sandbox
egress edit` while clients send requests through both and agents hold notices, which the edits answer; edits with
an error, and routes whose upstream is down, are tried between them.

Nothing under way is lost, nothing wrong reaches them.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import closing
from pathlib import Path

from attrs import define, field
from proxied import Nginx, Service, Tinyproxy, editor, service, write_proxies
from queued import Desk
from stallkit_operator.queue import Queue
from terminals import wait_for

from soak.held import until
from soak.parts import Figure, Part, Run

FOR_A_RELOAD = 260  # requests through each proxy: 5,200 in the long form
CLIENTS = 12  # that ask one after the other; every third waits for a slow answer, at each proxy
AGENTS = 20  # that hold a notice through nginx
BROKEN = (  # edits with an error
    '{"routes": [',
    '{"routes": [{"path": "/a/", "upstream": "http://127.0.0.1/", "auth": "unknown"}]}',
)
DEAD = "http://127.0.0.1:1/"  # nobody is there now: applied, and noted
BAD_HOSTS = ("localhost\n[", "*\n")
PATIENCE_S = 60.0


@define
class Load:
    """Clients of both proxies, and agents that wait; `tally` counts what became of their requests."""

    nginx: int
    tinyproxy: int
    behind: int
    tally: Counter[str] = field(factory=Counter)
    wrong: list[str] = field(factory=list)
    replies: list[tuple[str, str]] = field(factory=list)  # keys of notices, and their replies
    waits: dict[int, str] = field(factory=dict)  # the key that each agent waits with
    over: bool = False

    async def client(self, name: str, number: int) -> None:
        port = self.nginx if name == "nginx" else self.tinyproxy
        path = "/github/" if name == "nginx" else f"http://127.0.0.1:{self.behind}/"
        while not self.over:
            last = "slow" if number % 3 == 0 else "quick"
            text = f"GET {path}{last} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
            status, body = await _ask(port, text.encode())
            self.tally[name] += 1
            if (status, body) != (200, f"/{last}"):
                self.tally[f"{name} failed"] += 1
                self.wrong.append(f"{name}: {status} {body[:300]}")
            await asyncio.sleep(0)

    async def agent(self, number: int) -> None:
        turn = 0
        while not self.over:
            key = f"agent{number:02}-{turn:05}"
            words = f"<{key}>"
            head = f"Host: h\r\nConnection: close\r\nIdempotency-Key: {key}\r\nContent-Length: {len(words)}"
            self.waits[number] = key
            status, body = await _ask(self.nginx, f"POST /supervise/notify HTTP/1.1\r\n{head}\r\n\r\n{words}".encode())
            if status == 200:
                self.replies.append((key, json.loads(body)["text"]))
                turn += 1
            elif not self.over:
                self.tally["held failed"] += 1
                self.wrong.append(f"held: {status} {body[:80]}")
                await asyncio.sleep(0.1)


async def _ask(port: int, request: bytes) -> tuple[int, str]:
    """Status and body; 0 and why, where there is no whole answer."""
    writer = None
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await reader.read()
        head, _, body = answer.decode().partition("\r\n\r\n")
        lengths = [row.split(":")[1] for row in head.lower().split("\r\n") if row.startswith("content-length:")]
        if not head or (lengths and len(body.encode()) != int(lengths[0])):
            return 0, f"cut off: {answer!r}"
        return int(head.split()[1]), body
    except (OSError, ValueError) as error:
        return 0, f"{type(error).__name__}: {error}"
    finally:
        if writer is not None:
            writer.close()


def soak(run: Run) -> list[Figure]:
    desk = Desk(run.folder)
    socket = run.folder / "state" / "stuck" / "web" / "notify.sock"
    with service() as behind:
        nginx, tinyproxy = Nginx(run.folder / "nginx", socket), Tinyproxy(run.folder / "tiny", behind.port)
        write_proxies(run.folder / "config", nginx.toml, tinyproxy.toml + tinyproxy.restart)
        try:
            desk.begin("sandbox", "serve", "web")
            wait_for(socket.exists, "the endpoint's socket")
            return asyncio.run(_Soak(run, desk, behind, nginx, tinyproxy).figures())
        finally:
            nginx.end()
            tinyproxy.end()
            desk.end()


@define
class _Soak:
    run: Run
    desk: Desk
    behind: Service
    nginx: Nginx
    tinyproxy: Tinyproxy
    codes: Counter[str] = field(factory=Counter)
    given: list[tuple[str, str]] = field(factory=list)  # keys that waited at each reply, and that reply
    touched: int = 0  # files that a refused edit changed

    async def figures(self) -> list[Figure]:
        await self._edit("routes", self._routes("/github/"), "first")
        await self._edit("egress", "127.0.0.1\n", "first")
        load = Load(self.nginx.port, self.tinyproxy.port, self.behind.port)
        tasks = [asyncio.create_task(load.agent(number)) for number in range(AGENTS)]
        for name in ("nginx", "tinyproxy"):
            tasks += [asyncio.create_task(load.client(name, number)) for number in range(CLIENTS)]
        try:
            for number in range(self.run.size):
                await self._turn(number, load)
                self.run.tell(number + 1)
            while min(load.tally["nginx"], load.tally["tinyproxy"]) < FOR_A_RELOAD * self.run.size:
                await asyncio.sleep(0.1)
            load.over = True
            await self._edit("routes", self._routes("/github/"), "last", "--reply", await self._held(load), "over")
            await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE_S)
        finally:
            for task in tasks:
                task.cancel()
        return self._found(load)

    async def _turn(self, number: int, load: Load) -> None:
        """Edits with an error, then a good one of each proxy; that of the routes answers who waits."""
        for text in BROKEN:
            await self._edit("routes", text, "broken")
        dead = {"path": "/dead/", "upstream": DEAD}
        await self._edit("routes", json.dumps({"routes": [*self._table("/github/"), dead]}), "dead")
        for text in BAD_HOSTS:
            await self._edit("egress", text, "broken")
        await self._edit("egress", "127.0.0.1\nlocalhost\n" if number % 2 == 0 else "127.0.0.1\n", "egress")
        ref = await self._held(load)
        waiting, reply = list(load.waits.values()), f"reply {number}"
        self.given += [(key, reply) for key in waiting]
        paths = ("/github/", f"/r{number}/")
        await self._edit("routes", self._routes(*paths), "routes", "--reply", ref, reply)
        answered = lambda: set(waiting) <= {key for key, _ in load.replies}  # noqa: E731
        await until(answered, lambda: f"no answer for some of {waiting}: {load.wrong[:3]}")

    async def _held(self, load: Load) -> str:
        """The notice as it is, once every agent is in it."""
        refs = []
        with closing(Queue(self.run.folder / "state" / "queue.db", busy_s=30)) as queue:

            def all_wait() -> bool:
                for item in queue.items():
                    held = item.session == "web" and len(load.waits) == AGENTS
                    if held and all(f"<{key}>" in item.words for key in load.waits.values()):
                        refs.append(item.ref)
                return bool(refs)

            await until(all_wait, lambda: f"not all wait: {load.wrong[:3]}")
        return refs[-1]

    async def _edit(self, verb: str, text: str, name: str, *words: str) -> None:
        folder = self.run.folder / f"editor-{len(self.codes)}-{sum(self.codes.values())}"
        folder.mkdir()
        self.desk.environment["EDITOR"] = editor(folder, text)
        before = self._files()
        done = await asyncio.to_thread(self.desk, "sandbox", verb, "edit", "web", *words)
        self.codes[f"{name} {done.returncode}"] += 1
        if name == "broken":
            self.touched += self._files() != before

    def _files(self) -> dict[Path, bytes]:
        paths = [*self.nginx.folder.glob("routes*"), self.run.folder / "tiny/hosts", self.run.folder / "tiny/filter"]
        return {path: path.read_bytes() for path in paths if path.exists()}

    def _routes(self, *paths: str) -> str:
        return json.dumps({"routes": self._table(*paths)})

    def _table(self, *paths: str) -> list[dict[str, str]]:
        upstream = f"http://127.0.0.1:{self.behind.port}/"
        return [{"path": path, "upstream": upstream, "auth": "github"} for path in paths]

    def _found(self, load: Load) -> list[Figure]:
        size, tally, codes = self.run.size, load.tally, self.codes
        reloads = (self.nginx.folder / "error.log").read_text().count("(SIGHUP) received")
        due = codes["routes 0"] + codes["dead 0"] + 2  # with the first and the last one
        told = dict(load.replies)
        wrong = sum(told.get(key) != reply for key, reply in self.given)
        verified = self.desk("sandbox", "audit", "verify").returncode
        refused, tinyproxy = codes["broken 2"], f"{tally['tinyproxy failed']} of {tally['tinyproxy']:,}"
        return [
            Figure("edits of routes, applied", f"{codes['routes 0']}", f"{size}", codes["routes 0"] == size),
            Figure("edits of hosts, applied", f"{codes['egress 0']}", f"{size}", codes["egress 0"] == size),
            _requests(load, size),
            Figure.told("requests through tinyproxy that its restarts failed", tinyproxy),
            _none("held notices that were dropped", tally["held failed"], len(self.given), AGENTS * size),
            _none("held notices with another reply than the edit's", wrong, len(self.given), AGENTS * size),
            Figure("edits with an error, refused", f"{refused}", f"{4 * size}", refused == 4 * size),
            Figure("routes whose upstream is down, applied", f"{codes['dead 0']}", f"{size}", codes["dead 0"] == size),
            Figure.none("files that these left changed", self.touched),
            Figure("signals to nginx for edits with an error", f"{reloads - due}", "0", reloads == due),
            Figure("audit logs that are whole", "all" if verified == 0 else "not all", "all", verified == 0),
        ]


def _requests(load: Load, size: int) -> Figure:
    failed, of, least = load.tally["nginx failed"], load.tally["nginx"], FOR_A_RELOAD * size
    why = "; ".join(sorted({" ".join(one.split()) for one in load.wrong if one.startswith("nginx")}))
    measured = f"{failed} of {of:,}{f' ({why[:300]})' if why else ''}"
    holds = not failed and of >= least
    return Figure("requests through nginx that failed", measured, f"0 of {least:,} at least", holds)


def _none(name: str, failed: int, of: int, least: int) -> Figure:
    return Figure(name, f"{failed} of {of:,}", f"0 of {least:,} at least", failed == 0 and of >= least)


PART = Part(__doc__, "reloads", full=20, short=2, soak=soak)
