"""Interpreters, debuggers and clients with a prompt of their own: at it, at work, at other prompts, and left."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from corpora.shell_prompts.scenes.classic.made import packaged, placed, repl, typed
from corpora.shell_prompts.stage import Scene

MBOX = "printf 'From ada@box Mon Nov 23 10:00:00 2026\\nFrom: ada@box\\nTo: dev@box\\nSubject: Notes on the engine\\nDate: Mon, 23 Nov 2026 10:00:00 +0000\\n\\nDoes it weave? (y/n)\\n\\n' >mbox"
XFS = "truncate -s 320M disk.img; mkfs.xfs -q disk.img"
VERILOG = "printf 'module m; initial begin $display(\"half\"); $stop; end endmodule' >m.v; iverilog -o m.vvp m.v"
LOOP = "printf 'module m; reg a; initial begin a=0; forever #1 a=~a; end endmodule' >m.v; iverilog -o m.vvp m.v"
JOURNAL = "printf '2026/11/01 Bakery\\n  Food  4 EUR\\n  Cash\\n' >a.journal; touch .hledger.journal"
SPIN = "(let loop () (loop))"

INTERPRETERS = placed([
    *repl("maxima", "maxima", "maxima -q", r"\(%i1\) *$", "for i thru 10^12 do i$", "quit();", [("ask", "confirm", "integrate(x^n,x);", r"\? *$")]),
    *repl("polyml", "poly", "poly", r"^> *$", "let fun f () = f () in f () end;", "C-d"),
    *repl("smlnj", "sml", "sml", r"^- *$", "let fun f () = f () in f () end;", "C-d", [("more", "repl_prompt", "let val a = 1", r"^= *$")]),
    *repl("gprolog", "gprolog", "gprolog", r"\| \?- *$", "repeat, fail.", "halt.", [("next", "press_key", "member(X,[1,2,3]).", r"X = 1 \? *$")]),
    *repl("hugs", "hugs", "hugs", r"Hugs> *$", "last [1..]", ":quit"),
    *repl("erlang-base", "erl", "erl", r"1> *$", "timer:sleep(60000).", "q().", [("switch", "repl_prompt", "1+1. C-g", r"--> *$")]),
    Scene("erl-break", "erl", "erl", kind="select", steps=((r"1> *$", "C-c"),), until=r"\(v\)ersion[\s\S]*$", version=packaged("erlang-base")),
    *repl("elixir", "iex", "iex", r"iex\(1\)> *$", "Process.sleep(60000)", "System.halt()"),
    *repl("mit-scheme", "mit-scheme", "mit-scheme", r"1 \]=> *$", SPIN, "(exit)", [("error", "repl_prompt", "(car 1)", r"2 error> *$")]),
    *repl("tinyscheme", "tinyscheme", "tinyscheme", r"ts> *$", SPIN, "(quit)"),
    *repl("scheme48", "scheme48", "scheme48", r"^> *$", SPIN, ",exit"),
    *repl("newlisp", "newlisp", "newlisp", r"^> *$", "(sleep 60000)", "(exit)"),
    *repl("picolisp", "picolisp", "picolisp +", r"^: *$", "(wait 60000)", "(bye)"),
    *repl("ecl", "ecl", "ecl", r"^> *$", "(sleep 60)", "(ext:quit)", [("broken", "repl_prompt", "(car 1)", r"^>> *$")]),
    *repl("jimsh", "jimsh", "jimsh", r"\. *$", "while 1 {}", "exit"),
    *repl("expect", "expect", "expect", r"expect1\.1> *$", "sleep 60", "exit"),
    *repl("duktape", "duk", "duk", r"duk> *$", "while(1);", "C-d"),
    *repl("mujs", "mujs", "mujs", r"^> *$", "while(1);", "C-d"),
    Scene("dc", "dc", "dc", kind="repl_prompt", steps=((r"dc$", "2 Space 3 Space + Space p Enter"),), until=r"^5 *$", hard=True, note="it prints no prompt", version=packaged("dc")),
    Scene("dc-busy", "dc", "dc", state="working", steps=((r"dc$", "[lax]salax Enter"),), until=r"salax *$", version=packaged("dc")),
    *repl("apcalc", "calc", "calc", r"^; *$", "while (1) ;", "quit"),
    *repl("genius", "genius", "genius", r"genius> *$", "for i=1 to 1000000000 do i;", "quit"),
    *repl("qalc", "qalc", "qalc", r"^> *$", "", "quit", [("answered", "repl_prompt", "3 feet + 2 m", r"m\s+> *$")]),
    *repl("wcalc", "wcalc", "wcalc", r"-> *$", "", "\\q"),
    *repl("bwbasic", "bwbasic", "bwbasic", r"bwBASIC: *$", "10 GOTO 10 Enter RUN", "quit", [("input", "text", "INPUT A", r"\? *$")]),
    *repl("yorick", "yorick", "yorick", r"^> *$", "while (1) {}", "quit"),
    *repl("redis-tools", "redis-cli", "redis-cli -p 1", r"not connected> *$", "", "exit"),
    *repl("xfsprogs", "xfs_io", "xfs_io a.txt", r"xfs_io> *$", "", "quit", before="echo hi >a.txt"),
    *repl("xfsprogs", "xfs_db", "xfs_db disk.img", r"xfs_db> *$", "", "quit", before=XFS),
    *repl("qemu-utils", "qemu-io", "qemu-io -f raw disk.img", r"qemu-io> *$", "sleep 60000", "quit", before="truncate -s 4M disk.img"),
    *repl("lvm2", "lvm", "lvm", r"lvm> *$", "", "quit"),
    *repl("bind9-dnsutils", "nslookup", "nslookup - 127.0.0.1", r"^> *$", "", "exit"),
    *repl("bind9-dnsutils", "nsupdate", "nsupdate", r"^> *$", "", "quit"),
    *repl("inetutils-ftp", "ftp (inetutils)", "inetutils-ftp", r"ftp> *$", "", "quit", [("to", "text", "open", r"\(to\) *$")]),
    *repl("tftp-hpa", "tftp", "tftp 127.0.0.1", r"tftp> *$", "", "quit"),
    Scene("tftp-to", "tftp", "tftp", kind="text", until=r"\(to\) *$", version=packaged("tftp-hpa")),
    *repl("ncftp", "ncftp", "ncftp", r"ncftp> *$", "", "quit"),
    *repl("openssh-client", "sftp", "sftp -D /usr/lib/openssh/sftp-server", r"sftp> *$", "!sleep 60", "quit"),
    Scene("sftp-put", "sftp", "sftp -l 800 -D /usr/lib/openssh/sftp-server", state="working", before="head -c 90000000 /dev/zero >big", steps=((r"sftp> *$", typed("put big copy")),), until=r"%", rests=False, version=packaged("openssh-client")),
    *repl("chrony", "chronyc", "chronyc", r"chronyc> *$", "", "quit"),
    *repl("nftables", "nft", "nft -i", r"nft> *$", "", "quit"),
    *repl("nickle", "nickle", "nickle", r"^> *$", "while (true) ;", "quit", [("more", "repl_prompt", "if (1) {", r"^\+ *$")]),
    Scene("z3", "z3", "z3 -in", kind="repl_prompt", steps=((r"-in$", "(check-sat) Enter"),), until=r"^sat *$", hard=True, note="it prints no prompt", version=packaged("z3")),
    *repl("berkeley-abc", "abc", "berkeley-abc", r"abc 01> *$", "!sleep 60", "quit"),
    *repl("cvc4", "cvc4", "cvc4", r"CVC4> *$", "", "C-d"),
    *repl("yosys", "yosys", "yosys -Q", r"yosys> *$", "!sleep 60", "exit"),
    *repl("ngspice", "ngspice", "ngspice", r"ngspice 1 -> *$", "shell sleep 60", "quit"),
    Scene("vvp", "vvp", "vvp m.vvp", kind="repl_prompt", before=VERILOG, until=r"^> *$", version=packaged("iverilog")),
    Scene("vvp-busy", "vvp", "vvp m.vvp", state="working", before=LOOP, until=r"vvp$", version=packaged("iverilog")),
    *repl("gap-core", "gap", "gap -b", r"gap> *$", "while true do od;", "quit;", [("break", "repl_prompt", "Foo();", r"gap> *$|brk> *$")]),
    *repl("pspp", "pspp", "pspp", r"PSPP> *$", "", "finish."),
    *repl("jags", "jags", "jags", r"^\. *$", "", "exit"),
    *repl("link-grammar", "link-parser", "link-parser", r"linkparser> *$", "", "!exit"),
    *repl("ledger", "ledger", "ledger -f a.journal", r"\] *$", "", "quit", before=JOURNAL),
    Scene("hledger-add", "hledger", "hledger add", kind="text", before=JOURNAL, until=r"Date \[.*\]: *$", version=packaged("hledger")),
    Scene("hledger-description", "hledger", "hledger add", kind="text", before=JOURNAL, steps=((r"Date \[.*\]: *$", "Enter"),), until=r"Description: *$", version=packaged("hledger")),
    *repl("gnuchess", "gnuchess", "gnuchess", r"White \(1\) : *$", "", "quit"),
    *repl("gnugo", "gnugo", "gnugo --mode ascii", r"black\(1\): *$", "", "quit", [("moved", "repl_prompt", "c3", r"black\(3\): *$")]),
    *repl("bsd-mailx", "bsd-mailx", "bsd-mailx -f mbox", r"& *$", "", "x", before=MBOX),
    Scene("bsd-mailx-subject", "bsd-mailx", "bsd-mailx ada", kind="text", until=r"Subject: *$", version=packaged("bsd-mailx")),
    *repl("mailutils", "mail (mailutils)", "mail.mailutils -f mbox", r"\? *$", "", "x", before=MBOX),
    *repl("kpcli", "kpcli", "kpcli", r"kpcli:/> *$", "", "quit", [("password", "secret", "saveas a.kdb", r"(?i)password[^\n]*: *$")]),
    Scene("bpython", "bpython", "bpython", kind="repl_prompt", steps=((r"Welcome", "4 + 3 Enter"),), until=r"^7\s", version=packaged("bpython")),
    Scene("bpython-busy", "bpython", "bpython", state="working", steps=((r"Welcome", typed("import time; time.sleep(60)")),), until=r"sleep\(60\)", version=packaged("bpython")),
    Scene("bpython-left", "bpython", "bpython", state="ended", steps=((r"Welcome", "C-d"),), until=r"\$ *$", version=packaged("bpython")),
    *repl("python3-ipdb", "ipdb", "ipdb3 a.py", r"ipdb> *$", "!import time; time.sleep(60)", "", before="printf 'a = 1\\nb = 2\\nprint(a + b)\\n' >a.py"),
    *repl("buku", "buku", "buku", r"buku \(\? for help\) *$", "", "q"),
    Scene("xonsh", "xonsh", "xonsh --no-rc", state="ended", until=r"[@#$] *$", version=packaged("xonsh"), note="a shell's prompt"),
    Scene("xonsh-busy", "xonsh", "xonsh --no-rc", state="working", steps=((r"[@#] *$", "sleep Space 60 Enter"),), until=r"sleep 60 *$", version=packaged("xonsh")),
    Scene("elvish", "elvish", "elvish -norc", state="ended", until=r"^~[#>]", version=packaged("elvish"), note="a shell's prompt"),
    Scene("elvish-busy", "elvish", "elvish -norc", state="working", steps=((r"^~[#>]", "sleep Space 60 Enter"),), until=r"sleep 60", version=packaged("elvish")),
    Scene("yash", "yash", "yash", state="ended", until=r"[$#] *$", version=packaged("yash"), note="a shell's prompt"),
    Scene("yash-read", "yash", "yash -c 'printf \"Name of the branch: \"; read x'", kind="text", until=r"branch: *$", version=packaged("yash")),
])  # fmt: skip
