"""The embedding cache: no text is embedded twice, no vector in use is deleted."""

from __future__ import annotations

import numpy as np
import pytest

from memd.index.cache import (
    RefusedChunk,
    SpaceKey,
    active_space,
    count_missing,
    count_missing_characters,
    count_vectors,
    find_dims,
    forget_refused,
    forget_space,
    load_refused,
    missing_hashes,
    refuse_texts,
    replace_vectors,
    trim,
)
from memd.index.database import transaction
from memd.index.files import forget_file
from memd.index.meta import find_recipe, note_space, used_times
from memd_client.errors import DimensionsChangedError, ProviderFailedError
from tests.support.indexes import (
    SPACE,
    activate,
    find_inconsistencies,
    hash_of,
    new_index,
    publish,
    store,
    unit,
    vectors_for,
)

OTHER = SpaceKey("openai", "large", "space-b")
TWO = unit([[1.0, 0.0], [0.0, 1.0]])


def test_missing_texts_are_listed_once_newest_file_first() -> None:
    db = new_index()
    publish(db, "memory/old.md", ["shared", "old"], mtime_ns=1)
    publish(db, "memory/new.md", ["new one", "shared", "new two"], mtime_ns=2)
    missing = [text for _, text in missing_hashes(db, SPACE.id, 10)]
    assert missing == ["new one", "shared", "new two", "old"]
    assert [text for _, text in missing_hashes(db, SPACE.id, 2)] == ["new one", "shared"]
    assert count_missing(db, SPACE.id) == 4
    store(db, ["shared", "old"], TWO)
    assert [text for _, text in missing_hashes(db, SPACE.id, 10)] == ["new one", "new two"]
    assert count_missing(db, SPACE.id) == 2
    assert count_missing(db, OTHER.id) == 4


def test_stored_vectors_are_loaded_bit_for_bit() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    rows = unit(np.random.default_rng(1).standard_normal((2, 384)))
    ids = store(db, ["one", "two"], rows)
    found, matrix = vectors_for(db, SPACE.id, [ids[1], ids[0], 999])
    assert found == sorted(ids)
    assert np.array_equal(matrix, rows)
    assert vectors_for(db, OTHER.id, ids)[0] == []


def test_vector_of_a_deleted_text_is_stored_without_an_id() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one"])
    ids = store(db, ["one", "gone meanwhile"], TWO)
    assert ids[0] > 0
    assert ids[1] == 0
    assert count_vectors(db, SPACE.id) == 1
    assert publish(db, "memory/b.md", ["gone meanwhile"]).added_vectors != ()
    assert find_inconsistencies(db) == []


def test_stored_vector_of_a_text_is_not_replaced() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one"])
    first = store(db, ["one"], TWO[:1])
    assert store(db, ["one"], TWO[1:]) == first
    assert np.array_equal(vectors_for(db, SPACE.id, first)[1], TWO[:1])
    assert find_inconsistencies(db) == []


def test_first_stored_space_becomes_active_and_a_second_does_not() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    assert active_space(db) is None
    store(db, ["one"], TWO[:1])
    store(db, ["one", "two"], TWO, OTHER)
    active = active_space(db)
    assert active is not None
    assert (active.id, active.dims) == (SPACE.id, 2)
    activate(db, 2, OTHER)
    assert find_inconsistencies(db) != [] or count_vectors(db, OTHER.id) == 2
    assert count_vectors(db, SPACE.id) == 1


def test_switching_back_to_a_space_finds_its_vectors() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    store(db, ["one", "two"], TWO)
    store(db, ["one", "two"], TWO, OTHER)
    activate(db, 2, OTHER)
    activate(db, 2, SPACE)
    assert count_missing(db, SPACE.id) == 0


def test_vectors_of_other_dimensions_are_refused_naming_both() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    store(db, ["one"], TWO[:1])
    with pytest.raises(DimensionsChangedError, match=r"3 dimensions.*has 2"):
        store(db, ["two"], unit([[1.0, 0.0, 0.0]]))
    assert find_dims(db, SPACE.id) == 2


@pytest.mark.parametrize("row", [[0.0, 0.0], [np.nan, 0.0], [3.0, 4.0], [np.inf, 0.0]])
def test_vectors_without_unit_length_are_refused(row: list[float]) -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one"])
    with pytest.raises(ProviderFailedError, match="unit length"):
        store(db, ["one"], np.array([row], np.float32))
    with pytest.raises(ProviderFailedError, match="shape"):
        store(db, ["one"], TWO)
    assert count_missing(db, SPACE.id) == 1


def test_trimming_deletes_the_oldest_unused_vectors_only() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["used"])
    store(db, ["used"], TWO[:1])
    texts = [f"unused {number}" for number in range(300)]
    store(db, texts, np.repeat(TWO[:1], 300, axis=0))
    with transaction(db):
        assert trim(db, None) == 0
        assert trim(db, None, max_unused_bytes=256 * 2 * 4) == 300 - 256
    assert db.execute("SELECT 1 FROM embedding_cache WHERE hash = ?", (hash_of("unused 0"),)).get is None
    with transaction(db):
        assert trim(db, 10) == 256 - 9
        assert trim(db, 0) == 9
        assert trim(db, 0) == 0
    assert count_vectors(db, SPACE.id) == 1
    assert find_inconsistencies(db) == []


