"""Pages, filters and selections of lists (GEN-8)."""

from __future__ import annotations

import pytest

from engine.rest import handlers
from tests.builders import a_job, a_pool, a_task, run, some_tasks

TASKS = [a_task("a"), a_task("b", exit_code=2), a_task("it's")]


@pytest.fixture
def batch(account):
    """An account with three tasks, one of which has failed."""
    tasks = [TASKS[0] | {"displayName": "First"}, TASKS[1], a_task("c", 7200)]
    batch = account(a_job(tasks=tasks), a_job("k", tasks=0), pool=a_pool(nodes=3))
    run(batch.simulation, minutes=10)
    return batch


def test_gen_8_pages_are_linked_and_survive_additions_and_deletions(account):
    batch = account(a_job(tasks=5))
    run(batch.simulation, seconds=1)
    first = batch.get("/jobs/j/tasks", maxresults=2, _select="id")
    assert first.ids == ["t1", "t2"]
    assert first.json["odata.metadata"] == "http://127.0.0.1:8100/$metadata#tasks"
    assert batch.delete("/jobs/j/tasks/t2").status == 200
    assert batch.delete("/jobs/j/tasks/t4").status == 200
    batch.post("/jobs/j/tasks", a_task("new"))
    second = batch.follow(first.json["odata.nextLink"])
    assert second.ids == ["t3", "t5"]
    assert second.json["value"][0] == {"id": "t3"}
    third = batch.follow(second.json["odata.nextLink"])
    assert third.ids == ["new"]
    assert "odata.nextLink" not in third.json


def test_gen_8_a_page_has_at_most_a_thousand_items(account):
    batch = account(a_job(tasks=some_tasks(1001)))
    run(batch.simulation, seconds=1)
    assert [len(page) for page in batch.pages("/jobs/j/tasks")] == [1000, 1]


def test_a_list_that_a_filter_empties_is_searched_in_parts(account, monkeypatch):
    monkeypatch.setattr(handlers, "MOST_LOOKED_AT", 2)
    batch = account(a_job(tasks=5))
    run(batch.simulation, seconds=1)
    assert batch.pages("/jobs/j/tasks", _filter="id eq 't5'") == [[], [], ["t5"]]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("state eq 'completed'", ["a", "b"]),
        ("state eq 'Completed' and id ne 'a'", ["b"]),
        ("(id eq 'A' or id eq 'c') and not (id eq 'c')", ["a"]),
        ("id eq 'a' or id eq 'b' and id eq 'c'", ["a"]),
        ("startswith(id,'A')", ["a"]),
        ("startswith( displayName , 'fir' ) eq true", ["a"]),
        ("executionInfo/exitCode ne 0 and state eq 'completed'", ["b"]),
        ("executionInfo/exitCode gt 1.5", ["b"]),
        ("executionInfo/exitCode eq null", ["c"]),
        ("creationTime ge DateTime'2026-01-05T08:00:00Z'", ["a", "b", "c"]),
        ("stateTransitionTime lt datetime'2026-01-05T08:00:00.0000000Z'", []),
        ("id eq 'it''s'", []),
        ("ordinary eq null and android ne 'x'", ["a", "b", "c"]),
    ],
)
def test_gen_8_filters_compare_properties_of_the_body(batch, text, ids):
    assert batch.get("/jobs/j/tasks", _filter=text).ids == ids


@pytest.mark.parametrize(
    "text",
    ["id = 'a'", "id eq", "id eq 'a", "state", "(" * 200, "id eq 'a' xor 1 eq 1", "x" * 5000, "DateTime'x' eq id"],
)
def test_a_filter_that_is_not_understood_is_refused_with_its_text(batch, text):
    refused = batch.get("/jobs/j/tasks", _filter=text)
    assert (refused.status, refused.code) == (400, "InvalidQueryParameterValue")
    values = {item["key"]: item["value"] for item in refused.json["values"]}
    assert values["QueryParameterName"] == "$filter"
    assert set(values) == {"QueryParameterName", "QueryParameterValue", "Reason"}


def test_a_selection_names_properties_of_the_top(batch):
    assert set(batch.get("/jobs/j", _select="id, State").json) == {"odata.metadata", "id", "state"}
    assert batch.get("/jobs", _select="id").json["value"] == [{"id": "j"}, {"id": "k"}]


@pytest.mark.parametrize("value", ["0", "1001", "-1"])
def test_a_page_size_out_of_range_is_refused(batch, value):
    refused = batch.get("/jobs", maxresults=value)
    assert (refused.status, refused.code) == (400, "OutOfRangeQueryParameterValue")


@pytest.mark.parametrize("token", ["x", "WzFd", "InQi", "dHJ1ZQ==", "é"])
def test_a_token_that_is_none_is_refused(batch, token):
    assert batch.get("/jobs", _skiptoken=token).code == "InvalidQueryParameterValue"
