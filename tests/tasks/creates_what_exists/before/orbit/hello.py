"""Words of welcome."""


def hello(name: str) -> str:
    return f"Grüß Gott, {name}!"
