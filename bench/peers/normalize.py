"""One request of POST /v1/normalize in process as Python does it: ftfy for mojibake, quotes and NFKC, emoji for the
names of emoji, confusable_homoglyphs for look-alike letters: bytes in, bytes out. Jobs and answers as in inprocess.py.
"""

import json
import re
import sys
import time

import emoji
import ftfy
from confusable_homoglyphs import confusables

WORD = re.compile(r"\w+")


def plain_letters(match):
    """The word, its letters of other scripts that look like Latin ones replaced, where it mixes both."""
    word = match.group()
    if word.isascii() or not confusables.is_dangerous(word, preferred_aliases=["latin"]):
        return word
    found = confusables.is_confusable(word, greedy=True, preferred_aliases=["latin"]) or []
    for each in found:
        latin = [to["c"] for to in each["homoglyphs"] if to["c"].isascii()]
        if latin:
            word = word.replace(each["character"], latin[0])
    return word


def gloss(characters, data):
    return f"{characters} ({data['en'].strip(':').replace('_', ' ')})"


def answer(body):
    text = json.loads(body)["text"]
    fixed = ftfy.fix_text(text, normalization="NFKC")
    plain = WORD.sub(plain_letters, fixed)
    return json.dumps({"text": text, "normalized": emoji.replace_emoji(plain, gloss)}, ensure_ascii=False)


def measure(body, seconds):
    start = time.perf_counter()
    requests = 0
    while time.perf_counter() - start < seconds:
        answer(body)
        requests += 1
    return {"requests": requests, "seconds": time.perf_counter() - start}


def main():
    for line in sys.stdin:
        job = json.loads(line)
        with open(job["body"], "rb") as file:
            body = file.read()
        print(answer(body) if job["seconds"] == 0 else json.dumps(measure(body, job["seconds"])), flush=True)


if __name__ == "__main__":
    main()
