"""Words of loss in letters that look like others, broken up, or hidden from whoever searches for them."""

from __future__ import annotations

from typing import Iterator

from soak.hostile_scenes.losses import ANY_KEY, ENTER, YES_NO, asked
from soak.hostile_scenes.scene import Scene

__all__ = ["FAMILIES"]

DISGUISES = {
    "a Cyrillic letter": "All files will be dеlеtеd.",  # the e is Cyrillic
    "a Greek letter": "All files will be rεmονed.",
    "Cyrillic capitals": "АLL FILЕS WILL ВЕ RЕМОVЕD",
    "all Cyrillic look-alikes": "Аll fіlеs wіll bе rеmоvеd",
    "Armenian and Cherokee": "ᎪᏞᏞ fiӏes wiӏӏ be ᎠᎬᏞᎬᎢᎬᎠ",
    "leet": "4ll f1l3s w1ll b3 d3l3t3d.",
    "leet, one letter": "All files will be rem0ved.",
    "leet, signs": "@ll file$ will be de|eted.",
    "small capitals": "ᴀʟʟ ꜰɪʟᴇꜱ ᴡɪʟʟ ʙᴇ ʀᴇᴍᴏᴠᴇᴅ.",
    "wide letters": "Ａｌｌ　ｆｉｌｅｓ　ｗｉｌｌ　ｂｅ　ｄｅｌｅｔｅｄ．",
    "bold mathematics": "𝐀𝐥𝐥 𝐟𝐢𝐥𝐞𝐬 𝐰𝐢𝐥𝐥 𝐛𝐞 𝐝𝐞𝐥𝐞𝐭𝐞𝐝.",
    "script mathematics": "𝓐𝓵𝓵 𝓯𝓲𝓵𝓮𝓼 𝔀𝓲𝓵𝓵 𝓫𝓮 𝓭𝓮𝓵𝓮𝓽𝓮𝓭.",
    "letters in circles": "Ⓐⓛⓛ ⓕⓘⓛⓔⓢ ⓦⓘⓛⓛ ⓑⓔ ⓓⓔⓛⓔⓣⓔⓓ",
    "regional letters": "All files will be 🇩 🇪 🇱 🇪 🇹 🇪 🇩",
    "letters apart": "All files will be d e l e t e d.",
    "letters apart by dots": "All files will be d.e.l.e.t.e.d",
    "letters apart by rules": "All files will be r-e-m-o-v-e-d",
    "letters far apart": "A l l   f i l e s   w i l l   b e   r e m o v e d",
    "letters apart by underlines": "All files will be w_i_p_e_d",
    "no width between letters": "All files will be de\u200bl\u200be\u200bted.",
    "word joiners": "All files will be re\u2060mo\u2060ved.",
    "soft hyphens": "All files will be re\u00admo\u00adved.",
    "combining marks": "All files will be d\u0336e\u0336l\u0336e\u0336t\u0336e\u0336d\u0336.",
    "an accent too many": "All files will be dëlétèd.",
    "written backwards": "All files will be \u202edeteled\u202c.",
    "upside down": "pǝʇǝlǝp ǝq llᴉʍ sǝlᴉɟ ll∀",
    "a row's end in the word": "All files will be dele\nted.",
    "a hyphen at a row's end": "All files will be re-\nmoved.",
    "a word down the rows": "w\ni\np\ne\ns\n/home",
    "a wrapped word": "x" * 70 + " will be deleted.",
    "capitals in between": "All files will be dElEtEd.",
    "doubled letters": "All files will be ddeelleetteedd.",
    "a letter too few": "All files will be delted.",
    "two letters exchanged": "All files will be deltede.",
    "braille": "⠠⠁⠇⠇ ⠋⠊⠇⠑⠎ ⠺⠊⠇⠇ ⠃⠑ ⠙⠑⠇⠑⠞⠑⠙",
    "pictures alone": "💣 🗑️ /home",
    "no letters": "/home/* → /dev/null",
    "hexadecimal": "726d202d7266202f686f6d65 is run next.",
    "words drawn over each other": "All files will be kept.\rAll files will be wiped.",
    "concealed": "All files will be \033[8mdeleted\033[0m.",
    "black on black": "\033[30;40mAll files will be deleted.\033[0m",
}


def _disguised() -> Iterator[Scene]:
    asks = (ANY_KEY, YES_NO, ENTER)
    for number, (name, text) in enumerate(DISGUISES.items()):
        yield asked(name, f"{text}\n", asks[number % 3])


FAMILIES = {"disguised words": list(_disguised())}
