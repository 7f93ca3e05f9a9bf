"""Tests of price lists of one's own."""

from __future__ import annotations

import json
import re

import pytest

from engine import Simulation
from engine.base.errors import ScenarioError
from engine.base.terms import OsFamily
from engine.base.values import HOUR_MS
from engine.scenario.load import load
from engine.specs import commands
from engine.specs.catalogue import vm_size
from engine.specs.prices import PriceFile, price_list, read_prices
from tests.cli.conftest import put_one_worker_here
from tests.tui.acting import trial_of
from tests.tui.pages import content_of, page_of
from tui.app.process import Recorder
from tui.cli.commands import main
from tui.saving.targets import NewLines
from tui.viewmodels.actions.trial import trial_lines
from tui.viewmodels.properties import cost_words
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain

TEXT = """\
scenario: priced
until: PT2H
simulate: {nodes: {allocation: PT0S, starting: PT0S}}
pools:
  - {id: a, vmSize: Standard_D2s_v3, targetDedicatedNodes: 1}
  - {id: b, vmSize: Standard_D2s_v3, targetLowPriorityNodes: 1}
"""
SIZE = vm_size("standard_d2s_v3")


def item(price, **given):
    return {
        "armSkuName": "Standard_D2s_v3",
        "armRegionName": "westeurope",
        "productName": "Virtual Machines Dsv3 Series",
        "skuName": "D2s v3",
        "retailPrice": price,
        "currencyCode": "EUR",
        "type": "Consumption",
        "effectiveStartDate": "2025-03-01T00:00:00Z",
    } | given


def retail(*items, region="westeurope"):
    return price_list(PriceFile("list.json", json.dumps({"Items": items})), region).settled(["standard_d2s_v3"])


def prices(size):
    kinds = [(OsFamily.LINUX, True), (OsFamily.WINDOWS, True), (OsFamily.LINUX, False), (OsFamily.WINDOWS, False)]
    return [size.price_usd(os, dedicated=dedicated) for os, dedicated in kinds]


def test_vm_7_a_retail_list_names_the_kinds_in_words():
    windows = "Virtual Machines Dsv3 Series Windows"
    found = retail(
        *(item(0.12), item(0.02, skuName="D2s v3 Spot"), item(0.03, meterName="D2s v3 Low Priority")),
        *(item(0.22, productName=windows), item(0.04, productName=windows, skuName="D2s v3 Spot")),
    )
    assert (found.currency, found.region, found.as_of) == ("EUR", "westeurope", "2025-03-01")
    assert prices(found.priced(SIZE)) == [0.12, 0.22, 0.02, 0.04]
    assert prices(found.priced(SIZE, low_priority=True)) == [0.12, 0.22, 0.03, pytest.approx(0.4 * 0.22)]


@pytest.mark.parametrize(
    "other",
    [
        {"type": "Reservation", "reservationTerm": "1 Year"},
        {"type": "DevTestConsumption"},
        {"armRegionName": "eastus"},
        {"retailPrice": 0},
        {"productName": "Dsv3 Series Cloud Services"},
        {"productName": "Virtual Machines Dsv3 Series CloudServices"},
        {"productName": "Dsv3 Series Dedicated Host"},
        {"skuName": "D2s v3 DevTest"},
        {"effectiveStartDate": "2024-01-01T00:00:00Z"},
    ],
)
def test_vm_7_what_is_no_price_of_an_hour_here_does_not_count(other):
    for items in ((item(0.12), item(9) | other), (item(9) | other, item(0.12))):
        assert retail(*items).priced(SIZE).linux_usd == 0.12


def test_vm_7_of_several_the_newest():
    newer = {"effectiveStartDate": "2026-01-01T00:00:00Z"}
    assert retail(item(0.11, **newer), item(0.12)).priced(SIZE).linux_usd == 0.11


def test_vm_7_a_kind_that_the_list_lacks_costs_in_proportion():
    assert prices(retail(item(0.192)).priced(SIZE)) == [0.192, 2 * 0.188, 2 * 0.0096, 2 * 0.0188]


