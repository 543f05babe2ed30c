"""Reports failures of pytest as JSON lines, with the exact position of every frame.

Loaded with `-p outrigger_pytest`; writes to the file named by OUTRIGGER_PYTEST_OUT and to nothing else. Columns are UTF-8
bytes from 0, ends exclusive, as `co_positions()` has them (Python 3.11 and later); before that there are lines only.
"""

import json
import os

import pytest

_stream = None


def _write(**record):
    if _stream is not None:
        _stream.write(json.dumps(record) + "\n")
        _stream.flush()


def _position(traceback):
    code = traceback.tb_frame.f_code
    line, end_line, column, end_column = traceback.tb_lineno, None, None, None
    positions = getattr(code, "co_positions", None)
    if positions is not None and traceback.tb_lasti >= 0:
        index = traceback.tb_lasti // 2
        for number, found in enumerate(positions()):
            if number == index:
                line, end_line, column, end_column = found
                break
    return {
        "file": code.co_filename,
        "line": line or traceback.tb_lineno,
        "end_line": end_line,
        "col": column,
        "end_col": end_column,
    }


def _describe(error, traceback):
    frames = []
    while traceback is not None:
        frames.append(_position(traceback))
        traceback = traceback.tb_next
    described = {"type": type(error).__name__, "message": str(error), "frames": frames}
    if isinstance(error, SyntaxError):
        described["syntax"] = {
            "file": error.filename,
            "line": error.lineno,
            "col": error.offset,
            "end_line": getattr(error, "end_lineno", None),
            "end_col": getattr(error, "end_offset", None),
        }
        described["message"] = error.msg or described["message"]
    return described


def _origin(error):
    """A collection error wraps what really happened."""
    inner = error
    while type(inner).__name__ == "CollectError" and inner.__cause__ is not None:
        inner = inner.__cause__
    return inner


def pytest_configure(config):
    global _stream
    path = os.environ.get("OUTRIGGER_PYTEST_OUT")
    # Workers of xdist have no stream of their own: the controller sees every report.
    if path and not hasattr(config, "workerinput"):
        _stream = open(path, "a", encoding="utf-8")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.outrigger = {
            "event": "fail",
            "when": report.when,
            "def_line": report.location[1],
            "file": str(getattr(item, "path", "") or item.fspath),
        }
        if call.excinfo is not None:
            report.outrigger.update(_describe(call.excinfo.value, call.excinfo.tb))
        else:
            report.outrigger.update({"type": None, "message": str(report.longrepr)})


def pytest_runtest_logreport(report):
    record = getattr(report, "outrigger", None)
    if record is not None:
        _write(nodeid=report.nodeid, **record)


def pytest_exception_interact(node, call, report):
    if getattr(report, "when", None) != "collect" or call.excinfo is None:
        return
    error = _origin(call.excinfo.value)
    traceback = call.excinfo.tb if error is call.excinfo.value else error.__traceback__
    _write(
        event="collect-exc",
        nodeid=report.nodeid,
        file=str(getattr(node, "path", "")),
        longrepr=str(report.longrepr),
        **_describe(error, traceback),
    )


def pytest_collectreport(report):
    if report.failed:
        _write(event="collect", nodeid=report.nodeid, longrepr=str(report.longrepr))


def pytest_sessionfinish(session, exitstatus):
    _write(event="finish", exit=int(exitstatus), collected=session.testscollected)
