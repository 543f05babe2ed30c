from orbit.hello import hello


def test_hello() -> None:
    assert hello("Ada") == "Grüß Gott, Ada!"
