"""What a reader of a round refuses, by the name of the file, before anything is opened; what a ledger refuses."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rounds import PEOPLE, Hospitals, keys_of, open_people, random_hospitals

from ppdm_sql.errors import PolicyError, PpdmError, RequirementBreached, Tampered
from ppdm_sql.sharing.private import files as written
from ppdm_sql.sharing.private import folder as files
from ppdm_sql.sharing.private import mixers
from ppdm_sql.sharing.private.codebook import check_codebook, codebook_from_dict, own_site, read_codebook
from ppdm_sql.sharing.private.keys import new_keys, read_private, read_public, write_keys
from ppdm_sql.sharing.private.ledger import last_report, note_report
from ppdm_sql.sharing.private.message import EVERYBODY, MASKED, Message, encode
from ppdm_sql.sharing.private.vector import count_vector


@pytest.fixture(scope="module", params=["masks", "mixers"])
def hospitals(request) -> Hospitals:
    found, _ = random_hospitals(11, request.param, 3)
    found.union.close()
    return found


@pytest.fixture
def shared(hospitals, tmp_path) -> Path:
    hospitals.report(tmp_path)
    return tmp_path


def open_it(hospitals: Hospitals, folder: Path) -> np.ndarray:
    hospitals.mix(folder)
    return files.open_total(hospitals.codebook, folder, hospitals.codebook.length)


def file_of(hospitals: Hospitals, folder: Path, site: str) -> Path:
    """A file of a site, as its first reader gets it."""
    return next(iter(sorted(folder.glob(f"{site}.counts.*"))))


def rewrite(hospitals: Hospitals, path: Path, change: Callable[[bytes], bytes]) -> None:
    """Changes the message in a file, sealed or not."""
    if hospitals.codebook.mode == "masks":
        path.write_bytes(change(path.read_bytes()))
        return
    receiver = next(one for one in hospitals.codebook.mixers if f".for-{one.name}." in path.name)
    content = mixers.unseal(path.read_bytes(), path.name, keys_of(receiver.name))
    path.write_bytes(mixers.seal(change(content), receiver))


def test_all_files_add_up(hospitals, shared):
    total = open_it(hospitals, shared)
    assert files.checked_grid(hospitals.codebook, total)[:, 0].sum() == sum(
        row[-1] in hospitals.codebook.classes for rows in hospitals.rows.values() for row in rows
    )


def test_a_missing_site_is_named_and_may_come_later(hospitals, shared):
    for path in shared.glob("harbour.*"):
        path.unlink()
    with pytest.raises(PpdmError, match="no message from harbour") as refused:
        open_it(hospitals, shared)
    assert refused.value.exit_code == 3
    hospitals.report(shared, ["harbour"])
    open_it(hospitals, shared)


def test_two_files_of_one_site_are_refused(hospitals, shared):
    path = file_of(hospitals, shared, "hill")
    (shared / f"copy-of-{path.name}").write_bytes(path.read_bytes())
    with pytest.raises(PolicyError, match=r"copy-of-hill.*hill.* are both from hill"):
        open_it(hospitals, shared)


def test_a_file_of_another_round_is_refused(hospitals, shared):
    path = file_of(hospitals, shared, "hill")
    other = replace(hospitals, codebook=replace(hospitals.codebook, round="r0"))
    other.report(shared, ["hill"])
    with pytest.raises(PolicyError, match=f"{path.name} is of another round than r1"):
        open_it(hospitals, shared)


def test_a_file_of_another_codebook_is_refused(hospitals, shared):
    other = replace(hospitals, codebook=replace(hospitals.codebook, k=77))
    other.report(shared, ["hill"])
    with pytest.raises(PolicyError, match=r"hill\.counts.* was made with another codebook"):
        open_it(hospitals, shared)


def test_a_site_that_is_not_in_the_codebook_is_refused(hospitals, shared):
    path = file_of(hospitals, shared, "hill")
    rewrite(hospitals, path, lambda content: content.replace(b'"sender": "hill"', b'"sender": "hell"'))
    with pytest.raises(PolicyError, match=f"{path.name} is from a site that is not in the codebook"):
        open_it(hospitals, shared)
    with pytest.raises(PolicyError, match="lake is not a site"):
        files.write_vector(hospitals.vector("hill"), hospitals.codebook, keys_of("lake"), shared)


def test_a_message_of_another_site_under_a_name_is_refused(hospitals, shared):
    """hill says that it is harbour: harbour's signature does not fit."""
    path = file_of(hospitals, shared, "hill")
    rewrite(hospitals, path, lambda content: content.replace(b'"sender": "hill"', b'"sender": "harbour"'))
    with pytest.raises(Tampered, match=f"{path.name}: the signature of harbour does not fit"):
        open_it(hospitals, shared)


