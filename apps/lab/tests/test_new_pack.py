"""A new pack's directory: its names, and that it is there whole or not at all."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_lab.new_pack import files, names_of, programs_of, write

from stallkit.detect.signature import Pack
from stallkit.packs.pack_file import pack_schema, parse_agent, parse_pack
from stallkit.testing import check_pack


def test_names() -> None:
    for name, distribution, module, program in [
        ("acme", "stallkit-acme", "stallkit_acme", "acme"),
        ("stallkit-acme", "stallkit-acme", "stallkit_acme", "acme"),
        ("Acme_Deploy.2", "stallkit-acme-deploy-2", "stallkit_acme_deploy_2", "acme-deploy-2"),
    ]:
        names = names_of(name)
        assert (names.distribution, names.module, names.program) == (distribution, module, program), (
            name,
            distribution,
        )


def test_what_is_no_name() -> None:
    for name in ["", "-a", "a-", "a b", "a/b", "../a", "é", "1st", "stallkit", "a$b", "a\n", "a" * 41]:
        with pytest.raises(ValueError, match="is not a name for a"):
            names_of(name)


@given(
    st.from_regex(r"[a-zA-Z](?:[a-zA-Z0-9._-]{0,20}[a-zA-Z0-9])?", fullmatch=True).filter(
        lambda n: n.lower() != "stallkit"
    )
)
def test_whatever_the_name_the_parts_fit_together(name: str) -> None:
    names = names_of(name)
    made = files(names)
    assert names.module.isidentifier()
    project = tomllib.loads(made["pyproject.toml"])
    assert project["project"]["entry-points"]["stallkit.packs"] == {names.pack: names.module}
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [f"src/{names.module}"]
    pack: Pack = parse_pack(made[f"src/{names.module}/signatures.toml"], "", "")
    assert (pack.name, pack.foreground) == (names.pack, {names.program})
    assert not [text for text in made.values() if "__module__" in text or "$module" in text]
    compile(made["tests/test_pack.py"], "test_pack.py", "exec")


def test_it_meets_its_own_examples(tmp_path: Path) -> None:
    written = write(names_of("acme"), tmp_path / "new" / "pack")
    found = sorted(str(file.relative_to(tmp_path / "new/pack")) for file in tmp_path.rglob("*") if file.is_file())
    assert found == written
    assert check_pack(tmp_path / "new/pack/src/stallkit_acme") == 4


def test_an_agents_pack_has_an_agent_file_and_a_source_of_signals(tmp_path: Path) -> None:
    write(names_of("acme-smith"), tmp_path / "new", ["smith"], agent=True)
    project = tomllib.loads((tmp_path / "new/pyproject.toml").read_text())["project"]
    assert project["entry-points"]["stallkit.signals"] == {"acme_smith": "stallkit_acme_smith.session_file:SOURCE"}
    package = tmp_path / "new/src/stallkit_acme_smith"
    assert check_pack(package) == 2
    agent = (package / "agent.toml").read_text()
    assert (parse_agent(agent, "a").name, parse_agent(agent, "a").process.names) == ("acme-smith", ("smith",))
    whole = parse_agent(re.sub(r"^# (?=\[|\w+ = )", "", agent, flags=re.MULTILINE), "a")
    assert whole.title.waiting and whole.turn.retries and whole.resume is not None and whole.process.reports


def test_what_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("empty", "dangling"):
        with pytest.raises(FileExistsError):
            write(names_of("acme"), tmp_path / name)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["dangling", "empty"]
    assert list((tmp_path / "empty").iterdir()) == []


def test_the_programs_are_those_named_and_those_of_captures(tmp_path: Path) -> None:
    for name in ("git", "python3.11", "bash"):
        (tmp_path / f"{name}.txt").write_text(f'---\nforeground = "{name}"\n---\nProceed? ')
    shown = [tmp_path / "git.txt", tmp_path / "python3.11.txt"]
    assert programs_of(["perl"], shown) == ["perl", "git"]
    made = files(names_of("acme"), programs_of(["perl"], shown))
    pack = parse_pack(made["src/stallkit_acme/signatures.toml"], "", "")
    assert pack.foreground == {"perl", "git"}
    with pytest.raises(ValueError, match="give --foreground"):
        programs_of([], [tmp_path / "python3.11.txt"])
    with pytest.raises(ValueError, match="name of a process"):
        programs_of([""], [])


def test_a_new_pack_is_bound_and_has_its_schema() -> None:
    made = files(names_of("acme"))
    (needs,) = tomllib.loads(made["pyproject.toml"])["project"]["dependencies"]
    assert ">=" in needs and ",<" in needs
    assert made["src/stallkit_acme/signatures.toml"].startswith("#:schema ../../pack.schema.json\n")
    assert json.loads(made["pack.schema.json"]) == pack_schema()
