"""make.py run in a process of its own, which need not import it first."""

import os
import subprocess
import sys
import tempfile
import traceback

import rows  # noqa: F401  first: it makes plots/ importable
import make
import style  # noqa: F401  make imports it where it draws


def run(words, prepare=lambda: None):
    """What subprocess.run() returns of make.py with these words, called as a user does; before that, prepare()."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os._exit(exit_code(words, prepare))
        _, status = os.waitpid(child, 0)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(status), *said)


def exit_code(words, prepare):
    code = 1
    try:
        prepare()
        code = make.run([str(word) for word in words])
    except SystemExit as left:
        code = left.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code