def test_a_wrong_signature_is_refused(hospitals, shared):
    path = file_of(hospitals, shared, "hill")
    rewrite(hospitals, path, lambda content: content[:-64] + os.urandom(64))
    with pytest.raises(Tampered, match=f"{path.name}: the signature of hill does not fit"):
        open_it(hospitals, shared)


@pytest.mark.parametrize("left", [0, 10, 30, 400, -8, -1])
def test_a_truncated_file_is_refused(hospitals, shared, left):
    path = file_of(hospitals, shared, "hill")
    rewrite(hospitals, path, lambda content: content[:left])
    with pytest.raises(PolicyError if left != -1 else PpdmError, match=path.name):
        open_it(hospitals, shared)


def test_a_file_with_bytes_too_many_is_refused(hospitals, shared):
    path = file_of(hospitals, shared, "hill")
    rewrite(hospitals, path, lambda content: content + b"12345678")
    with pytest.raises(PolicyError, match=f"{path.name}: .* truncated or too long"):
        open_it(hospitals, shared)


def test_every_flipped_bit_is_noticed(hospitals, shared):
    path = file_of(hospitals, shared, "hill")
    whole = path.read_bytes()
    draw = random.Random(3)
    for _ in range(60):
        at, bit = draw.randrange(len(whole)), 1 << draw.randrange(8)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        with pytest.raises(PpdmError, match=path.name.replace(".", r"\.")):
            open_it(hospitals, shared)


def test_a_message_about_something_else_is_refused(hospitals, shared):
    path = file_of(hospitals, shared, "hill")
    book = hospitals.codebook
    if book.mode == "masks":
        message = Message(MASKED, "test", "hill", EVERYBODY, np.zeros(book.length, dtype=np.uint64))
        path.write_bytes(encode(message, book, keys_of("hill")))
        told = "is not its masked message of counts"
    else:
        mixed = sorted(shared.glob("hill.counts.for-*"))
        content = mixers.unseal(mixed[1].read_bytes(), "", keys_of(book.mixers[1].name))
        path.write_bytes(mixers.seal(content, book.mixers[0]))
        told = f"is for another receiver than {book.mixers[0].name}"
    with pytest.raises(PolicyError, match=told):
        open_it(hospitals, shared)


def test_a_vector_of_another_length_is_refused(hospitals, shared):
    book = hospitals.codebook
    files.write_vector(np.zeros(book.length + 1, dtype=np.uint64), book, keys_of("hill"), shared)
    with pytest.raises(PolicyError, match=r"hill says .* numbers, .* expected"):
        open_it(hospitals, shared)


def test_a_site_that_used_another_key_makes_the_sum_no_counts(tmp_path):
    """Its signature fits, its masks do not: the sum is random, and that is noticed."""
    hospitals, _ = random_hospitals(11, "masks", 3)
    hospitals.union.close()
    hospitals.report(tmp_path)
    strange = replace(new_keys("hill"), sign=keys_of("hill").sign)
    numbers = files.masks.add_masks(hospitals.vector("hill"), hospitals.codebook, strange, "counts")
    message = Message(MASKED, "counts", "hill", EVERYBODY, numbers)
    (tmp_path / "hill.counts.masked.ppdm").write_bytes(encode(message, hospitals.codebook, keys_of("hill")))
    total = files.open_total(hospitals.codebook, tmp_path, hospitals.codebook.length)
    with pytest.raises(PpdmError, match="do not add up to counts"):
        files.checked_grid(hospitals.codebook, total)


def test_halves_of_two_splittings_are_not_added_up(tmp_path):
    """A replayed half: the site has written again, and one mixer still has the old one."""
    hospitals, _ = random_hospitals(11, "mixers", 3)
    hospitals.union.close()
    hospitals.report(tmp_path)
    old = (tmp_path / "hill.counts.for-mixer-0.age").read_bytes()
    hospitals.report(tmp_path, ["hill"])
    (tmp_path / "hill.counts.for-mixer-0.age").write_bytes(old)
    with pytest.raises(PolicyError, match="halves of hill that do not belong together"):
        open_it(hospitals, tmp_path)


