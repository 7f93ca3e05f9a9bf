"""A search in the dashboard: its file of results, and what it says of variants that were not played."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import load_scenario
from engine.studies.runs import Player, StudyState, installed_version, planned, read
from engine.studies.search import rounds
from tests.cli.test_search import NODES, SMALL
from tui.viewmodels.glyphs import VARIANT_PENDING, GlyphSet
from tui.viewmodels.study import SEARCH, StudyModel, StudyRequest, legend_line, plan, progress_line
from tui.viewmodels.text import plain
from tui.workers.background import BackgroundStudy


def test_a_file_of_a_search_is_shown_with_what_was_not_played(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario = load_scenario("small", text=SMALL)
    sizes = "pools.p.vmSize=standard_d2s_v3,standard_f4s_v2,standard_d4s_v3,standard_d8s_v3"
    request = StudyRequest((f"{NODES}=1..40", sizes), "5", "r.jsonl", SEARCH)
    study = plan(scenario, request)
    assert study.identity == planned(scenario, request.vary, seeds="5", version=installed_version()).identity
    player, lines, played = Player(study), [], {}
    for wanted in rounds(study, played, request.search):
        new = player.play(wanted)
        lines += new
        played |= dict(zip(wanted, map(read, new), strict=True))
    Path("r.jsonl").write_text("".join(f"{line}\n" for line in lines))
    background = BackgroundStudy(study, lambda: None, results=request.path, search=request.search)
    background.join()
    assert background.state is StudyState.DONE
    model = StudyModel(scenario, background)
    model.update()
    assert model.is_complete
    assert background.done == len(lines) < 160
    left = [one for one in model.summary.variants if not one.runs]
    assert left
    assert {model.glyph(one) for one in left} == {VARIANT_PENDING}
    glyphs = GlyphSet(ascii_only=True)
    assert f"{len(lines)} of 800 runs" in plain(progress_line(model, glyphs, "c"))
    assert "not all seeds" in plain(legend_line(model, glyphs))


def test_a_search_needs_expectations():
    scenario = load_scenario("small", text=SMALL[: SMALL.index("expect:")])
    with pytest.raises(Exception, match="The scenario expects nothing, so there is no variant to search for"):
        plan(scenario, StudyRequest((f"{NODES}=1..40",), played=SEARCH))
