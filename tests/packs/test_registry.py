"""Installed packs: found, ordered and validated, and none broken in silence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Iterator

import pluggy
import pytest
from acme import ENGINE as ACME
from attrs import frozen

import stallkit
from stallkit.errors import PackError, PackLoadError
from stallkit.packs import registry
from stallkit.packs.registry import Engine, EngineOnce, answers, hookimpl, installed_engine

FIXTURES = Path(__file__).parent.parent / "fixtures"

# What each broken pack must be blamed for.
BROKEN = {
    "api_too_new": "pack api_too_new needs a stallkit with pack API 99",
    "bad_pattern": "not a pattern",
    "duplicate_id": "'one' occurs twice",
    "duplicate_name": "acme-stallkit-pack has a pack acme already",
    "exits_at_import": "SystemExit: 3",
    "hook_raises": "FileNotFoundError: signatures.toml was not shipped",
    "lost_signature": "'waitign' is not a valid State",
    "misspelt_hook": "it has no hook stallkit_packs",
    "raises_at_import": "RuntimeError: no luck today",
    "returns_no_list": "did not return a list of packs",
    "unknown_key": "unknown key 'nnoe_of'",
    "wrong_marker": "it has no hook stallkit_packs",
}

REPORT = """
import json
from stallkit import Engine, Screen
engine = Engine.default()
match = engine.detect(Screen.from_text("ACME deliveries\\n  by rocket\\n❯ by road")).match
print(json.dumps({
    "packs": [[pack.name, pack.version, pack.distribution] for pack in engine.packs],
    "order": [rule.name for rule in engine.rules],
    "match": match and f"{match.pack.name}:{match.signature.id}",
    "problems": {p.entry_point: [p.distribution, p.why, type(p.__cause__).__name__] for p in engine.problems},
}))
"""


@frozen
class Installs:
    """Directories to put on the path: everything but packs, acme's pack, and the broken ones."""

    bare: Path
    acme: Path
    broken: Path

    def run(self, code: str, *path: Path, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run code in a fresh interpreter that sees just these directories and no site-packages."""
        places = os.pathsep.join(map(str, [*path, self.bare]))
        env = os.environ | {"PYTHONPATH": places, "PYTHONUTF8": "1", "STALLKIT_STATE_DIR": str(self.bare / "state")}
        command = [sys.executable, "-S", "-c", code, *arguments]
        return subprocess.run(command, env=env, check=False, cwd=self.bare, capture_output=True, text=True, timeout=30)

    def report(self, *path: Path) -> dict[str, Any]:
        done = self.run(REPORT, *path)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def command(self, *arguments: str, path: tuple[Path, ...]) -> subprocess.CompletedProcess[str]:
        """The command line with these arguments."""
        return self.run("from stallkit.cli.main import main; main()", *path, arguments=arguments)


@pytest.fixture(scope="session")
def installs(tmp_path_factory: pytest.TempPathFactory) -> Installs:
    """Real installs of the fixtures' distributions, built and installed as their authors would."""
    root = tmp_path_factory.mktemp("installs")
    bare, wheels = root / "bare", root / "wheels"
    bare.mkdir()
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(place).iterdir():
            if not entry.name.startswith("stallkit") and entry.suffix != ".pth":
                (bare / entry.name).symlink_to(entry)
    (bare / "stallkit").symlink_to(Path(stallkit.__file__).parent)
    sources = root / "sources"
    shutil.copytree(FIXTURES / "acme_pack", sources / "acme_pack")
    shutil.copytree(FIXTURES / "broken_packs", sources / "broken_packs")
    _install(root / "acme", sources / "acme_pack")
    # One process builds all wheels of the broken ones: a pip for each would take a second a piece.
    build = "import os, sys; from hatchling.build import build_wheel\n"
    build += "for folder in sys.argv[2:]: os.chdir(folder); build_wheel(sys.argv[1])"
    wheels.mkdir()
    folders = sorted(map(str, (sources / "broken_packs").iterdir()))
    subprocess.run([sys.executable, "-c", build, str(wheels), *folders], check=True, capture_output=True, timeout=60)
    _install(root / "broken", *sorted(wheels.iterdir()))
    return Installs(bare, root / "acme", root / "broken")


def _install(target: Path, *what: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    pip += ["--no-build-isolation", "--no-index", "--no-compile", "--target", str(target)]
    subprocess.run([*pip, *map(str, what)], check=True, capture_output=True, timeout=120)


def test_every_broken_pack_of_the_fixtures_is_expected() -> None:
    assert {folder.name for folder in (FIXTURES / "broken_packs").iterdir()} == BROKEN.keys()


def test_a_third_partys_pack_is_found_and_matches(installs: Installs) -> None:
    report = installs.report(installs.acme)
    assert report == {
        "packs": [["acme", "1.2.3", "acme-stallkit-pack"]],
        "order": ["acme:delivery", "acme:launch"],  # by tier, though the file says it the other way round
        "match": "acme:delivery",
        "problems": {},
    }


CHAT = """
import sys
from stallkit import Engine, Screen, Snapshot, judge
screen = Screen.from_text("A new agent\\nmodel: large  12k tokens\\n\\n  Change the file?\\n  > it is up to you")
verdict = judge(Engine.default().detect(screen), Snapshot(screen))
print(verdict.state, verdict.rule, verdict.claims.form, *(name for name in sys.modules if name.startswith("stallkit_")))
"""


def test_without_a_classifier_all_is_judged_and_nothing_by_its_form(installs: Installs) -> None:
    done = installs.run(CHAT, installs.acme)
    assert (done.stdout, done.stderr) == ("working nothing None stallkit_acme\n", "")


def test_a_third_partys_pack_holds_to_its_own_examples(installs: Installs) -> None:
    code = "from stallkit.testing import check_pack; print(check_pack('stallkit_acme'))"
    done = installs.run(code, installs.acme)
    assert (done.stdout, done.stderr) == ("6\n", "")


def test_the_command_lists_a_third_partys_pack(installs: Installs) -> None:
    done = installs.command("pack", "list", "--json", path=(installs.acme,))
    listed = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert listed["version"] == 1
    assert listed["packs"] == [
        {
            "name": "acme",
            "version": "1.2.3",
            "distribution": "acme-stallkit-pack",
            "priority": 60,
            "foreground": ["acme"],
            "signatures": 2,
        }
    ]
    assert listed["order"] == ["acme:delivery", "acme:launch"]
    assert listed["problems"] == []


def test_each_broken_pack_is_blamed_by_name_and_the_others_work(installs: Installs) -> None:
    report = installs.report(installs.broken, installs.acme)
    assert report["packs"] == [["acme", "1.2.3", "acme-stallkit-pack"]]
    assert report["match"] == "acme:delivery"
    problems = report["problems"]
    assert problems.keys() == {f"broken_{name}" for name in BROKEN}
    for name, cause in BROKEN.items():
        distribution, why, _ = problems[f"broken_{name}"]
        assert distribution == "broken-" + name.replace("_", "-")
        assert cause in why, name
    assert problems["broken_raises_at_import"][2] == "RuntimeError"  # the cause is chained
    assert problems["broken_exits_at_import"][2] == "SystemExit"


def test_order_does_not_depend_on_the_path(installs: Installs) -> None:
    assert installs.report(installs.broken, installs.acme) == installs.report(installs.acme, installs.broken)


def test_the_commands_name_every_broken_pack(installs: Installs, tmp_path: Path) -> None:
    screen = tmp_path / "screen.txt"
    screen.write_text("ACME deliveries\n❯ by rocket\n  by road\n", "utf-8")
    path = (installs.broken, installs.acme)
    listed = installs.command("pack", "list", "--json", path=path)
    checked = installs.command("check", f"file:{screen}", "--json", path=path)
    assert (listed.returncode, checked.returncode) == (1, 3)
    assert len(json.loads(listed.stdout)["problems"]) == len(BROKEN)
    assert json.loads(checked.stdout)["signature"] == "delivery"
    for name in BROKEN:
        assert f"broken_{name} (from broken-{name.replace('_', '-')})" in checked.stderr
    assert checked.stderr.count("\n") == len(BROKEN)  # one line each


def test_with_no_pack_a_check_says_how_to_install_one(installs: Installs, tmp_path: Path) -> None:
    screen = tmp_path / "screen.txt"
    screen.write_text("Proceed? [y/N] ")
    done = installs.command("check", f"file:{screen}", path=())
    assert (done.returncode, done.stdout) == (1, "")
    assert "no pack is installed" in done.stderr
    assert "pip install 'stallkit[packs]'" in done.stderr


# --- distributions made by hand, for what no installer would make ---

GIVES = """
from stallkit import Clause, Pack, Signature, hookimpl
@hookimpl
def stallkit_packs():
    one = Signature(id="one", title="one", state="working", all_of=[Clause(text="x")])
    return [{}]
"""


def distribution(folder: Path, name: str, packs: str, metadata: str | None = None) -> None:
    """A distribution as it lies on the disk, its hook giving these packs."""
    (folder / f"{name}_module.py").write_text(GIVES.format(packs))
    info = folder / f"{name}-1.5.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(f"[stallkit.packs]\n{name} = {name}_module\n")
    if metadata != "":
        (info / "METADATA").write_text(metadata or f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")


def test_order_is_by_program_priority_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        "zz_ordered": 'Pack("of_a_program", foreground=["zz"], signatures=[one])',
        "aa_ordered": 'Pack("generic", signatures=[one])',
        "mm_ordered": 'Pack("late", priority=90, signatures=[one]), Pack("early", priority=1, signatures=[one])',
    }
    orders = []
    for number, names in enumerate([list(made), list(reversed(made))]):
        with monkeypatch.context() as patched:
            for name in names:
                folder = tmp_path / str(number) / name
                folder.mkdir(parents=True)
                distribution(folder, name, made[name])
                patched.syspath_prepend(folder)
            packs = registry.installed().packs
            orders.append([pack.name for pack in packs if pack.distribution.endswith("-ordered")])
        for name in made:
            sys.modules.pop(f"{name}_module")
    assert orders == [["of_a_program", "early", "generic", "late"]] * 2


def test_a_version_is_the_distributions_unless_the_pack_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution(tmp_path, "versioned", 'Pack("plain", signatures=[one]), Pack("own", "7", signatures=[one])')
    monkeypatch.syspath_prepend(tmp_path)
    found = {pack.name: pack.version for pack in registry.installed().packs if pack.distribution == "versioned"}
    assert found == {"plain": "1.5", "own": "7"}


def test_one_distribution_with_two_packs_of_one_name_is_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "twofold", 'Pack("same", signatures=[one]), Pack("same", signatures=[one])')
    monkeypatch.syspath_prepend(tmp_path)
    found = registry.installed()
    assert [problem.entry_point for problem in found.problems] == ["twofold"]  # type: ignore[attr-defined]
    assert "same" in str(found.problems[0])
    assert "same" not in {pack.name for pack in found.packs}


def test_a_distribution_without_metadata_costs_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "torn", 'Pack("torn", signatures=[one])', metadata="")  # an install that was interrupted
    distribution(tmp_path, "whole", 'Pack("whole", signatures=[one])')
    monkeypatch.syspath_prepend(tmp_path)
    found = registry.installed()
    assert "whole" in {pack.name for pack in found.packs}


