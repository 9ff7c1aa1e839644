"""Interpreters, debuggers, clients and games with a prompt of their own: at it, at work, at other prompts, and left."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from corpora.shell_prompts.scenes.classic.askers import asks, done, works
from corpora.shell_prompts.scenes.classic.made import repl, typed
from corpora.shell_prompts.scenes.fresh.sizes import placed

SPIN = "(let loop () (loop))"
ODBC = "printf '[loom]\\nDriver=/usr/lib/x86_64-linux-gnu/odbc/libsqlite3odbc.so\\nDatabase=a.db\\n' >.odbc.ini"
ASM = "printf '.text\\n.globl main\\nmain: b main\\n' >a.s"
AWK = "printf 'BEGIN { a = 1\\n  print a\\n}\\n' >a.awk"
RULES = "printf 'all:\\n\\t@echo weave\\n' >Makefile"
XML = "echo '<loom><warp/></loom>' >a.xml"
CONFIG = "printf '[supervisorctl]\\nserverurl=unix://x.sock\\n' >s.conf"
DISK = "truncate -s 4M disk.img; mke2fs -q disk.img"

INTERPRETERS = placed([
    *repl("ocaml-interp", "ocaml", "ocaml", r"^# *$", "while true do () done;;", "exit 0;;"),
    *repl("swi-prolog-nox", "swipl", "swipl", r"^\?- *$", "repeat, fail.", "halt.", [("next", "press_key", "member(X,[1,2,3]).", r"X = 1 *$")]),
    asks("gforth", "gforth", "gforth", "gforth", "repl_prompt", r"to exit *$", hard=True, note="it prints no prompt"),
    works("gforth-busy", "gforth", "gforth", "gforth", r";\s+l\s*$", "", (r"to exit *$", typed(": l begin again ; l"))),
    asks("gforth-ok", "gforth", "gforth", "gforth", "repl_prompt", r"5 +ok *$", "", (r"to exit *$", typed("2 3 + ."))),
    works("gforth-left", "gforth", "gforth", "gforth", r"\$ *$", "", (r"to exit *$", "b y e Enter"), state="ended"),
    *repl("rakudo", "raku", "raku", r"^\[0\] > *$", "sleep 60", "exit"),
    *repl("chezscheme", "chezscheme", "chezscheme", r"^> *$", SPIN, ""),
    asks("chezscheme-debug", "chezscheme", "chezscheme", "chezscheme", "repl_prompt", r"^debug> *$", "", (r"^> *$", typed("(car 1)")), (r"\(debug\)[^\n]*\n> *$", typed("(debug)"))),
    *repl("chicken-bin", "csi", "csi", r"#;1> *$", SPIN, ""),
    *repl("gambc", "gsi", "gsi", r"^> *$", SPIN, "", [("error", "repl_prompt", "(car 1)", r"^1> *$")]),
    *repl("scheme9", "s9", "s9", r"^> *$", SPIN, ""),
    *repl("luajit", "luajit", "luajit", r"^> *$", "repeat until false", "C-d", [("more", "repl_prompt", "x = {", r"^>> *$")]),
    *repl("pike8.0", "pike", "pike", r"^> *$", "sleep(60);", ""),
    *repl("slsh", "slsh", "slsh", r"slsh> *$", "sleep (60);", ""),
    *repl("clips", "clips", "clips", r"CLIPS> *$", "(while TRUE do (+ 1 1))", "(exit)"),
    *repl("maude", "maude", "maude", r"Maude> *$", "", ""),
    asks("pforth", "pforth", "pforth", "pforth", "repl_prompt", r"static\) *$", hard=True, note="it prints no prompt"),
    works("pforth-busy", "pforth", "pforth", "pforth", r";\s+l\s*$", "", (r"static\) *$", typed(": l begin again ; l"))),
    *repl("firebird3.0-utils", "isql-fb", "isql-fb", r"SQL> *$", "", "", [("more", "repl_prompt", "select 1", r"CON> *$")]),
    *repl("unixodbc", "isql", "ODBCINI=.odbc.ini isql loom", r"SQL> *$", "", "quit", before=ODBC),
    *repl("simh", "pdp11 (simh)", "pdp11", r"sim> *$", "", "quit"),
    *repl("spim", "spim", "spim", r"\(spim\) *$", "", "quit"),
    works("spim-busy", "spim", "spim", "spim -file a.s", r"a\.s[\s\S]*$", ASM, hard=True),
    *repl("sdcc-ucsim", "s51", "s51", r"0> *$", "", ""),
    *repl("krb5-user", "ktutil", "ktutil", r"ktutil: *$", "", ""),
    *repl("e2fsprogs", "debugfs", "debugfs disk.img", r"debugfs: *$", "", "quit", before=DISK),
    *repl("coinor-clp", "clp", "clp", r"Clp: *$", "", ""),
    *repl("tasksh", "tasksh", "tasksh", r"tasksh> *$", "", "quit"),
    *repl("supervisor", "supervisorctl", "supervisorctl -c s.conf", r"supervisor> *$", "", "", before=CONFIG),
    *repl("atftp", "atftp", "atftp", r"tftp> *$", "", ""),
    *repl("yafc", "yafc", "yafc", r"yafc[^\n]*> *$", "", "quit"),
    *repl("ntpsec", "ntpq", "ntpq", r"ntpq> *$", "", ""),
    *repl("remake", "remake", "remake -X", r"remake<0> *$", "shell sleep 60", "", before=RULES),
    *repl("gawk", "gawk", "gawk -D -f a.awk", r"gawk> *$", "", "", before=AWK),
    *repl("libxml2-utils", "xmllint", "xmllint --shell a.xml", r"/ > *$", "", "bye", before=XML),
    *repl("festival", "festival", "festival", r"festival> *$", "", "(quit)"),
    *repl("fluidsynth", "fluidsynth", "fluidsynth -a file", r"^> *$", "sleep 60000", "quit"),
    *repl("putty-tools", "psftp", "psftp", r"psftp> *$", "!sleep 60", "quit"),
    *repl("gdbmtool", "gdbmtool", "gdbmtool a.db", r"gdbmtool> *$", "", ""),
    *repl("tdb-tools", "tdbtool", "tdbtool a.tdb", r"tdb> *$", "", ""),
    *repl("mdbtools", "mdb-sql", "mdb-sql", r"1 => *$", "", "", [("more", "repl_prompt", "select *", r"2 => *$")]),
    asks("phalanx", "phalanx", "phalanx", "phalanx", "repl_prompt", r"white, 1 \]", hard=True, note="it prints no prompt"),
    *repl("sjeng", "sjeng", "sjeng", r"^Sjeng: *$", "", ""),
    asks("stockfish", "stockfish", "stockfish", "stockfish", "repl_prompt", r"readyok *$", "", (r"Stockfish", "isready Enter"), hard=True, note="it prints no prompt"),
    works("stockfish-busy", "stockfish", "stockfish", "stockfish", r"depth", "", (r"Stockfish", typed("go infinite")), rests=False),
    asks("mksh", "mksh", "mksh", "mksh -c 'read x?\"Which branch? \"'", "text", r"branch\? *$"),
    works("mksh-shell", "mksh", "mksh", "mksh", r"mksh\n[^\n]*# *$", state="ended", note="a shell's prompt"),
    works("mksh-busy", "mksh", "mksh", "mksh", r"sleep 60 *$", "", (r"mksh\n[^\n]*[$#] *$", typed("sleep 60"))),
    works("rc", "rc", "rc", "rc", r"^; *$", state="ended", note="a shell's prompt"),
    works("rc-busy", "rc", "rc", "rc", r"sleep 60 *$", "", (r"^; *$", typed("sleep 60"))),
    asks("trek-first", "bsdgames", "trek", "trek", "press_key", r"to continue\. *$"),
    asks("trek", "bsdgames", "trek", "trek", "select", r"length game: *$", "", (r"to continue\. *$", "Enter")),
    asks("trek-skill", "bsdgames", "trek", "trek", "select", r"skill[^\n]*: *$", "", (r"to continue\. *$", "Enter"), (r"length game: *$", "short Enter")),
    asks("battlestar", "bsdgames", "battlestar", "battlestar", "repl_prompt", r">-?:? *$|\? *$"),
    asks("wump", "bsdgames", "wump", "wump", "confirm", r"\? *\(y-n\) *$|\? *$"),
    asks("hangman", "bsdgames", "hangman", "hangman", "press_key", r"Guess: *$"),
    asks("monop", "bsdgames", "monop", "monop", "text", r"players\? *$"),
    asks("monop-name", "bsdgames", "monop", "monop", "text", r"name: *$", "", (r"players\? *$", "2 Enter")),
    asks("arithmetic", "bsdgames", "arithmetic", "arithmetic", "text", r"= *$"),
    done("arithmetic-left", "bsdgames", "arithmetic", "arithmetic", r"=", "", (r"= *$", "C-d")),
    asks("cribbage", "bsdgames", "cribbage", "cribbage", "confirm", r"\? *$"),
    asks("advent", "open-adventure", "advent", "advent", "confirm", r"^> *$|\? *$"),
    asks("advent-road", "open-adventure", "advent", "advent", "repl_prompt", r"gully[\s\S]*> *$", "", (r"instructions[\s\S]*> *$", typed("no"))),
    done("advent-left", "open-adventure", "advent", "advent", r"(?i)(?:scored|points)", "", (r"instructions[\s\S]*> *$", typed("no")), (r"gully[\s\S]*> *$", typed("quit")), (r"quit[\s\S]*> *$", typed("yes"))),
    asks("gnubg", "gnubg", "gnubg", "gnubg -t -q", "repl_prompt", r"\(No game\) *>? *$"),
    asks("gofish", "bsdgames", "go-fish", "go-fish", "confirm", r"\? *$"),
    asks("pig", "bsdgames", "pig", "pig", "text", r"ello *$|pig *$", "", (r"pig$", "hello Enter"), hard=True, note="no prompt at all"),
])  # fmt: skip