def test_trimming_treats_vectors_of_inactive_spaces_as_unused() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    store(db, ["one", "two"], TWO)
    store(db, ["one", "two"], TWO, OTHER)
    with transaction(db):
        assert trim(db, 0, spaces=[SPACE.id, OTHER.id]) == 0
        assert trim(db, 3, spaces=[OTHER.id]) == 1
        assert trim(db, None, max_unused_bytes=0, spaces=[OTHER.id]) == 1
    assert count_missing(db, SPACE.id) == 2
    assert count_missing(db, OTHER.id) == 0


def test_trimming_keeps_the_most_recently_used_space() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one"])
    third = SpaceKey("mistral", "embed", "space-c")
    for space in (SPACE, OTHER, third):
        store(db, ["one"], TWO[:1], space)
    with transaction(db):
        note_space(db, SPACE.id, {"provider": "local"}, 50)
        note_space(db, OTHER.id, {"provider": "openai"}, 20)
        assert trim(db, 2, spaces=[third.id]) == 1
    assert count_missing(db, SPACE.id) == 0
    assert count_missing(db, OTHER.id) == 1


def test_recipe_of_a_space_is_kept_while_it_has_vectors() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one"])
    store(db, ["one"], TWO[:1])
    assert find_recipe(db, SPACE.id) == {"provider": SPACE.provider, "model": SPACE.model}
    recipe = {"provider": "local", "model": "/models/tiny.gguf"}
    with transaction(db):
        note_space(db, SPACE.id, recipe, 1)
        note_space(db, OTHER.id, {"provider": "openai", "model": "large"}, 2)
    assert find_recipe(db, SPACE.id) == recipe
    with transaction(db):
        note_space(db, SPACE.id, recipe, 3)
    assert used_times(db) == {SPACE.id: 3}
    assert find_recipe(db, OTHER.id) is None


def test_replaced_vectors_supersede_the_old_ones() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    old = store(db, ["one", "two"], TWO)
    with transaction(db):
        assert count_missing(db, SPACE.id, renew_to_id=0) == 0
        assert count_missing(db, SPACE.id, renew_to_id=max(old)) == 2
        ids, gone = replace_vectors(db, SPACE, [hash_of("one")], TWO[1:], 9)
    assert gone == old[:1]
    assert ids[0] > max(old)
    assert [text for _, text in missing_hashes(db, SPACE.id, 9, renew_to_id=max(old))] == ["two"]
    assert np.array_equal(vectors_for(db, SPACE.id, ids)[1], TWO[1:])
    assert find_inconsistencies(db) == []


def test_replacing_with_other_dimensions_is_refused_while_old_vectors_remain() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    store(db, ["one", "two"], TWO)
    longer = unit([[1.0, 0.0, 0.0]])
    with pytest.raises(DimensionsChangedError), transaction(db):
        replace_vectors(db, SPACE, [hash_of("one")], longer, 9)
    assert count_missing(db, SPACE.id) == 0


def test_refused_text_is_listed_and_not_missing_until_forgotten() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["fine", "odd"])
    with transaction(db):
        refuse_texts(db, SPACE.id, {hash_of("odd"): "too odd", hash_of("nowhere"): "gone"}, 1)
    assert [text for _, text in missing_hashes(db, SPACE.id, 9)] == ["fine"]
    assert count_missing(db, SPACE.id) == 1
    assert count_missing(db, OTHER.id) == 2
    assert count_missing_characters(db, SPACE.id) == len("fine")
    assert load_refused(db, SPACE.id, 9) == [RefusedChunk("memory/a.md", 2, 2, "too odd")]
    with transaction(db):
        forget_refused(db, SPACE.id)
    assert count_missing(db, SPACE.id) == 2
    assert load_refused(db, SPACE.id, 9) == []


def test_excluded_texts_are_not_missing() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two", "three"])
    without = {hash_of("one"), hash_of("three")}
    assert [text for _, text in missing_hashes(db, SPACE.id, 1, without=without)] == ["two"]


def test_renamed_file_keeps_its_vectors() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    store(db, ["one", "two"], TWO)
    with transaction(db):
        forget_file(db, "memory/a.md")
    publish(db, "memory/b.md", ["one", "two"])
    assert count_missing(db, SPACE.id) == 0
    assert find_inconsistencies(db) == []


def test_texts_of_a_forgotten_space_are_missing_again() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    old = store(db, ["one", "two"], TWO)
    with transaction(db):
        assert forget_space(db, SPACE.id) == 2
    assert count_missing(db, SPACE.id) == 2
    new = store(db, ["one", "two"], unit([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]))
    assert min(new) > max(old)
    assert find_inconsistencies(db) == []
