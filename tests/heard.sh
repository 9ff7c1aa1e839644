#!/bin/sh
# Returns once the terminal has taken all that was written to it before: it answers what it is asked after that.  Without,
# tmux may lose what a program writes right before it ends (docs/tmux.md).
kept=$(stty -g)
stty -icanon -echo min 4 time 0
printf '\033[5n'
dd bs=4 count=1 >/dev/null 2>&1
stty "$kept"
