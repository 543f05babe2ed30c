from orbit.even import is_even


def test_even() -> None:
    assert is_even(2)
