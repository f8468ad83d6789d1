"""Makes test/vectors/wordpiece.jsonl: texts, and their pieces as Hugging Face's tokenizers cuts them.

    venv/bin/python models/scripts/pieces.py --model FOLDER
"""

import argparse
import json
from pathlib import Path

from teacher import Teacher

TEXTS = [
    "",
    " \t\r\n ",
    "The quick brown fox jumped over 13 lazy dogs.",
    "Unaffable embeddings: tokenization, aerodynamics & magnetohydrodynamic boundary-layers!",
    "HTTP/2 (RFC 9113) isn't HTTP/1.1; see [unk], ##ing and #hash.",
    "na\u00efve caf\u00e9 r\u00e9sum\u00e9 \u00c5ngstr\u00f6m \u0130stanbul \u1e9e Stra\u00dfe",
    "nai\u0308ve cafe\u0301 a\u0300\u0301\u0302b",
    "\u03a3\u0391\u03a3 \u03ac\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf\u03c2 \u1fb3 \u0416\u0443\u0440\u043d\u0430\u043b \u0451\u043b\u043a\u0430 \u0439",
    "\u683c\u5b50\u306f\u652f\u67f1\u3067\u652f\u3048\u3089\u308c\u308b\u3002\u4e2d\u6587ABC\u6c49\u5b57",
    "\u304c\u3050\uff76\uff9e \uc548\ub155\ud558\uc138\uc694 \uac00\uac01",
    "\uf900\ufa0e \U0002f800 \U00020000\u9fff\u3400",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\u201ccurly\u201d \u2018quotes\u2019 \u2014 dash\u2026 \u00abguillemets\u00bb \u00bfqu\u00e9?",
    "a\u00adb c\u200bd e\u200df g\ufeffh i\u0000j k\u0007l m\u007fn \ufffd o\ue000p",
    "a\u00a0b\u2003c\u2028d\u3000e\u0085f\u000bg",
    "x\u00b2 + y\u00b2 \u2264 \u221a2 \u20ac5 \u00b15\u00b0C \u00bd \u2122 \u00a9",
    "\U0001f600 \U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469 flag \U0001f1e9\U0001f1ea",
    "\uff21\uff22\uff23\uff11\uff12 \ufb01ne \u2460 \u0041\u030a",
    "a" * 100,
    "a" * 101,
    "\u00e9" * 100 + " " + "\u00e9" * 101,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "don\u2019t_stop--me now... e.g. U.S.A. 3.14159 1,000,000 $5",
    "\u1100\u1161\u11a8 \ua789 \u0387 \u1fef \u037e \u2e2f \u3192",
]


def main():
    """Writes the vectors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    out = Path(__file__).parents[2] / "test/vectors/wordpiece.jsonl"
    tokenizer = Teacher(parser.parse_args().model).whole
    with out.open("w", encoding="utf-8") as file:
        for text in TEXTS:
            tokens = tokenizer.encode(text, add_special_tokens=False).tokens
            file.write(json.dumps({"text": text, "pieces": tokens}) + "\n")


if __name__ == "__main__":
    main()