def test_an_entry_point_that_leads_nowhere_is_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "nowhere", 'Pack("nowhere")')
    (tmp_path / "nowhere_module.py").unlink()
    monkeypatch.syspath_prepend(tmp_path)
    (problem,) = registry.installed().problems
    assert "ModuleNotFoundError: No module named 'nowhere_module'" in str(problem)


def test_with_broken_packs_only_a_check_says_why(installs: Installs, tmp_path: Path) -> None:
    distribution(tmp_path, "alone", "1 / 0")
    screen = tmp_path / "screen.txt"
    screen.write_text("Proceed? [y/N] ")
    done = installs.command("check", f"file:{screen}", path=(tmp_path,))
    assert (done.returncode, done.stdout) == (1, "")
    assert "no installed pack could be used" in done.stderr
    assert "alone (from alone): ZeroDivisionError" in done.stderr


# --- one engine a process ---


@pytest.mark.parametrize(
    ("problems", "why"),
    [
        ((), "no pack is installed"),
        ((PackLoadError("acme", "acme-dist", "it fell over"),), "could be used (pack acme (from acme-dist)"),
    ],
)
def test_without_packs_nothing_is_called_fine(problems: tuple[PackError, ...], why: str) -> None:
    empty = Engine(())
    empty.problems = problems
    with pytest.raises(PackError, match="pip install") as caught:
        EngineOnce(lambda: empty)()
    assert why in str(caught.value)


