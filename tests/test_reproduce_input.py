"""What `sirl reproduce` and `sirl sweep` read besides runs: saved tables of the printed trees, and a page of docs."""

import shutil
from pathlib import Path

import msgspec
import pytest

from sirl.cli import main as cli
from sirl.errors import SirlError
from sirl.experiments.played import Champion, Played, Unseen, read_unseen
from sirl.experiments.writing import put

COMMAND = ["reproduce", "--tasks", "InvertedPendulum-v4", "--scale", "0.01", "--runs", "0", "--workers", "1"]
PLAIN = [*COMMAND, "--episodes", "3"]
FILES = ("InvertedPendulum-v4-printed.csv", "InvertedPendulum-v4-coefficients.csv")
MARKS = "<!-- reproduce -->\n<!-- end of reproduce -->\n"


@pytest.fixture(scope="module", autouse=True)
def coarse():
    """Two values of a coefficient are enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sirl.experiments.supplement._COARSE", 2)
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The supplement of one task, with no run."""
    out = tmp_path_factory.mktemp("supplement") / "out"
    assert cli.main([*PLAIN, "--out", str(out)]) == 0
    return out


@pytest.fixture
def copy(done, tmp_path):
    """The same to be changed."""
    return Path(shutil.copytree(done, tmp_path / "copy"))


@pytest.fixture
def untrained(monkeypatch):
    """No run is trained and no printed tree plays; which plans were to be filled."""
    asked = []

    def fill(plan, *_):
        asked.append(plan)
        return []

    monkeypatch.setattr("sirl.experiments.work.fill", fill)
    monkeypatch.setattr("sirl.experiments.supplement.fill_supplement", lambda *_: None)
    return asked


