"""``sirl report``: a policy on one page."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from sirl.cli.arguments import add_model, add_playing, free_path, stage


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "report",
        help="write one HTML page about a policy: the tree, a replay, what-if, what matters",
        description="Write one self-contained HTML file about a policy, and about the run that made it.",
        allow_abbrev=False,
    )
    add_model(parser)
    add_playing(parser, 100, "unseen episodes to score it on")
    parser.add_argument("--replays", type=int, default=2, metavar="N", help="episodes to watch [2]")
    parser.add_argument("--quick", action="store_true", help="do not play variants to explain the policy")
    parser.add_argument("--out", metavar="FILE", help="where to write it [report.html in the run, or beside the model]")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Write a report."""
    from sirl.cli.printing import provenance
    from sirl.model.policy import load
    from sirl.reading.report import Effort
    from sirl.runs.directory import read_history

    policy = load(options.model)
    run_directory = Path(options.model)
    history = read_history(run_directory) if (run_directory / "history.jsonl").exists() else []
    effort = Effort(options.episodes, 0 if options.quick else Effort().variants, max(0, options.replays))
    default = run_directory / "report.html" if run_directory.is_dir() else free_path(options.model, "report", "html")
    with stage(options, policy) as place:
        write(policy, place, history, provenance(policy), effort, Path(options.out) if options.out else default)
    return 0


def write(policy: Any, place: Any, history: Any, origin: str, effort: Any, out: Path) -> None:
    """Write the report of a policy that plays on a stage, and say where."""
    from sirl.files import write_atomically
    from sirl.reading.page import write_page
    from sirl.reading.report import gather
    from sirl.runs.directory import writable

    with redirect_stdout(sys.stderr):  # an environment may print
        page = write_page(gather(policy, place, history, origin, effort))
    with writable(out):
        write_atomically(out, page.encode())
    print(f"report {out} ({len(page) / 1e6:.1f} MB)")
