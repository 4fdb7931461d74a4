"""Exit codes, and the promise that no user sees a traceback for a mistake of their own."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from verify.campaign.pool import InternalError
from verify.cli.config import UsageError
from verify.cli.selftest import SelfTestError, check_metric
from verify.subjects.load import SubjectError

CLEAN, FOUND, USAGE, INTERNAL, NOTHING_JUDGED, INTERRUPTED = 0, 1, 2, 3, 5, 130


def say(text: str) -> None:
    """Print a line of the result; when the reader has left (`| head`), go on without one."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def guarded(command: Callable[[], int]) -> int:
    """Run a command's body, once the suite's own metric has been tested; return the documented exit code.

    What the body raises becomes one line on stderr.
    """
    if sys.stderr is None:  # closed by the caller (`2>&-`); print would fall back to stdout
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        check_metric()
        return command()
    except (UsageError, SubjectError) as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("interrupted before anything was judged", file=sys.stderr)
        return INTERRUPTED
    except (SelfTestError, InternalError) as error:
        lead, tail = (
            ("self-test failed: ", "; ") if isinstance(error, SelfTestError) else ("", "\ninternal error: ")
        )
        print(f"{lead}{error}{tail}nothing can be concluded about the kernel", file=sys.stderr)
        return INTERNAL
    except BrokenPipeError:
        # Nobody reads stderr any more; the exit code still must not claim a verdict.
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        print(
            "internal error: nothing can be concluded about the kernel; please report this", file=sys.stderr
        )
        return INTERNAL