DAMAGE = {
    "empty": lambda whole: b"",
    "only its head": lambda whole: whole.splitlines(keepends=True)[0],
    "half a head": lambda whole: whole[:8],
    "half a line": lambda whole: whole[: whole.rindex(b",") - 2],
    "half a number": lambda whole: whole[:-2],
    "without its last line": lambda whole: b"".join(whole.splitlines(keepends=True)[:-1]),
    "a column too many": lambda whole: whole[:-1] + b",1\n",
    "no text": lambda whole: b"\xff" + whole,
    "no number": lambda whole: whole.replace(b",3,", b",three,"),
    "a number that can't be": lambda whole: whole.replace(b",3,", b",nan,"),
    "a null": lambda whole: whole.replace(b",3,", b",\0,"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", DAMAGE)
def test_a_report_refuses_a_damaged_file_of_the_supplement(copy, refusal, name, how):
    file = copy / "scale-0.01" / "supplement" / name
    file.write_bytes(DAMAGE[how](file.read_bytes()))
    reason = refusal("reproduce", "--report", "--episodes", 3, "--out", copy)
    again = f"sirl reproduce --tasks InvertedPendulum-v4 --scale 0.01 --runs 0 --out {copy}"
    assert reason == f"sirl: error: {file} is damaged: remove it, and `{again}` computes it anew.\n"


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_of_the_supplement_is_computed_anew(copy, name):
    file = copy / "scale-0.01" / "supplement" / name
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert cli.main([*PLAIN, "--out", str(copy)]) == 0
    assert file.read_bytes() == whole


def test_a_file_of_the_supplement_that_is_no_file_is_named(copy, refusal):
    file = copy / "scale-0.01" / "supplement" / FILES[0]
    file.unlink()
    file.mkdir()
    reason = refusal("reproduce", "--report", "--episodes", 3, "--out", copy)
    assert f"{file} can't be read (" in reason


PAGES = {
    "missing": (None, "page.md does not exist: create it, or give another page."),
    "of another encoding": ("Caf\xe9\n".encode("latin-1"), "page.md is not UTF-8 text: save it as such, or give "),
    "without marks": (b"# Results\n", "page.md has no <!-- {0} --> … <!-- end of {0} -->: add the two marks where the"),
    "with half its marks": (b"<!-- reproduce -->\n<!-- sweep voting -->\n", "page.md has no <!-- {0} --> … <!-- end "),
}


@pytest.mark.parametrize("command", [("reproduce",), ("sweep", "voting")], ids=" ".join)
@pytest.mark.parametrize("which", PAGES)
def test_a_page_is_looked_at_before_anything_is_trained(refusal, untrained, command, which):
    content, reason = PAGES[which]
    if content is not None:
        Path("page.md").write_bytes(content)
    said = refusal(*command, "--runs", 1, "--page", "page.md", "--out", "out")
    assert reason.format(" ".join(command)) in said
    assert untrained == []
    assert not Path("out").exists()


def test_a_directory_is_no_page(refusal, untrained):
    Path("page.md").mkdir()
    assert "page.md can't be read (" in refusal("reproduce", "--page", "page.md")
    assert untrained == []


def test_a_page_is_put_when_all_else_is_written(copy, monkeypatch, sirl_command):
    page = Path("page.md")
    page.write_text(MARKS)
    for name in ("tables", "figures"):
        shutil.rmtree(copy / name)
    monkeypatch.setattr("sirl.experiments.work.fill", lambda *_: page.write_text("someone took the marks away") and [])
    code, _, err = sirl_command(*PLAIN, "--out", copy, "--page", page)
    assert code == 1
    assert "page.md has no <!-- reproduce -->" in err
    assert (copy / "tables" / "printed.md").exists()
    assert (copy / "figures" / "coefficients.svg").exists()


def test_a_page_gets_the_report(copy, sirl_command):
    page = Path("page.md")
    page.write_text(MARKS)
    code, out, _ = sirl_command("reproduce", "--report", "--episodes", 3, "--out", copy, "--page", page)
    assert code == 0
    assert f"and {copy}/report.md, page.md" in out
    assert "The paper's printed trees" in page.read_text()


def test_what_is_put_into_a_page_needs_text(tmp_path):
    page = tmp_path / "page.md"
    page.write_bytes(b"\xff" + MARKS.encode())
    with pytest.raises(SirlError, match=r"page\.md is not UTF-8 text"):
        put("tables", page, "reproduce")


@pytest.mark.parametrize("short", ["returns", "lengths", "macs"])
@pytest.mark.parametrize("crowning", ["training", "validation"])
def test_unseen_episodes_have_a_number_each(tmp_path, crowning, short):
    whole = Played([1.0, 2.0, 3.0], [5, 5, 5], [10, 10, 10], 2)
    unseen = Unseen(episodes=3, training=Champion(whole, whole), validation=Champion(whole, whole))
    saved = msgspec.to_builtins(unseen)
    file = tmp_path / "unseen.json"
    file.write_bytes(msgspec.json.encode(saved))
    assert read_unseen(tmp_path) == unseen
    del saved[crowning]["pruned"][short][1:]
    file.write_bytes(msgspec.json.encode(saved))
    reason = r"unseen\.json can't be read \(its lists have not one number for each of 3 episodes\): remove it, and its"
    with pytest.raises(SirlError, match=reason):
        read_unseen(tmp_path)


@pytest.mark.parametrize(
    "part", [("--tasks", "Reacher-v4"), ("--methods", "eldt"), ("--runs", "10"), ("--scale", "1")], ids=" ".join
)
def test_a_report_is_of_all_that_is_there(copy, refusal, part):
    said = refusal("reproduce", "--report", "--episodes", 3, "--out", copy, *part)
    assert said == f"sirl: error: --report shows all that is in {copy}: leave out {part[0]}.\n"


def test_ten_runs_of_the_papers_size_unless_others_are_asked(copy, untrained):
    assert cli.main(["reproduce", "--tasks", "Reacher-v4", "--episodes", "3", "--out", str(copy)]) == 0
    (plan,) = untrained
    assert (plan.runs, plan.scale) == (range(10), 1.0)