def test_a_missing_mixer_is_named(tmp_path):
    hospitals, _ = random_hospitals(11, "mixers", 3)
    hospitals.union.close()
    hospitals.report(tmp_path)
    hospitals.mix(tmp_path)
    (tmp_path / "mixer-1.counts.sum.ppdm").unlink()
    with pytest.raises(PpdmError, match="no message from mixer-1"):
        files.open_total(hospitals.codebook, tmp_path, hospitals.codebook.length)


def test_a_killed_writer_leaves_no_half_file(hospitals, shared, monkeypatch):
    path = file_of(hospitals, shared, "hill")
    before = path.read_bytes()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(written.os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        hospitals.report(shared, ["hill"])
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert not [one for one in shared.iterdir() if one.name.startswith(".")]
    (shared / ".ppdm-unfinished-00").write_bytes(before[:50])  # what a kill without any warning leaves
    open_it(hospitals, shared)


# -- answers -----------------------------------------------------------------------------------------------


def test_every_site_must_agree_to_this_total(hospitals, shared):
    total = open_it(hospitals, shared)
    book = hospitals.codebook
    for name in ("east", "harbour"):
        files.write_answer(book, keys_of(name), shared, total, agrees=True)
    with pytest.raises(PpdmError, match="no message from hill"):
        files.read_answers(book, shared, total)
    files.write_answer(book, keys_of("hill"), shared, total + np.uint64(1), agrees=True)
    with pytest.raises(PolicyError, match="hill answered to another total"):
        files.read_answers(book, shared, total)
    files.write_answer(book, keys_of("hill"), shared, total, agrees=False)
    assert [one.site for one in files.read_answers(book, shared, total) if not one.agrees] == ["hill"]


# -- codebooks and keys ------------------------------------------------------------------------------------


def test_codebooks_that_break_a_rule_are_refused():
    hospitals, _ = random_hospitals(11, "masks", 3)
    hospitals.union.close()
    book = hospitals.codebook
    for changed, told in [
        (replace(book, sites=book.sites[:2]), "needs 3 to 1000 sites: of fewer each would know"),
        (replace(book, mode="mixers"), "mode mixers needs 2 mixers, not 0"),
        (replace(book, mode="mixers", mixers=(keys_of("a").public, keys_of("hill").public)), "twice"),
        (replace(book, sites=(*book.sites, book.sites[0])), "twice"),
        (replace(book, sites=book.sites[::-1]), "in the order of their names"),
    ]:
        with pytest.raises(PolicyError, match=told):
            check_codebook(changed)
    content = book.to_dict()
    for key, value, told in [
        ("round", "../r1", "round"), ("k", 0, "less than 1"), ("mode", "hope", "must be one of"), ("extra", 1, "entry"),
        ("attributes", [], "fewer than 1"), ("format", "ppdm codebook 9", "must be one of"),
    ]:  # fmt: skip
        with pytest.raises(PolicyError, match=told):
            codebook_from_dict({**content, key: value})


def test_a_codebook_file_is_read_as_it_was_written(tmp_path):
    hospitals, _ = random_hospitals(11, "mixers", 3)
    hospitals.union.close()
    (tmp_path / "round.json").write_text(hospitals.codebook.to_text())
    found = read_codebook(tmp_path / "round.json")
    assert found == hospitals.codebook
    assert found.sha256 == hospitals.codebook.sha256
    assert replace(found, k=9).sha256 != found.sha256


def test_keys_are_made_once_and_are_private(tmp_path):
    private, public = write_keys(new_keys("north"), tmp_path / "keys")
    assert private.stat().st_mode & 0o077 == 0
    assert read_private(private).public == read_public(public)
    assert read_private(private).sign.hex() not in repr(read_private(private))
    with pytest.raises(PolicyError, match="already exists"):
        write_keys(new_keys("north"), tmp_path / "keys")
    with pytest.raises(PolicyError, match="is not a private key"):
        read_private(public)
    for name in ("", "North", "../x", "a b", "x" * 41):
        with pytest.raises(PolicyError, match="small letters"):
            new_keys(name)


def test_a_key_that_the_codebook_does_not_list_is_refused():
    hospitals, _ = random_hospitals(11, "masks", 3)
    hospitals.union.close()
    with pytest.raises(PolicyError, match="lists another key of hill"):
        own_site(hospitals.codebook, "hill", new_keys("hill").public)


def test_a_missing_package_is_named(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *rest):
        if name.startswith(("pyrage", "cryptography")):
            raise ImportError(name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(PolicyError, match=r"package pyrage is not installed: install ppdm-sql\[private\]"):
        new_keys("north")


def test_a_folder_without_permission_or_that_is_not_there_is_named(tmp_path):
    hospitals, _ = random_hospitals(11, "masks", 3)
    hospitals.union.close()
    with pytest.raises(PolicyError, match="nowhere: no such file"):
        files.open_total(hospitals.codebook, tmp_path / "nowhere", hospitals.codebook.length)
    (tmp_path / "file").write_text("")
    with pytest.raises(PolicyError, match="not a directory|file exists"):
        files.write_vector(hospitals.vector("hill"), hospitals.codebook, keys_of("hill"), tmp_path / "file" / "x")


# -- what is counted ---------------------------------------------------------------------------------------


def test_a_value_that_is_not_in_the_codebook_is_refused_or_counted_as_other():
    hospitals, _ = random_hospitals(11, "masks", 3)
    hospitals.union.close()
    book, rows = hospitals.codebook, hospitals.rows["east"]
    strange = [(*rows[0][:1], "never agreed on", *rows[0][2:-1], book.classes[0])]
    with open_people([*rows, *strange]) as engine, engine.workspace():
        attributes = tuple(replace(one, other=False) for one in book.attributes)
        with pytest.raises(
            PolicyError, match=r'o"brien; --" has a value that the codebook does not list in 1 rows'
        ) as refused:
            count_vector(engine, PEOPLE, replace(book, attributes=attributes))
        assert "never agreed on" not in str(refused.value)
        allowed = tuple(replace(one, other=not one.attribute.ordered) for one in book.attributes)
        count_vector(engine, PEOPLE, replace(book, attributes=allowed))
        with pytest.raises(PolicyError, match='"class" has a class that the codebook does not list'):
            count_vector(engine, PEOPLE, replace(book, classes=book.classes[1:]))
        never = tuple(replace(one, nulls=False) for one in allowed)
        with pytest.raises(PolicyError, match="and the codebook says that it never is"):
            count_vector(engine, PEOPLE, replace(book, attributes=never))


# -- the ledger --------------------------------------------------------------------------------------------


def test_a_second_round_must_not_show_the_difference():
    """Other sites, or a few other rows."""
    hospitals, _ = random_hospitals(11, "masks", 5, k=5)
    hospitals.union.close()
    book, rows = hospitals.codebook, hospitals.rows["east"]
    listed = [row for row in rows if row[-1] in book.classes]

    def count(rows):
        with open_people(rows) as counting, counting.workspace():
            return count_vector(counting, PEOPLE, book)

    with open_people([]) as engine:
        note_report(engine, book, "east", count(rows))
        note_report(engine, book, "east", count(rows))  # its file was lost: the same once more
        assert last_report(engine, book, "east").rows == len(listed)
        with pytest.raises(RequirementBreached, match="has reported other counts in round r1"):
            note_report(engine, book, "east", count(listed[:-1]))
        with pytest.raises(RequirementBreached, match="with another codebook"):
            note_report(engine, replace(book, k=6), "east", count(rows))
        fewer = replace(book, round="r2", sites=book.sites[:4])
        with pytest.raises(RequirementBreached, match=r"at other sites \(north\)"):
            note_report(engine, fewer, "east", count(rows))
        later = replace(book, round="r2")
        for gone in (1, 4):
            with pytest.raises(RequirementBreached, match="fewer than k = 5 rows of east changed"):
                note_report(engine, later, "east", count(listed[:-gone]))
        note_report(engine, later, "east", count(rows))
        note_report(engine, replace(book, round="r3"), "east", count(listed[:-5]))
        others = tuple(keys_of(name).public for name in ("east", "south", "west"))
        with pytest.raises(RequirementBreached, match="fewer than k"):
            note_report(engine, replace(book, round="r4", sites=others), "east", count(listed[:-6]))
        note_report(engine, replace(book, round="r4", sites=others), "east", count(listed[:-10]))