def test_vm_7_csv_has_the_columns_of_sizes():
    text = "# mine\nname,vcpus,linuxUsdPerHour,windowsUsdPerHour\nSTANDARD_D2S_V3,2,0.5,\nstandard_x,1,1,1\n"
    found = price_list(PriceFile("mine.csv", text), "westeurope").settled(["standard_d2s_v3"])
    assert (found.currency, found.as_of) == ("USD", None)
    assert found.priced(SIZE).linux_usd == 0.5
    assert not found.has("standard_d4s_v3")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{"Items": [\n{"armSkuName": }]}', 2, "is not JSON"),
        ('{"items": []}', 0, "it must have 'Items'"),
        ("[1]", 0, "it must have 'Items'"),
        ("size,price\na,1\n", 1, "is no list of prices"),
        ("", 1, "is no list of prices"),
        ("# c\n\nname,linuxUsdPerHour\nstandard_d2s_v3,cheap\n", 4, "must be a price in an hour, not 'cheap'"),
        ("name,linuxUsdPerHour\nstandard_d2s_v3,-1\n", 2, "must be a price in an hour"),
        (json.dumps({"Items": [item("NaN")]}), 0, "must be a price in an hour, not 'NaN'"),
    ],
)
def test_a_broken_file_is_named_with_its_line(text, line, said):
    with pytest.raises(ScenarioError) as caught:
        price_list(PriceFile("mine", text), "westeurope")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == ("mine", line)
    assert said in problem.message


# --- in a run


def played(tmp_path, capsys, *options, more="", lines=None, status=0):
    (tmp_path / "s.yaml").write_text(TEXT + more)
    if lines is not None:
        (tmp_path / "prices").write_text(lines)
    assert main(["run", str(tmp_path / "s.yaml"), "--output", "json", *options]) == status
    captured = capsys.readouterr()
    return json.loads(captured.out)["summary"] if status == 0 else None, captured.err


EUR = json.dumps({"Items": [item(0.2), item(0.05, skuName="Spot")]})
MINE = "name,linuxUsdPerHour,linuxSpotUsdPerHour\nstandard_d2s_v3,0.2,0.05\n"
NAMED = "account: {prices: prices}\n"


def test_without_a_list_the_cost_rests_on_the_table(tmp_path, capsys):
    summary, _ = played(tmp_path, capsys)
    cost = summary["cost"]
    assert cost["amount"] == summary["costUsd"] == pytest.approx(2 * (0.096 + 0.0096), rel=0.01)
    assert (cost["currency"], cost["region"]) == ("USD", "eastus")
    assert set(cost) == {"amount", "currency", "region", "source", "asOf"}


def test_vm_7_prices_of_the_account_stand_beside_the_scenario(tmp_path, capsys):
    summary, _ = played(tmp_path, capsys, more=NAMED, lines=MINE)
    assert summary["costUsd"] == summary["cost"]["amount"] == pytest.approx(2 * 0.25, rel=0.01)
    assert summary["cost"]["source"].endswith("prices")


@pytest.mark.parametrize("named", [True, False])
def test_vm_7_a_saved_session_finds_its_prices_wherever_it_is_saved(named, tmp_path):
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "prices").write_text(MINE)
    (tmp_path / "lists" / "s.yaml").write_text(TEXT + (NAMED if named else ""))
    given = None if named else read_prices(tmp_path / "lists" / "prices")
    simulation = Simulation(load(str(tmp_path / "lists" / "s.yaml"), prices=given))
    simulation.submit(commands.ResizePool(pool_id="a", target_dedicated_nodes=2))
    for folder in (tmp_path, tmp_path / "lists"):
        path = folder / "saved.yaml"
        Recorder(simulation).save(NewLines(path))
        again = load(str(path))
        assert again.prices is not None
        assert again.prices.sizes == simulation.scenario.prices.sizes
        assert ("prices: prices" in path.read_text()) is (folder != tmp_path)


def test_vm_7_the_option_wins_and_other_currencies_stay_theirs(tmp_path, capsys):
    (tmp_path / "eur.json").write_text(EUR)
    summary, _ = played(tmp_path, capsys, "--prices", str(tmp_path / "eur.json"), more=NAMED, lines="broken")
    assert summary["costUsd"] is None
    assert summary["cost"]["amount"] == pytest.approx(2 * 0.25, rel=0.01)
    assert (summary["cost"]["currency"], summary["cost"]["asOf"]) == ("EUR", "2025-03-01")


def test_vm_7_a_size_that_the_list_lacks_costs_what_the_table_says(tmp_path, capsys):
    more = "  - {id: c, vmSize: standard_d4s_v3, targetDedicatedNodes: 1}\n"
    summary, err = played(tmp_path, capsys, more=more + NAMED, lines=MINE)
    assert summary["costUsd"] == pytest.approx(2 * (0.25 + 0.192), rel=0.01)
    assert "prices has no price of 'standard_d4s_v3' in westeurope: the list price of eastus counts" in err
    _, err = played(tmp_path, capsys, more=more + NAMED, lines=EUR, status=2)
    assert "list prices are in USD, not EUR" in err


def test_vm_7_several_currencies_in_use_are_a_mistake(tmp_path, capsys):
    lines = json.dumps({"Items": [item(0.2), item(0.05, skuName="Spot", currencyCode="GBP")]})
    _, err = played(tmp_path, capsys, more=NAMED, lines=lines, status=2)
    assert "prices has prices in EUR and GBP" in err


