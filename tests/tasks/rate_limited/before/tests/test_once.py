from orbit.once import words


def test_words() -> None:
    assert words("ein  漢字") == ["ein", "漢字"]