def test_the_installed_packs_are_loaded_once_a_process() -> None:
    engine = installed_engine()
    assert installed_engine() is engine and Engine.default() is not engine


def test_threads_that_ask_for_an_engine_at_once_get_the_same() -> None:
    loads: list[Engine] = []

    def load() -> Engine:
        made = Engine(ACME.packs)
        time.sleep(0.05)  # the others have to wait: whoever did not would load it again
        loads.append(made)
        return made

    once = EngineOnce(load)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: once(), range(8)))
    assert len(loads) == 1 and {id(engine) for engine in found} == {id(loads[0])}


def test_a_load_that_brought_no_pack_is_tried_again() -> None:
    brought = iter([Engine(()), Engine(ACME.packs)])
    once = EngineOnce(lambda: next(brought))
    with pytest.raises(PackError):
        once()
    assert once().packs == ACME.packs and once() is once()


MARKERS: list[Callable[[Any], Any]] = [hookimpl, pluggy.HookimplMarker("stallkit")]


def module(**functions: object) -> ModuleType:
    made = ModuleType("acme")
    vars(made).update(functions)
    return made


@pytest.mark.parametrize("mark", MARKERS)
def test_a_marked_hook_is_called(mark: Callable[[Any], Any]) -> None:
    for answer in ([1], [], None, "text"):
        made = module(stallkit_packs=mark(lambda answer=answer: answer), other=3, Class=dict)
        assert answers(made) == ([] if answer is None else [answer])