@pytest.mark.parametrize("lines", [None, "name\n"])
def test_a_list_that_cannot_be_used_is_a_mistake(lines, tmp_path, capsys):
    _, err = played(tmp_path, capsys, more=NAMED, lines=lines, status=2)
    assert "prices" in err


def test_sizes_show_the_prices_of_a_file(tmp_path, capsys):
    for name, text in (("mine.csv", MINE), ("eur.json", EUR)):
        (tmp_path / name).write_text(text)
    assert main(["sizes", "d2s_v3", "--prices", str(tmp_path / "mine.csv"), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["linuxUsdPerHour"] == 0.2
    assert main(["sizes", "d2s_v3", "--prices", str(tmp_path / "eur.json")]) == 0
    assert "EUR an hour of westeurope" in capsys.readouterr().out
    assert main(["sizes", "d2s_v3", "--prices", str(tmp_path / "eur.json"), "--output", "json"]) == 2


def test_a_study_and_its_workers_use_the_prices(tmp_path, capsys, monkeypatch):
    for name, text in (("s.yaml", TEXT), ("mine.csv", MINE), ("eur.json", EUR)):
        (tmp_path / name).write_text(text)
    study = ["study", str(tmp_path / "s.yaml"), "--seeds", "1", "--workers", "1", "--output", "json"]
    assert main([*study, "--prices", str(tmp_path / "mine.csv")]) == 0
    variant = json.loads(capsys.readouterr().out)["variants"][0]
    assert variant["costUsd"]["mean"] == pytest.approx(2 * 0.25, rel=0.01)
    put_one_worker_here(monkeypatch)
    assert main([*study, "--prices", str(tmp_path / "eur.json")]) == 0
    variant = json.loads(capsys.readouterr().out)["variants"][0]
    assert variant["costUsd"] == dict.fromkeys(("mean", "p5", "median", "p95"))
    assert variant["cost"]["currency"] == "EUR"
    assert variant["cost"]["median"] == pytest.approx(2 * 0.25, rel=0.01)
    in_eur = [*study[:-2], "--prices", str(tmp_path / "eur.json")]
    assert main([*in_eur, "--output", "csv"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert (head.rpartition(",")[2], line.rpartition(",")[2]) == ("costEUR", str(variant["cost"]["median"]))
    assert main(in_eur) == 0
    assert "EUR 0.50" in capsys.readouterr().out


def test_the_dashboard_shows_costs_in_their_currency():
    simulation = Simulation(load("s.yaml", text=TEXT, prices=PriceFile("eur.json", EUR)))
    simulation.run_until(HOUR_MS)
    session = Session(simulation)
    session.update()
    assert cost_words(session) == f"all pools EUR {session.cost():.2f} so far"
    assert content_of(page_of(simulation))["costs"][-1] == f"EUR {session.cost():.2f}"
    resized = commands.ResizePool.model_validate({"poolId": session.pool_id, "targetDedicatedNodes": 3})
    lines = [" ".join(plain(each).split()) for each in trial_lines(session, trial_of(session, [resized]), 100)]
    assert "cost an hour EUR 0.65 (+EUR 0.40) otherwise EUR 0.25" in lines
    assert not any("$" in each for each in lines)


def test_compare_has_costs_in_the_same_currency(tmp_path, capsys):
    for name, text in (("s.yaml", TEXT), ("eur.json", EUR)):
        (tmp_path / name).write_text(text)
    with_prices = ["--prices", str(tmp_path / "eur.json"), "--output", "json"]
    assert main(["run", str(tmp_path / "s.yaml"), *with_prices]) == 0
    (tmp_path / "result.json").write_text(capsys.readouterr().out)
    assert main(["compare", str(tmp_path / "result.json"), str(tmp_path / "s.yaml"), *with_prices]) == 0
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert (rows["costUsd"]["a"], rows["costUsd"]["b"]) == (None, None)
    assert rows["cost.amount"]["a"] == rows["cost.amount"]["b"] == pytest.approx(2 * 0.25, rel=0.01)
    assert rows["nodeHours"]["difference"] == 0
    assert main(["compare", str(tmp_path / "result.json"), str(tmp_path / "s.yaml"), *with_prices[:2]]) == 0
    assert re.search(r"cost +EUR 0\.\d+ +EUR 0\.\d+", capsys.readouterr().out)
    assert main(["compare", str(tmp_path / "result.json"), str(tmp_path / "s.yaml")]) == 0
    assert "Costs are in EUR and in USD: they are not compared." in capsys.readouterr().out


def test_the_list_travels_with_a_scenario():
    file = PriceFile("mine.csv", MINE)
    loaded = load("s.yaml", text=TEXT, prices=file)
    assert loaded.prices is not None
    assert loaded.source.prices == file
