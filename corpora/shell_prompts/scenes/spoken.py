"""The same questions in other languages, where the programs translate them."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from corpora.shell_prompts.stage import BOTH, DPKG, Scene

TONGUES = ("de_DE", "fr_FR", "es_ES", "ja_JP", "zh_CN", "zh_TW", "pt_BR", "ru_RU", "it_IT", "pl_PL", "nl_NL", "ko_KR")
GIT = "git -c init.defaultBranch=main init -q .; git config user.name ada; git config user.email ada@box; "
CHANGED = GIT + "seq 1 30 > lines; git add lines; git commit -qm one; sed -i '2s/$/ two/' lines"
ASKED = r"[?？)\]:：>] ?[*.]* *$"


def _spoken(tongue: str) -> list[Scene]:
    more = {"language": f"{tongue}.UTF-8"}
    name = tongue[:2] if tongue[:2] != "zh" else tongue.lower().replace("_", "-")
    core = {"kind": "confirm", "until": ASKED, "version": "rm --version", **more}
    git = {"until": ASKED, "version": "git --version", **more}
    return [
        Scene(f"rm-i.{name}", "rm", "rm -i a", before="echo 1 >a", sizes=BOTH, **core),
        Scene(f"rm-I.{name}", "rm", "rm -I a b c d", before="touch a b c d", **core),
        Scene(f"rm-r.{name}", "rm", "rm -ri d", before="mkdir d; touch d/a", **core),
        Scene(f"cp-i.{name}", "cp", "cp -i a b", before="touch a b", **core),
        Scene(f"mv-i.{name}", "mv", "mv -i a b", before="touch a b", **core),
        Scene(f"ln-i.{name}", "ln", "ln -i a b", before="touch a b", **core),
        Scene(f"find-ok.{name}", "find", "find . -name a -ok rm {} ;".replace(" ;", " \\;"), before="touch a", kind="confirm", until=r"\?|？|>", version="find --version", **more),
        Scene(f"apt-install.{name}", "apt", "apt-get install -d octave", kind="confirm", until=r"\[.*\] *$", version="apt --version", sizes=BOTH, **more),
        Scene(f"apt-remove.{name}", "apt", "apt remove git", kind="confirm", until=r"\[.*\] *$", version="apt --version", **more),
        Scene(f"apt-essential.{name}", "apt", "apt-get remove bash", kind="confirm", until=ASKED, version="apt --version", **more),
        Scene(f"git-clean.{name}", "git", "git clean -i", kind="select", before=GIT + "touch a b", **git),
        Scene(f"git-clean-ask.{name}", "git", "git clean -i", kind="confirm", before=GIT + "touch a b", steps=((r"> *$", "4 Enter"),), **git),
        Scene(f"git-clean-patterns.{name}", "git", "git clean -i", kind="text", before=GIT + "touch a b", steps=((r"> *$", "2 Enter"),), until=r">> *$", version="git --version", **more),
        Scene(f"git-add-p.{name}", "git", "git add -p", kind="select", before=CHANGED, sizes=BOTH, **git),
        Scene(f"git-checkout-p.{name}", "git", "git checkout -p", kind="select", before=CHANGED, **git),
        Scene(f"git-add-i.{name}", "git", "git add -i", kind="select", before=CHANGED, **git),
        Scene(f"git-user.{name}", "git", "GIT_ASKPASS= git -c credential.helper= push http://127.0.0.1:8437/x.git", kind="login", before=CHANGED, steps=(), until=r": *$", version="git --version", **more),
        Scene(f"passwd.{name}", "passwd", "passwd root", kind="secret", until=r"[:：] *$", version=DPKG + "passwd", **more),
        Scene(f"gpg-gen.{name}", "gpg", "gpg --full-generate-key", kind="select", until=ASKED, version="gpg --version", sizes=BOTH, **more),
        Scene(f"gpg-size.{name}", "gpg", "gpg --full-generate-key", kind="text", steps=((ASKED, "1 Enter"),), until=r"\(3072\)", version="gpg --version", **more),
        Scene(f"gpg-expiry.{name}", "gpg", "gpg --quick-generate-key --batch x; gpg --full-generate-key", kind="confirm", steps=((ASKED, "1 Enter"), (r"3072\)", "Enter"), (r"\(0\)", "0 Enter")), until=r"/N\) *$|\([^)]*\) *$", version="gpg --version", **more),
        Scene(f"gpg-delete.{name}", "gpg", "gpg --delete-keys ada", kind="confirm", before="gpg --batch --passphrase '' --quick-gen-key ada", until=r"/.\) *$", version="gpg --version", sizes=BOTH, **more),
        Scene(f"gpg-edit.{name}", "gpg", "gpg --edit-key ada", kind="repl_prompt", before="gpg --batch --passphrase '' --quick-gen-key ada", until=r"> *$", version="gpg --version", **more),
        Scene(f"nano-quit.{name}", "nano", "nano a.txt", kind="confirm", before="echo hi >a.txt", steps=((r"\^X", "x C-x"),), until=r"\? *$|？ *$|\^C", version="nano --version", **more),
        Scene(f"nano.{name}", "nano", "nano a.txt", kind="editor", before="echo hi >a.txt", until=r"\^X", version="nano --version", sizes=BOTH, **more),
        Scene(f"vim.{name}", "vim", "vim -u NONE a.txt", kind="editor", before="echo hi >a.txt", steps=((r"a\.txt", "i"),), until=r"^-- ", version="vim --version", **more),
        Scene(f"vim-swap.{name}", "vim", "vim -u NONE a.txt", kind="select", before="echo hi >a.txt; printf 'b0VIM 9.0' > .a.txt.swp", until=r"[:：] *$", version="vim --version", **more),
        Scene(f"less-end.{name}", "less", "seq 1 400 | less", kind="pager", steps=((r"^:$", "G"),), until=r"\(\S+\)$", version="less --version", **more),
        Scene(f"bash-logout.{name}", "bash", "bash --norc", state="ended", until=r"\$ *$", version="bash --version", **more),
    ]  # fmt: skip


SPOKEN = [scene for tongue in TONGUES for scene in _spoken(tongue)]
