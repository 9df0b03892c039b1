"""Tables to profile: random ones with NULLs and ties, and people with everything that identifies them."""

from __future__ import annotations

import datetime
import random

HOSTILE = ('na"me', "select", "Ünï ☃", "ppdm", "order")
TYPES = ("INTEGER", "TEXT", "DOUBLE", "DATE", "BOOLEAN")
FIRST = ("Anna", "Bela", "Carla", "David", "Eva", "Felix", "Greta", "Hugo", "Ida", "Jonas")
LAST = ("Abel", "Berg", "Celik", "Dorn", "Ebner", "Falk", "Gruber", "Haas", "Ivanov", "Jung")


def random_rows(seed: int, rows: int = 60) -> list[tuple]:
    """Five columns: whole numbers, texts of all kinds, doubles, dates, booleans; some NULL, the second decides a third."""
    draw = random.Random(seed)
    texts = ["a", "A", "é", "e\u0301", "", "o'brien", "x;y", None]
    found = []
    for _ in range(rows):
        number = draw.choice([None, *range(draw.choice([3, 40]))])
        found.append((
            number, draw.choice(texts), draw.choice([None, 0.5, 1.25, -3.0]),
            None if number is None else datetime.date(2000, 1, 1) + datetime.timedelta(days=number // 2),
            draw.choice([True, False, None]),
        ))  # fmt: skip
    return found


def people(rows: int = 300, seed: int = 5) -> tuple[dict[str, str], list[tuple]]:
    """People with names, e-mails, phones, birth dates, postcodes, addresses and free text."""
    draw = random.Random(seed)
    columns = {
        "patient_id": "INTEGER", "full_name": "TEXT", "contact": "TEXT", "reachable": "TEXT", "born": "DATE",
        "postcode": "TEXT", "sex": "TEXT", "note": "TEXT", "lives": "TEXT", "smoker": "BOOLEAN", "site": "TEXT",
        "diagnosis": "TEXT",
    }  # fmt: skip
    found = []
    for number in range(rows):
        first, last = draw.choice(FIRST), draw.choice(LAST)
        found.append((
            10_000 + 7 * number, f"{first} {last}", f"{first}.{last}{number}@mail.example".lower(),
            f"+49 {draw.randrange(100, 999)} {draw.randrange(10**6, 10**7)}",
            datetime.date(1930, 1, 1) + datetime.timedelta(days=draw.randrange(28_000)),
            f"{draw.choice((10, 20, 81))}{draw.randrange(1000):03d}", draw.choice(("f", "m")),
            f"{first} came with pain in the {draw.choice(('knee', 'back', 'head'))} on day {number}",
            f"{draw.choice(('Lindenweg', 'Marktstrasse', 'Am Hang'))} {draw.randrange(1, 200)}",
            draw.random() < 0.3, "north", draw.choice(("flu", "asthma", "fracture", "diabetes")),
        ))  # fmt: skip
    return columns, found


def identified(rows: int = 400, seed: int = 11) -> tuple[dict[str, str], list[tuple]]:
    """What a look at single values misses: few different names, other spellings, ids as doubles."""
    draw = random.Random(seed)
    columns = {
        "first_name": "TEXT", "surname": "TEXT", "upper_name": "TEXT", "spouse": "TEXT", "family_doctor": "TEXT",
        "remarks": "TEXT", "half_mail": "TEXT", "token": "TEXT", "place": "DOUBLE", "ref": "DECIMAL(12, 0)",
        "phone_type": "TEXT", "paid": "DOUBLE", "sex": "TEXT",
    }  # fmt: skip
    found = []
    for number in range(rows):
        first, last = draw.choice(FIRST), draw.choice(LAST)
        found.append((
            first, last, f"{last}, {first}".upper(), f"{draw.choice(FIRST)} {last}", f"Dr. {draw.choice(LAST)}",
            draw.choice(("ok", "call back")) + str(draw.randrange(100)), f"{number}@mail.example" if number % 2 else "",
            f"{draw.getrandbits(80):020x}", float(number), 100_000 + 211 * number, draw.choice(("home", "work")),
            round(draw.uniform(1000, 9000), 2), draw.choice("fm"),
        ))  # fmt: skip
    return columns, found
