"""The candidate's process: begun, asked, given a limit, ended, and begun again after a crash."""

import multiprocessing
import os
import signal
import subprocess
import sys
import traceback
import warnings
from multiprocessing.connection import Connection, Pipe

from danaus.judging.calling import REFUSALS, Caller, Wrong, seeded


class Reply:
    """What came of asking. status: ok; refused, by NotImplementedError or ValueError; or a fault: wrong (check says of
    what), raised, hung, crashed."""

    def __init__(self, status, text="", check=None, **answer):
        self.status, self.text, self.check, self.answer = status, text, check, answer

    @property
    def ok(self):
        return self.status == "ok"

    @property
    def is_fault(self):
        return self.status not in ("ok", "refused")

    def __getitem__(self, name):
        return self.answer[name]


class Process:
    """A process that has the candidate and answers one question at a time.

    A callable is in a copy of this process by fork, so that it may be a lambda. A candidate that is named,
    "file.py:name" or "module:name", is imported by an interpreter of its own.
    """

    MOST_ENDS = 6  # crashes and hangs after which nothing more is asked

    def __init__(self, candidate, gradient, arrays, device, limit_s):
        self.asked = (candidate, gradient, arrays, device)
        self.gradient, self.limit_s, self.ends, self.pid = gradient, limit_s, 0, None
        if not isinstance(candidate, str) and str(device).startswith("cuda") and _cuda_is_initialised():
            raise ValueError("judge: CUDA is in use in this process, which cannot be copied then; name the candidate, "
                             "as in \"file.py:name\"")

    def ask(self, action, extra_s=0.0, **arguments):
        if self.ends >= self.MOST_ENDS:
            return Reply("crashed", "not asked: it crashed or hung too often before")
        if self.pid is None:
            ready = self._begin()
            if not ready.ok:
                return ready
        try:
            self.pipe.send((action, arguments))
        except (BrokenPipeError, ConnectionError, EOFError):
            return self._ended()
        return self._answer(self.limit_s + extra_s)

    def _answer(self, limit_s):
        try:
            if not self.pipe.poll(limit_s):
                self.ends += 1
                self.close()
                return Reply("hung", f"no result after {limit_s:g} s", "hangs")
            status, text, check, answer = self.pipe.recv()
            return Reply(status, text, check, **answer)
        except (EOFError, ConnectionError):
            return self._ended()

    def _ended(self):
        self.ends += 1
        status = self._wait()
        self.pid = None
        self.pipe.close()
        if status < 0:
            word = f"signal {signal.Signals(-status).name}"
        else:
            word = f"exit code {status}"
        return Reply("crashed", f"its process ended with {word}", "crashes")

    def _begin(self):
        candidate = self.asked[0]
        if isinstance(candidate, str):
            here, there = Pipe()
            self.pipe = here
            command = [sys.executable, "-c", "from danaus.judging.process import main; main()", str(there.fileno())]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
            self.process = subprocess.Popen(command, pass_fds=[there.fileno()], env=environment)
            there.close()
            self.pid = self.process.pid
            self.pipe.send(self.asked)
        else:
            here, there = Pipe()
            self.pipe = here
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which the child has not
                fork = multiprocessing.get_context("fork")
                self.process = fork.Process(target=_forked, args=(there, here, self.asked), daemon=True)
                self.process.start()
            there.close()
            self.pid = self.process.pid
        return self._answer(max(60, self.limit_s))  # imports may take long

    def _wait(self):
        if isinstance(self.process, subprocess.Popen):
            return self.process.wait()
        self.process.join()
        return self.process.exitcode

    def close(self):
        if self.pid is not None:
            self.process.kill()
            self._wait()
            self.pipe.close()
            self.pid = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _cuda_is_initialised():
    torch = sys.modules.get("torch")
    return bool(torch and torch.cuda.is_available() and torch.cuda.is_initialized())


def _forked(pipe, other_end, asked):
    other_end.close()
    torch = sys.modules.get("torch")
    if torch:
        torch.set_num_threads(1)  # threads of OpenMP do not survive a fork
    serve(pipe, asked)


def main():
    """The interpreter of a named candidate; argv has the file descriptor of the pipe."""
    pipe = Connection(int(sys.argv[1]))
    serve(pipe, pipe.recv())


def serve(pipe, asked):
    os.dup2(2, 1)  # what the candidate prints is no part of a caller's output
    warnings.simplefilter("ignore")
    seeded()
    try:
        caller = Caller(*asked)
        pipe.send(("ok", "", None, {}))
    except BaseException as error:
        pipe.send(("raised", _line(error), "raises", {}))
        return
    while True:
        try:
            action, arguments = pipe.recv()
        except (EOFError, ConnectionError):
            return
        try:
            reply = ("ok", "", None, getattr(caller, action)(**arguments))
        except Wrong as error:
            reply = ("wrong", str(error), error.kind, {})
        except REFUSALS as error:
            reply = ("refused", _line(error), None, {})
        except BaseException as error:
            reply = ("raised", _line(error), "raises", {})
        pipe.send(reply)


def _line(error):
    """The type, the first line of the message and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    message = str(error).strip().splitlines()
    return f"{type(error).__name__}: {message[0] if message else ''}{place}"
