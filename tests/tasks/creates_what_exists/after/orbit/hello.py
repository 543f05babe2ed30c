"""Words of welcome."""


def hello(name: str) -> str:
    return f"Grüß Gott, {name}!"


def goodbye(name: str) -> str:
    return f"Pfiat di, {name}!"
