"""Programs that own the screen: file managers, mail and chat, browsers, editors, hex editors, games, monitors."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from attrs import evolve

from corpora.shell_prompts.scenes.classic.askers import asks, done, works
from corpora.shell_prompts.scenes.fresh.sizes import placed

TEXT = "printf 'The engine weaves\\nalgebraic patterns\\n' >a.txt"
FILES = TEXT + "; mkdir src docs; touch src/main.c docs/notes.md"
PAIR = TEXT + "; printf 'The engine waves\\nalgebraic patterns\\n' >b.txt"
CODE = "printf 'int warp(void) { return 1; }\\nint main(void) { return warp(); }\\n' >a.c; mkdir d; git init -q d; cd d; git -c user.name=ada -c user.email=ada@box commit -q --allow-empty -m 'Weave the warp'"
PROGRAM = "printf 'a = 1\\nb = 2\\nprint(a + b)\\n' >a.py"
PAGE = "printf '<h1>Notes</h1><p>On the engine. <a href=b.html>Next</a>' >a.html"
LOG = 'for i in 1 2 3 4 5 6; do echo "127.0.0.1 - - [23/Nov/2026:10:00:0$i +0000] \\"GET /loom/$i HTTP/1.1\\" 200 512"; done >a.log'
WAVE = "python3 -c \"import wave; w = wave.open('a.wav', 'wb'); w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000); w.writeframes(bytes(16000 * 90))\""
REC = 'printf \'{"version": 2, "width": 80, "height": 24}\\n[0.1, "o", "loom $ weave\\\\r\\\\n"]\\n[0.5, "o", "Weave it? [y/N] "]\\n[90, "o", "done"]\\n\' >a.cast'

OWN = r"\A(?!dev@box)[\s\S]*\S"  # the shell's line is gone

SCREENS = placed([
    asks("ytree", "ytree", "ytree", "ytree", "tui", r"a\.txt", FILES),
    asks("ytree-quit", "ytree", "ytree", "ytree", "confirm", r"(?i)quit[^\n]*\?|y/n", FILES, (r"a\.txt", "q")),
    asks("vfu", "vfu", "vfu", "vfu", "tui", r"a\.txt", FILES),
    asks("fd", "fdclone", "fd (fdclone)", "/usr/bin/fd", "tui", r"a\.txt", FILES),
    asks("cscope", "cscope", "cscope", "cscope a.c", "tui", r"Find this C symbol", CODE),
    asks("tig", "tig", "tig", "cd d; tig", "tui", r"Weave the warp", CODE),
    asks("tig-command", "tig", "tig", "cd d; tig", "text", r"^:\w*", CODE, (r"Weave the warp", ": l o")),
    asks("calcurse", "calcurse", "calcurse", "calcurse", "tui", r"(?i)help"),
    asks("calcurse-add", "calcurse", "calcurse", "calcurse", "text", r"(?i)enter[^\n]*:", "", (r"(?i)help", "C-a")),
    asks("calcurse-fr", "calcurse", "calcurse", "calcurse", "confirm", r"(?i)quitter[^\n]*\?", "", (r"(?i)aide", "q"), language="fr_FR.UTF-8"),
    asks("minicom-menu", "minicom", "minicom", "minicom -s", "select", r"(?i)exit from minicom"),
    asks("minicom-menu-de", "minicom", "minicom", "minicom -s", "select", r"(?i)minicom beenden|beenden", language="de_DE.UTF-8"),
    asks("partimage", "partimage", "partimage", "partimage", "tui", r"(?i)partition"),
    asks("pudb", "python3-pudb", "pudb", "/usr/bin/python3 -m pudb a.py", "press_key", r"(?i)welcome", PROGRAM),
    asks("imediff", "imediff", "imediff", "imediff a.txt b.txt", "tui", r"engine", PAIR),
    asks("vbindiff", "vbindiff", "vbindiff", "vbindiff a.txt b.txt", "tui", r"a\.txt", PAIR),
    asks("vbindiff-goto", "vbindiff", "vbindiff", "vbindiff a.txt b.txt", "text", r"(?i)position[^\n]*:|goto:|\bPosition\b", PAIR, (r"a\.txt", "g")),
    asks("hexcompare", "hexcompare", "hexcompare", "hexcompare a.txt b.txt", "tui", r"\S", PAIR),
    asks("hexer", "hexer", "hexer", "hexer a.txt", "editor", r"00000000", TEXT),
    asks("hte", "ht", "hte", "hte a.txt", "editor", r"a\.txt", TEXT),
    asks("beav", "beav", "beav", "beav a.txt", "editor", r"a\.txt", TEXT),
    asks("jed", "jed", "jed", "jed a.txt", "editor", r"a\.txt", TEXT),
    asks("jed-quit", "jed", "jed", "jed a.txt", "confirm", r"\?[^\n]*$|y/n", TEXT, (r"a\.txt", "x C-x C-c")),
    asks("le", "le", "le", "le a.txt", "editor", r"a\.txt|engine", TEXT),
    asks("tilde-first", "tilde", "tilde", "tilde a.txt", "select", r"Configure", TEXT),
    asks("aoeui", "aoeui", "aoeui", "aoeui a.txt", "editor", r"engine", TEXT),
    asks("jupp", "jupp", "jupp", "jupp a.txt", "editor", r"engine", TEXT),
    evolve(asks("pyvim", "pyvim", "pyvim", "pyvim a.txt", "editor", r"engine", TEXT), version="python -m pip show pyvim | grep ^Version"),
    asks("netrik", "netrik", "netrik", "netrik a.html", "tui", r"Notes", PAGE),
    asks("bombadillo", "bombadillo", "bombadillo", "bombadillo", "tui", r"(?i)bombadillo"),
    asks("gopher", "gopher", "gopher", "gopher 127.0.0.1", "press_key", r"(?i)ok|cannot|press|error"),
    asks("urlscan", "urlscan", "urlscan", "urlscan a.txt", "select", r"box/2", "printf 'see http://box/1 and\\nhttp://box/2\\n' >a.txt"),
    asks("peco", "peco", "peco", "printf 'apple\\npear\\nplum\\n' | TERM=xterm peco", "select", r"QUERY>"),
    asks("aerc", "aerc", "aerc", "aerc", "tui", r"(?i)welcome|account"),
    asks("epic5", "epic5", "epic5", "epic5 -s ada", "repl_prompt", r"EPIC|epic"),
    asks("profanity", "profanity", "profanity", "profanity", "repl_prompt", r"(?i)profanity"),
    asks("mcabber", "mcabber", "mcabber", "mcabber", "repl_prompt", r"(?i)mcabber|status"),
    asks("cmus", "cmus", "cmus", "cmus", "press_key", r"to continue\. *$"),
    asks("mocp", "moc", "mocp", "mocp -R null .", "tui", OWN, WAVE),
    works("mpv", "mpv", "mpv", "mpv --ao=null a.wav", r"A: ", WAVE, rests=False),
    asks("mpv-paused", "mpv", "mpv", "mpv --ao=null --pause a.wav", "tui", r"\(Paused\)", WAVE, hard=True, note="paused"),
    asks("gtypist", "gtypist", "gtypist", "gtypist", "select", r"(?i)menu|lesson|press"),
    asks("gtypist-de", "gtypist", "gtypist", "gtypist", "select", r"(?i)\S{4}", language="de_DE.UTF-8"),
    asks("dvorak7min", "dvorak7min", "dvorak7min", "dvorak7min", "tui", r"(?i)dvorak|\S"),
    asks("typespeed", "typespeed", "typespeed", "typespeed", "select", r"(?i)test your speed|quit"),
    asks("slashem", "slashem", "slashem", "slashem -u ada", "select", r"\[ynq\]"),
    asks("hack", "bsdgames", "hack (bsdgames)", "hack -u ada", "confirm", r"\[[yn]+\] *$|--More--"),
    asks("angband", "angband", "angband", "angband -mgcu -uada -n", "press_key", r"(?i)press|\["),
    asks("moria", "moria", "moria", "moria -n", "press_key", r"(?i)press any|pause|\["),
    asks("freesweep", "freesweep", "freesweep", "freesweep", "text", r"height[^\n]*: *$"),
    asks("sudoku", "sudoku", "sudoku", "sudoku", "tui", r"\S"),
    asks("2048", "2048", "2048", "2048", "tui", r"(?i)score|2"),
    asks("moon-buggy", "moon-buggy", "moon-buggy", "moon-buggy", "press_key", r"(?i)press|start|space"),
    asks("nettoe", "nettoe", "nettoe", "nettoe", "select", r"(?i)quit|help|play"),
    asks("tint", "tint", "tint", "tint", "select", r"(?i)level[^\n]*"),
    works("tint-falls", "tint", "tint", "tint", r"(?i)lines|score|level", "", (r"(?i)level[^\n]*: *$|level", "3 Enter"), rests=False, note="it goes on by itself"),
    works("tetris-bsd", "bsdgames", "tetris-bsd", "tetris-bsd", r"(?i)score", rests=False, hard=True, note="it goes on by itself, drawn in colours alone"),
    works("atc", "bsdgames", "atc", "atc", r"(?i)time", rests=False, note="it goes on by itself"),
    works("rain", "bsdgames", "rain", "rain", r"\S", rests=False, note="an animation"),
    works("worms", "bsdgames", "worms", "worms -d 40", r"\S", rests=False, note="an animation"),
    asks("robots", "bsdgames", "robots", "robots", "tui", r"(?i)score"),
    asks("backgammon", "bsdgames", "backgammon", "backgammon", "confirm", r"\? *$"),
    asks("canfield", "bsdgames", "canfield", "canfield", "confirm", r"\?"),
    asks("gomoku", "bsdgames", "gomoku", "gomoku", "select", r"\? *|black"),
    asks("nsnake-menu", "nsnake", "nsnake", "nsnake", "select", r"Level Select", rests=False, hard=True, note="a menu beside which something moves"),
    works("pacman4console", "pacman4console", "pacman4console", "pacman4console", r"(?i)level|lives", rests=False, note="it goes on by itself"),
    works("curseofwar", "curseofwar", "curseofwar", "curseofwar", r"(?i)speed|gold|date", rests=False, note="it goes on by itself"),
    asks("petris", "petris", "petris", "petris", "select", r"Choose level"),
    works("petris-falls", "petris", "petris", "petris", r"\A(?![\s\S]*Choose)[\s\S]*\S", "", (r"Choose level", "Space"), rests=False, note="it goes on by itself"),
    asks("vitetris", "vitetris", "vitetris", "vitetris", "select", r"Highscores"),
    works("cbonsai", "cbonsai", "cbonsai", "cbonsai -l -i -t 0.2", r"\S", rests=False, note="an animation"),
    works("aafire", "libaa-bin", "aafire", "aafire -driver curses", OWN, rests=False, note="an animation"),
    works("pipes-sh", "pipes-sh", "pipes-sh", "pipes", r"[┃━┓┛]", rests=False, note="an animation"),
    works("atop", "atop", "atop", "atop 2", r"(?i)cpu", rests=False, note="a monitor"),
    works("glances", "glances", "glances", "glances -t 1 --disable-check-update --disable-plugin processlist,processcount,fs,diskio,network,containers,docker,folders,alert,wifi,ports,connections,cloud", r"(?i)cpu", rests=False, note="a monitor"),
    works("btop", "btop", "btop", "btop --utf-force", r"(?i)cpu", "mkdir -p .config/btop; echo 'shown_boxes = \"cpu net\"' >.config/btop/btop.conf", rests=False, note="a monitor"),
    works("iotop-c", "iotop-c", "iotop-c", "iotop-c -p $$", r"(?i)disk", rests=False, note="a monitor"),
    works("iftop", "iftop", "iftop", "iftop -n -i lo", r"(?i)cum|rates", rests=False, note="a monitor"),
    works("nethogs", "nethogs", "nethogs", "nethogs -a lo", r"(?i)total", rests=False, note="a monitor"),
    works("bmon", "bmon", "bmon", "bmon -p lo", r"(?i)bmon|interfaces", rests=False, note="a monitor"),
    works("nload", "nload", "nload", "nload lo", r"(?i)curr", rests=False, note="a monitor"),
    asks("iptraf-ng", "iptraf-ng", "iptraf-ng", "iptraf-ng", "select", r"IP traffic monitor"),
    works("slabtop", "procps", "slabtop", "slabtop", r"(?i)objects", rests=False, note="a monitor"),
    works("tload", "procps", "tload", "tload -d 2", r"\d\.\d\d", rests=False, note="a monitor"),
    evolve(works("gtop", "gtop", "gtop", "gtop", r"(?i)cpu", rests=False, note="a monitor"), version="grep '\"version\"' $(dirname $(readlink -f $(command -v gtop)))/../package.json"),
    asks("goaccess", "goaccess", "goaccess", "goaccess a.log", "select", r"(?i)log format", LOG),
    asks("lnav", "lnav", "lnav", "lnav a.log", "pager", r"GET /loom", LOG),
    works("multitail", "multitail", "multitail", "multitail a.log", r"GET /loom", LOG, note="it follows a file"),
    works("asciinema-play", "asciinema", "asciinema", "asciinema play a.cast", r"\[y/N\] *$", REC, hard=True, note="a recording with a question"),
    done("calcurse-left", "calcurse", "calcurse", "calcurse", r"calcurse", "", (r"(?i)help", "q"), (r"(?i)really|quit", "y")),
    done("tig-left", "tig", "tig", "cd d; tig", r"tig", CODE, (r"Weave the warp", "q")),
], full=True)  # fmt: skip
