"""Programs that own the screen (file managers, editors, mail, calendars, games, monitors), and what only shows work."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from corpora.shell_prompts.scenes.classic.askers import asks, done, works
from corpora.shell_prompts.scenes.classic.interpreters import MBOX
from corpora.shell_prompts.scenes.classic.made import placed

TEXT = "printf 'The engine weaves\\nalgebraic patterns\\n' >a.txt"
FILES = TEXT + "; mkdir src docs; touch src/main.c docs/notes.md"
TABLE = "printf 'name,year\\nada,1815\\ncharles,1791\\n' >t.csv"
PAGE = "printf '<h1>Notes</h1><p>On the engine. <a href=b.html>Next</a>\\n<form action=x><input name=q><input type=submit></form>' >a.html"
CODE = "printf '#include <stdio.h>\\nint main(void) { for (;;) getchar(); }\\n' >a.c; gcc -g -o a a.c"
FEED = 'printf \'<?xml version="1.0"?><rss version="2.0"><channel><title>Engine news</title><link>x</link><description>d</description><item><title>It weaves</title><description>Patterns</description></item></channel></rss>\' >f.xml; mkdir -p .newsboat; echo file://$PWD/f.xml >.newsboat/urls'
CMAKE = "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(engine NONE)\\noption(WEAVE \"It weaves\" ON)\\nexecute_process(COMMAND sleep ${NAP})\\n' >CMakeLists.txt; mkdir b"
MESON = "printf \"project('engine')\\nrun_command('sleep', '60', check: true)\\n\" >meson.build"
NINJA = (
    "printf 'rule cc\\n  command = sleep 60\\n  description = CC $out\\nbuild a.o: cc\\nbuild b.o: cc\\n' >build.ninja"
)
SERVED = "head -c 300000000 /dev/zero >big; (timeout 40 python3 -m http.server -b 127.0.0.1 18080 >/dev/null 2>&1 &); sleep 1"
SCRIPT = 'printf \'#!/bin/sh\\nread -p "Remove the old release? [y/N] " answer\\ncase $answer in y) rm -r old ;; esac\\nprintf "Password: "\\n\' >install.sh'
README = "printf '# Setup\\n\\nStart it, and it asks:\\n\\n    Overwrite the file? (y/n)\\n\\nThen type at the prompt:\\n\\n    >>> ' >README"
LOG = "printf '10:01 asked: Continue? [Y/n]\\n10:01 answered: y\\n10:02 Password for ada: \\n' >a.log"

PLAIN = r"\A(?![\s\S]*\[ OK \])[\s\S]*Notes"  # without the box that welcomes
PYTEST = "printf 'import time\\nimport pytest\\n@pytest.mark.parametrize(\"n\", range(9))\\ndef test_it(n):\\n    time.sleep(0 if n < 4 else 60)\\n' >test_a.py"

SCREENS = placed([
    asks("lf", "lf", "lf", "lf", "tui", r"a\.txt", FILES),
    asks("lf-delete", "lf", "lf", "lf", "confirm", r"\? *\[y/N\] *$|\] *$", FILES, (r"a\.txt", ": d e l e t e Enter")),
    asks("lf-command", "lf", "lf", "lf", "text", r"^:mk *$", FILES, (r"a\.txt", ": m k")),
    asks("clex-first", "clex", "clex", "clex", "press_key", r"Press <enter>", FILES),
    asks("clex", "clex", "clex", "clex", "tui", r"F1=help", FILES, (r"Press <enter>", "Enter")),
    asks("hnb", "hnb", "hnb", "hnb", "tui", r"navigate the"),
    asks("abook", "abook", "abook", "abook", "tui", r"q:quit"),
    asks("abook-editor", "abook", "abook", "abook", "tui", r"1 - Name", "", (r"q:quit", "a"), (r":", "A d a Enter")),
    asks("sc", "sc", "sc", "sc", "tui", r"^ +A  "),
    asks("sc-quit", "sc", "sc", "sc a.sc", "confirm", r"\?", "", (r"^ +A  ", "= 4 2 Enter"), (r"42", "q")),
    works("htop", "htop", "htop", "htop -d 10 -p $$", r"F10", "", rests=False, note="a monitor"),
    asks("htop-kill", "htop", "htop", "htop -p $$", "select", r"SIGTERM", "", (r"F10", "F9")),
    asks("htop-search", "htop", "htop", "htop -p $$", "text", r"Search: ba", "", (r"F10", "F3"), (r"Search:", "b a")),
    works("nmon", "nmon", "nmon", "nmon -s 2", r"CPU Util", "", (r"q or|refresh|Use these|nmon|\w", "c"), rests=False, note="a monitor"),
    asks("nethack-name", "nethack-console", "nethack", "nethack", "text", r"Who are you\? *$"),
    asks("nethack", "nethack-console", "nethack", "nethack", "select", r"\[ynaq\]", "", (r"you\? *$", "a d a Enter")),
    works("cmatrix", "cmatrix", "cmatrix", "cmatrix -u 9", r"\S\s[\s\S]*\S\s[\s\S]*\S", rests=False, note="an animation"),
    asks("alpine-menu", "alpine", "alpine", "alpine", "tui", r"MAIN MENU", "", (r"(?i)exit this greeting", "e")),
    asks("alpine-to", "alpine", "alpine", "alpine", "tui", r"^To *:", "", (r"(?i)exit this greeting", "e"), (r"MAIN MENU", "c")),
    asks("neomutt-create", "neomutt", "neomutt", "neomutt -f mbox", "confirm", r"\(\[yes\]/no\): *$", MBOX),
    asks("neomutt", "neomutt", "neomutt", "neomutt -f mbox", "tui", r"Notes on", MBOX, (r"no\): *$", "n")),
    asks("neomutt-to", "neomutt", "neomutt", "neomutt -f mbox", "text", r"^To: *$", MBOX, (r"no\): *$", "n"), (r"Notes on", "m")),
    asks("elinks-first", "elinks", "elinks", "elinks a.html", "press_key", r"\[ OK \]", PAGE),
    asks("elinks", "elinks", "elinks", "elinks a.html", "tui", PLAIN, PAGE, (r"\[ OK \]", "Enter")),
    asks("elinks-quit", "elinks", "elinks", "elinks a.html", "confirm", r"Yes", PAGE, (r"\[ OK \]", "Enter"), (PLAIN, "q")),
    asks("elinks-url", "elinks", "elinks", "elinks a.html", "text", r"(?i)enter url", PAGE, (r"\[ OK \]", "Enter"), (PLAIN, "g")),
    asks("links-first", "links", "links", "links a.html", "press_key", r"\[ OK \]", PAGE),
    asks("links", "links", "links", "links a.html", "tui", PLAIN, PAGE, (r"\[ OK \]", "Enter")),
    asks("links-quit", "links", "links", "links a.html", "confirm", r"Yes", PAGE, (r"\[ OK \]", "Enter"), (PLAIN, "q")),
    asks("ircii", "ircii", "ircII", "ircII -s ada", "repl_prompt", r"Use /SERVER"),
    asks("mle-quit", "mle", "mle", "mle a.txt", "confirm", r"y=yes", TEXT, (r"a\.txt", "x C-x")),
    asks("dhex-keys", "dhex", "dhex", "dhex a.txt", "press_key", r"KEYESC", TEXT),
    works("http-server-py", "python3", "http.server", "/usr/bin/python3 -m http.server -b 127.0.0.1 18123", r"Serving HTTP", hard=True),
    asks("tudu", "tudu", "tudu", "tudu", "tui", r"(?i)tudu|todo"),
    asks("wyrd", "wyrd", "wyrd", "wyrd", "tui", r"(?i)wyrd|help", "touch .reminders"),
    asks("visidata", "visidata", "visidata", "vd t.csv", "tui", r"2 rows", TABLE),
    asks("visidata-command", "visidata", "visidata", "vd t.csv", "text", r"(?i)search[^\n]*$", TABLE, (r"charles", "/")),
    asks("newsboat", "newsboat", "newsboat", "newsboat", "tui", r"Quit", FEED),
    asks("newsboat-article", "newsboat", "newsboat", "newsboat", "pager", r"Patterns", FEED, (r"Quit", "r"), (r"Engine news", "Enter"), (r"It weaves", "Enter")),
    works("mtr", "mtr-tiny", "mtr", "mtr 127.0.0.1", r"Loss%", "", rests=False, note="a monitor"),
    asks("nudoku", "nudoku", "nudoku", "nudoku", "tui", r"(?i)nudoku"),
    works("bastet", "bastet", "bastet", "bastet", r"(?i)score|level|points|play", "", (r"(?i)play", "Enter"), rests=False, note="it goes on by itself"),
    asks("greed", "greed", "greed", "greed", "tui", r"Score"),
    asks("robotfindskitten", "robotfindskitten", "robotfindskitten", "robotfindskitten", "press_key", r"(?i)press any key"),
    asks("alpine", "alpine", "alpine", "alpine", "tui", r"(?i)exit this greeting|main menu"),
    asks("irssi", "irssi", "irssi", "irssi", "repl_prompt", r"\[\(status\)\] *$"),
    asks("weechat", "weechat-curses", "weechat", "weechat", "tui", r"(?i)weechat", rests=True),
    asks("pspg", "pspg", "pspg", "pspg --csv -f t.csv", "pager", r"charles", TABLE),
    asks("lv", "lv", "lv", "lv a", "pager", r"^a[^\n]*:? *$|:", "seq 400 >a"),
    asks("ccmake", "cmake-curses-gui", "ccmake", "ccmake -S . -B b", "tui", r"\[c\]", CMAKE + "; cmake -DNAP=0 -S . -B b"),
    works("ccmake-configure", "cmake-curses-gui", "ccmake", "ccmake -S . -B b -DNAP=60", r"\[", CMAKE + "; cmake -DNAP=0 -S . -B b", (r"\[c\]", "c")),
    works("cmake", "cmake", "cmake", "cmake -DNAP=60 -S . -B b", r"NAP=60 -S \. -B b[\s\S]*$", CMAKE),
    done("cmake-done", "cmake", "cmake", "cmake -DNAP=0 -S . -B b", r"Build files have been written", CMAKE),
    works("meson", "meson", "meson", "meson setup b", r"Build (type|system)|Host machine|Project name", MESON),
    works("ninja", "ninja-build", "ninja", "ninja", r"\[0/2\] CC", NINJA),
    asks("vile", "vile", "vile", "vile a.txt", "editor", r"a\.txt", TEXT),
    asks("dte", "dte", "dte", "dte a.txt", "editor", r"a\.txt", TEXT),
    asks("dte-quit", "dte", "dte", "dte a.txt", "confirm", r"\[[^\n]*\] *$", TEXT, (r"a\.txt", "x C-q")),
    asks("micro", "micro", "micro", "micro a.txt", "editor", r"a\.txt", TEXT),
    asks("micro-quit", "micro", "micro", "micro a.txt", "confirm", r"\(y,n,esc\)", TEXT, (r"a\.txt", "x C-q")),
    asks("kakoune", "kakoune", "kak", "kak -n a.txt", "editor", r"a\.txt", TEXT),
    asks("levee", "levee", "levee", "levee a.txt", "editor", r"a\.txt", TEXT),
    asks("vis", "vis", "vis", "vis a.txt", "editor", r"a\.txt", TEXT),
    asks("mle", "mle", "mle", "mle a.txt", "editor", r"a\.txt", TEXT),
    asks("e3", "e3", "e3", "e3 a.txt", "editor", r"a\.txt", TEXT),
    asks("hexedit", "hexedit", "hexedit", "hexedit a.txt", "editor", r"a\.txt", TEXT),
    asks("hexedit-goto", "hexedit", "hexedit", "hexedit a.txt", "text", r"(?i)new position[^\n]*", TEXT, (r"a\.txt", "Enter")),
    asks("bvi", "bvi", "bvi", "bvi a.txt", "editor", r"a\.txt", TEXT),
    asks("tweak", "tweak", "tweak", "tweak a.txt", "editor", r"a\.txt", TEXT),
    asks("hexcurse", "hexcurse", "hexcurse", "hexcurse a.txt", "editor", r"(?i)quit|exit", TEXT),
    asks("cfdisk", "fdisk", "cfdisk", "cfdisk disk.img", "select", r"gpt", "truncate -s 20M disk.img"),
    asks("cgdisk", "gdisk", "cgdisk", "cgdisk disk.img", "select", r"Quit", "truncate -s 20M disk.img; sgdisk -o disk.img"),
    asks("testdisk", "testdisk", "testdisk", "testdisk /log disk.img", "select", r"\[? ?Proceed", "truncate -s 20M disk.img"),
    asks("photorec", "testdisk", "photorec", "photorec disk.img", "select", r"\[? ?Proceed|Quit", "truncate -s 20M disk.img"),
    asks("dselect", "dselect", "dselect", "dselect", "select", r"(?i)choose"),
    asks("smenu", "smenu", "smenu", "echo apple pear plum | smenu", "select", r"plum"),
    asks("fzy", "fzy", "fzy", "printf 'apple\\npear\\nplum\\n' | fzy", "select", r"plum"),
    asks("iselect", "iselect", "iselect", "printf 'apple\\npear\\nplum\\n' >f; iselect -a <f", "select", r"plum"),
    asks("urlview", "urlview", "urlview", "urlview a.txt", "select", r"box/2", "printf 'see http://box/1 and\\nhttp://box/2\\n' >a.txt"),
    asks("cgdb", "cgdb", "cgdb", "cgdb -q ./a", "repl_prompt", r"\(gdb\) *$", CODE),
    asks("gdb-reader", "cgdb", "cgdb", "cgdb -q ./a", "text", r"run *$", CODE, (r"\(gdb\) *$", "r u n Enter"), hard=True, note="the program under it reads"),
    asks("dvtm-shell", "dvtm", "dvtm", "dvtm 'sh -c \"printf Name:; read x\"'", "text", r"Name:", hard=True),
    asks("vlock", "vlock", "vlock", "vlock -c", "press_key", r"(?i)press \[enter\]|unlock"),
    works("rtorrent", "rtorrent", "rtorrent", "rtorrent", r"rTorrent", "", rests=False, note="a monitor"),
    works("aria2c", "aria2", "aria2c", "aria2c --max-download-limit=200K http://127.0.0.1:18080/big -o copy", r"\[#", SERVED, rests=False),
    works("axel", "axel", "axel", "axel -s 100000 -o copy http://127.0.0.1:18080/big", r"%", SERVED, rests=False),
    works("ddrescue", "gddrescue", "ddrescue", "ddrescue -r1 /dev/zero copy map --max-read-rate=100Ki -s 200Mi", r"remaining|rescued", "", rests=False),
    works("dd", "coreutils", "dd", "dd if=/dev/urandom of=/dev/null bs=64k status=progress", r"copied", "", rests=False),
    works("parallel", "parallel", "parallel", "parallel --bar sleep ::: 1 60 60", r"%", "mkdir -p .parallel; touch .parallel/will-cite", rests=False),
    works("tcc", "tcc", "tcc", "tcc -run a.c", r"a\.c$", "printf '#include <stdio.h>\\nint main(void) { puts(\"Enter a number: \"); for (;;) ; }\\n' >a.c", hard=True),
    works("watch", "procps", "watch", "watch -n 2 date", r"Every", "", rests=False, note="a monitor"),
    works("vmstat", "procps", "vmstat", "vmstat 1", r"swpd[\s\S]*\d$", "", rests=False),
    works("ping", "iputils-ping", "ping", "ping -i 2 127.0.0.1", r"icmp_seq=1", "", rests=False),
    works("tar", "tar", "tar", "tar cvf - /usr/lib | sleep 60", r"sleep 60$", hard=True),
    works("bzip2", "bzip2", "bzip2", "head -c 900000000 /dev/urandom | bzip2 -9 >/dev/null", r"/dev/null$", hard=True),
    works("pytest", "python3-pytest", "pytest", "/usr/bin/python3 -m pytest test_a.py", r"\.\.\.\.", PYTEST),
    works("head-sleep", "coreutils", "head + sleep", "head -20 install.sh; sleep 60", r"Password: .$", SCRIPT, hard=True, note="a script that ends in a question, then busy"),
    works("sed-sleep", "sed", "sed + sleep", "clear; sed -n p README; sleep 60", r">>> *$", README, hard=True, note="a page that ends in a prompt, then busy"),
    works("grep-sleep", "grep", "grep + sleep", "grep . a.log; sleep 60", r"ada: *$", LOG, hard=True, note="a log with questions, then busy"),
    works("diff-sleep", "diffutils", "diff + sleep", "diff -u /dev/null install.sh; sleep 60", r"Password[\s\S]*$", SCRIPT, hard=True, note="a patch with questions, then busy"),
    done("grep-left", "grep", "grep + sleep", "grep . a.log", r"ada: *$", LOG, hard=True, note="a log with questions, and the shell"),
], full=True)  # fmt: skip