def test_what_pluggy_can_do_a_pack_can() -> None:
    def wrapping() -> Iterator[None]:
        found = yield
        return [*found, "wrapped"]  # type: ignore[misc, has-type]

    mark: Any = pluggy.HookimplMarker("stallkit")
    wrapped = module(
        stallkit_packs=hookimpl(lambda: [1]), second=mark(wrapping, wrapper=True, specname="stallkit_packs")
    )
    assert answers(wrapped) == [[1], "wrapped"]
    two = module(stallkit_packs=hookimpl(lambda: [1]), second=mark(lambda: [2], specname="stallkit_packs"))
    assert sorted(answers(two)) == [[1], [2]]

    class Plugin:
        @hookimpl
        def stallkit_packs(self) -> list[int]:
            return [3]

    assert answers(Plugin()) == [[3]]
    with pytest.raises(pluggy.PluginValidationError, match="more"):
        answers(module(stallkit_packs=hookimpl(lambda more: [more])))


@pytest.mark.parametrize(
    "made", [module(), module(stallkit_packs=lambda: [1]), module(stalkit_packs=hookimpl(lambda: [1]))]
)
def test_no_hook_is_told(made: ModuleType) -> None:
    with pytest.raises(TypeError, match="no hook stallkit_packs"):
        answers(made)
