"""The filter language: what a term means, what can be compared, and what is said while one is typed."""

from __future__ import annotations

from itertools import chain, count

import pytest
from textual import events

from tests.builders import READY_S, a_job, a_pool, a_task, run_to, simulation, some_tasks
from tests.tui.driving import drive, look, typed
from tests.tui.screen_text import contains, text_of
from tui.viewmodels.go_line import TABS
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.filters import (
    Term,
    column_of,
    field_name,
    filter_hint,
    matcher,
    parse_filter,
    quantity,
    sort_value,
)
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.order import ShownRows, SlicedSort
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import Role, plain
from tui.viewmodels.watch.attention import ExpectationsModel

LATER_S = 330
COLUMNS = ("", "Task", "State", "Start time", "End time", "Exit code", "Retries", "Age in state")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("Deal  7", [Term("", "", "deal", False), Term("", "", "7", False)]),
        ("!deal", [Term("", "", "deal", True)]),
        ("state:completed", [Term("state", "", "completed", False)]),
        ("state:!completed", [Term("state", "", "completed", True)]),
        ("!state:completed", [Term("state", "", "completed", True)]),
        ("state: ! !state: exit:> exit:!<", []),
        ("exit:>1 exit:!<2", [Term("exit", ">", "1", False), Term("exit", "<", "2", True)]),
        ("start:>10:42:17", [Term("start", ">", "10:42:17", False)]),
        ("10:42", [Term("", "", "10:42", False)]),
        ("workitems/job-1:0", [Term("", "", "workitems/job-1:0", False)]),
    ],
)
def test_terms(text, terms):
    assert list(parse_filter(text)) == terms


@pytest.mark.parametrize(
    ("field", "column"),
    [
        ("state", 2),
        ("exitcode", 5),
        ("exit", 5),
        ("s", 2),
        ("start", 3),
        ("age", 7),
        ("retries", 6),
        ("pool", None),
        ("slots", None),
    ],
)
def test_a_field_is_a_column_without_blanks_or_how_it_begins(field, column):
    assert column_of(field, COLUMNS) == column


def test_fields_have_short_names():
    assert column_of("slots", ("", "Node", "Running tasks")) == 2
    assert column_of("slots", ("", "Task", "Required slots")) == 2
    assert column_of("slots", ("Task slots per node", "Slots free")) == 1
    assert column_of("retries", ("Node", "Retry count")) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1234),
        ("-5", -5),
        ("$0.12", 0.12),
        ("82%", 82),
        ("3 of 4", 3),
        ("00:41:50", 2510),
        ("10:42", 38_520),
        ("-00:03:12", -192),
        ("2d 03:04:05", 183_845),
        ("01-06 00:00:01", 37 * 86_400 + 1),
        ("5m", 300),
        ("1h30m", 5400),
        ("45s", 45),
        ("2d", 172_800),
        ("pt5m", 300),
        ("p1dt1h", 90_000),
        ("", None),
        ("p", None),
        ("n117", None),
        ("3 jobs", None),
        ("completed", None),
    ],
)
def test_numbers_durations_and_times_can_be_compared(text, value):
    assert quantity(text) == value


@pytest.mark.parametrize(
    ("word", "cell", "does"),
    [
        ("f:comp", "Completed", True),
        ("f:!comp", "Completed", False),
        ("f:13", "137", False),
        ("f:137", "137", True),
        ("f:7", "n7", True),
        ("f:3", "3 of 4", True),
        ("f:>100", "137", True),
        ("f:<100", "137", False),
        ("f:!<100", "137", True),
        ("f:!<100", "", False),
        ("f:!0", "", False),
        ("f:!0", "0", False),
        ("f:!0", "137", True),
        ("f:!none", "", True),
        ('f:"b c"', "a b c", True),
        ('f:"b c"', "b a c", False),
        ('f:!"b c"', "b a c", True),
        ('f:"b c', "a b c", True),  # while it is typed
        ("f:>0", "", False),
        ("f:>10:30", "10:38:02", True),
        ("f:>10:30", "01-06 09:00:00", True),
        ("f:<5m", "00:04:59", True),
        ("f:<5m", "00:05:00", False),
        ("f:>b", "beta", True),
        ("f:<b", "beta", False),
    ],
)
def test_a_cell_passes(word, cell, does):
    (term,) = parse_filter(word)
    assert matcher(term)(cell) is does


@pytest.mark.parametrize(
    ("word", "cell", "does"),
    [
        ("node:n77", "n77 tvmps_0a_d", True),
        ("node:n77", "n770 tvmps_0b_d", False),
        ("node:tvmps_0a_d", "n77 tvmps_0a_d", True),
        ("node:!n77", "n770 tvmps_0b_d", True),
        ("node:n77*", "n770 tvmps_0b_d", True),
        ("node:n77*", "n7 tvmps_0c_d", False),
        ("node:*", "", True),
        ("node:n[0-9]*", "n7", False),
    ],
)
def test_a_name_matches_as_a_whole_unless_a_pattern_is_given(word, cell, does):
    (term,) = parse_filter(word)
    assert matcher(term, is_name=True)(cell) is does


def test_a_task_is_found_by_its_very_node(session_at):
    model = TasksModel(session_at(LATER_S, "forty-nodes"))
    column = model.column_names.index("Node")

    def nodes(text):
        model.filter_text = text
        model.update()
        return {model.cells(model.key(at))[column].text for at in range(model.count)}

    assert nodes("node:n1") == {"n1"}
    assert nodes("node:n1*") > {"n1"}
    assert "n1" not in nodes("node:!n1")


@pytest.mark.parametrize(
    "name", ["one-node-fails", "pipeline-with-dependencies", "retries-and-exit-conditions", "nodes-fail-and-recover"]
)
@pytest.mark.parametrize("seconds", [20, 150, 400, 4000])
@pytest.mark.parametrize("time_format", ["clock", "elapsed"])
@pytest.mark.parametrize("model_type", [TasksModel, NodesModel, PreparationModel, ReleaseModel])
def test_rows_that_are_judged_together_show_the_same_text(session_at, name, seconds, time_format, model_type):
    session = session_at(seconds, name)
    session.time_format = time_format
    model = model_type(session)
    model.is_written_out = True
    model.update()
    keys = [model.key(at) for at in range(model.count)]
    for column, of in enumerate(model.columns):
        if not of.name:
            continue
        shown = [model.cells(key)[column].text for key in keys]
        texts = model.texts_of(keys, column)
        assert list(texts) == shown or of.name == "Node"
        groups = model.groups_of(keys, column) if keys else None
        if groups is not None:
            assert len(set(zip(groups, texts, strict=True))) == len(set(groups)), of.name


@pytest.mark.parametrize("at_once", [1, 50, 10_000])
@pytest.mark.parametrize("seconds", [20, 150, 400, 4000])
@pytest.mark.parametrize("name", ["pipeline-with-dependencies", "retries-and-exit-conditions", "one-node-fails"])
def test_tasks_are_sorted_by_duration_as_by_its_texts(session_at, name, seconds, at_once, monkeypatch):
    monkeypatch.setattr(TasksModel, "at_once", at_once)
    model = TasksModel(session_at(seconds, name))
    model.update()
    column = model.column_names.index("Duration")
    keys = list(model.order())
    for is_descending in (False, True):
        model.sort_column, model.is_descending = "Duration", is_descending
        model.update()
        while model.sort_some():
            pass
        expected = sorted(keys, key=lambda key: sort_value(model.texts_of((key,), column)[0]), reverse=is_descending)
        assert [model.key(at) for at in range(model.count)] == expected


def test_a_new_order_keeps_the_rows_until_they_are_sorted():
    shown = ShownRows()
    rows = range(5000)

    def start():
        return SlicedSort(rows, None, lambda keys: [-key for key in keys], is_descending=False)

    shown.show(rows, wanted="all")
    shown.sort_rows("all", "by size", "now", start, 10)
    assert shown.is_sorting
    assert shown.rows == rows
    while shown.go_on():
        pass
    assert shown.rows == list(reversed(rows))
    shown.sort_rows("some", "by size", "now", start, 10)
    assert not shown.rows


@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("different", [1, 7, 900, 10_000])
def test_rows_with_the_same_value_stay_in_their_order(is_descending, different):
    values = {row: f"{row * 7919 % different}" for row in range(3000)}
    work = SlicedSort(list(values), None, lambda keys: map(values.get, keys), is_descending=is_descending, piece=70)
    while work.go_on():
        pass
    assert work.found == sorted(values, key=values.get, reverse=is_descending)


def test_while_time_goes_by_rows_are_read_again_only_after_a_rest(monkeypatch):
    shown, started = ShownRows(), []
    clock_s = count()
    monkeypatch.setattr("tui.viewmodels.lists.order.time.perf_counter", lambda: float(next(clock_s)))

    def start():
        started.append(None)
        return SlicedSort(range(10), None, lambda keys: keys, is_descending=True)

    def look(moment, **more):
        shown.sort_rows("all", "by size", moment, start, 10, **more)
        return len(started)

    assert look("0 s") == 1
    assert [look(f"{number} s", may_rest=True) for number in range(1, 4)] == [1, 1, 1]
    assert look("4 s") == 2  # time stands still
    for _ in range(1000):
        next(clock_s)
    assert look("5 s", may_rest=True) == 3


def test_rows_that_need_no_sorting_are_shown_as_soon_as_they_are_found():
    shown = ShownRows()

    def start():
        return SlicedSort(range(5000), lambda keys: [key for key in keys if key % 2], None, is_descending=False)

    shown.sort_rows("odd", None, "now", start, 10)
    assert shown.go_on()
    assert shown.is_sorting
    assert list(shown.rows) == list(range(1, 1000, 2))
    while shown.go_on():
        pass
    assert (list(shown.rows), shown.hidden) == (list(range(1, 5000, 2)), 2500)


def test_a_list_is_filtered_by_its_columns(session_at):
    model = TasksModel(session_at(LATER_S))

    def shown(text):
        model.filter_text = text
        model.update()
        return {model.identity_of(model.key(at)) for at in range(model.count)}

    everything = shown("")
    completed = shown("state:completed")
    assert 0 < len(completed) < len(everything) == 40
    assert shown("state:!completed") == everything - completed
    assert shown("deal-1 state:completed") == {each for each in completed if each.startswith("deal-1")}
    assert shown("duration:>1s state:completed") | shown("duration:<1s state:completed") <= completed
    assert shown("sate:completed") == set()
    assert shown("sate:!completed") == set()


def test_while_a_filter_is_typed_the_fields_are_named_and_what_is_wrong():
    assert 'word  "a b"  !word  field:value' in plain(filter_hint("", COLUMNS))
    assert plain(filter_hint("", COLUMNS)).endswith("fields: task state starttime endtime exitcode retries ageinstate")
    assert plain(filter_hint("deal !st", COLUMNS)).endswith(" fields: state starttime")
    (said,) = filter_hint("sate:x", COLUMNS)
    assert (said.text, said.role) == (" No field sate: did you mean 'state'?", Role.FAILED)


@pytest.mark.parametrize("tab", [tab for tab in TABS if tab.model], ids=lambda tab: tab.name)
def test_no_two_columns_of_a_list_are_the_same_field(tab, session_at):
    names = [field_name(column.name) for column in tab.model(session_at(LATER_S)).columns if column.name]
    assert len(set(names)) == len(names)
    assert all(name.isalnum() and name[0].isalpha() for name in names)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_the_hint_line_is_there_while_typing_and_goes(dashboard_at, size):
    seen = []
    drive(
        dashboard_at(LATER_S),
        *("5", "slash"),
        lambda app: seen.append(text_of(app)),
        *("s", "a", "t", "colon", "x"),
        lambda app: seen.append(text_of(app)),
        "escape",
        lambda app: seen.append(text_of(app)),
        size=size,
    )
    assert "field:>5m  node:n7*  fields: t" in seen[0][-2]
    assert "No field sat: did you mean 'state'?" in seen[1][-2]
    assert not contains(seen[2], "No field")
    assert "help" in seen[2][-1]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_the_filter_is_always_named_once(dashboard_at, size):
    """Below the list; where a sentence about the row stands there, in the title."""
    ways = (("5", "state:!active"), ("9", "kind:task deal"), ("5", "state:active"))
    seen = []
    steps = ((view, "slash", *typed(text), "enter", look(seen), "slash", "ctrl+u", "enter") for view, text in ways)
    drive(dashboard_at(LATER_S), *chain.from_iterable(steps), size=size)
    for (_, text), lines in zip(ways, seen, strict=True):
        assert sum(f"filter: {text}" in line or f", filter {text} " in line for line in lines) == 1, text


def test_a_filter_that_is_too_long_for_the_title_is_cut(dashboard_at):
    words = "deal " * 20
    seen = []
    paste = lambda app: app.post_message(events.Paste(words)) and None  # noqa: E731
    drive(dashboard_at(LATER_S), "9", "slash", paste, "enter", look(seen), size=(80, 24))
    (title,) = (line for line in seen[0] if ", filter deal deal" in line)
    assert title.endswith("dea… ─╮")


def test_a_job_without_failed_tasks_says_so(session_at):
    model = TasksModel(session_at(240, "shared-pool-two-jobs"))
    model.only_failed = True
    model.update()
    assert model.nothing_shown() == ("No task has failed for good.", "! shows all 6.")


def test_a_word_that_is_in_no_id_is_told_how_a_column_is_named(session_at):
    session = session_at(LATER_S)
    for model, term in ((NodesModel(session), "runningtasks:nowhere"), (TasksModel(session), "commandline:nowhere")):
        model.filter_text = "nowhere"
        model.update()
        assert model.nothing_shown()[1] == f"A word is looked for in ids and states. {term} looks in a column."
    model = ExpectationsModel(session_at(600, "preparation-fails-on-one-node"))
    model.filter_text = "nowhere"
    model.update()
    assert model.nothing_shown()[1] == "A word is looked for in ids. property:nowhere looks in a column."


WORDS = [
    (TasksModel, "running", "State"),
    (TasksModel, "comp", "State"),
    (TasksModel, "failure", "Result"),
    (NodesModel, "running", "State"),
    (NodesModel, "enabled", "Scheduling state"),
    (JobsModel, "active", "State"),
    (PoolsModel, "steady", "Allocation state"),
    (PreparationModel, "completed", "State"),
    (PreparationModel, "failure", "Result"),
]


@pytest.mark.parametrize(("model_type", "word", "column"), WORDS)
def test_a_word_is_also_looked_for_among_states(session_at, model_type, word, column):
    model = model_type(session_at(LATER_S))
    at = model.column_names.index(column)

    def found(text):
        model.filter_text = text
        model.update()
        return {model.key(index) for index in range(model.count)}

    everything = found("")
    with_word = {key for key in everything if model.cells(key)[at].text.startswith(word)}
    assert with_word
    assert found(word) == with_word
    assert found(f"!{word}") == everything - with_word
    assert found(f"{word[:-1]}*") == with_word
    assert found(word[1:]) == set()  # only from its beginning, so that few ids are found beside what was meant


def test_results_are_found_by_the_words_of_the_counts_too(session_at):
    for model in (TasksModel(session_at(LATER_S)), PreparationModel(session_at(LATER_S))):
        for word, result in (("failed", "failure"), ("succeeded", "success")):
            model.filter_text = word
            model.update()
            at = model.column_names.index("Result")
            assert {model.cells(model.key(index))[at].text for index in range(model.count)} == {result}


def test_a_word_that_is_in_an_id_and_a_state_finds_both():
    tasks = [a_task("running-late", 500), *some_tasks(3, 500)]
    sim = simulation(a_job(tasks=list(reversed(tasks))), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 60)
    model = TasksModel(Session(sim))
    model.filter_text = "running"
    model.update()
    found = {model.identity_of(model.key(at)) for at in range(model.count)}
    assert "running-late" in found
    assert len(found) == 3
    assert model.find("running-la") == model.row_of("running-late")
    assert model.find("runn") == model.row_of("running-late")
    assert model.find("comp") is None


def test_a_node_is_found_by_its_name(session_at):
    for model in (NodesModel(session_at(LATER_S)), PreparationModel(session_at(LATER_S))):
        model.filter_text = "n1"
        model.update()
        assert [model.cells(model.key(at))[1].text for at in range(model.count)] == ["n1"]


def test_quotes_hold_a_text_with_blanks_together():
    terms = parse_filter('command:"a  b" !"c d" "e:f" g"h i"j k:>"2 m" "" "l')
    assert [(term.field, term.value) for term in terms] == [
        ("command", "a  b"),
        ("", "c d"),
        ("", "e:f"),
        ("", 'g"h'),
        ("", 'i"j'),
        ("k", "2 m"),
        ("", "l"),
    ]
    assert [term.is_excluded for term in terms[:2]] == [False, True]


def test_tasks_are_found_by_several_words_of_their_command_lines(session_at):
    model = TasksModel(session_at(LATER_S))
    model.update()
    command = model.texts_of([model.key(0)], model.column_names.index("Command line"))[0]
    assert " " in command
    model.filter_text = command
    model.update()
    assert not model.count
    word = command.lower()
    assert model.nothing_shown()[1] == (
        f'A word is looked for in ids and states. commandline:"{word}" looks in a column.'
    )
    model.filter_text = f'commandline:"{word}"'
    model.update()
    assert model.count


@pytest.mark.parametrize("model_type", [TasksModel, EventsModel])
def test_what_has_no_exit_code_has_no_other_one(session_at, model_type):
    model = model_type(session_at(2000, "retries-and-exit-conditions"))
    column = model.column_names.index("Exit code")

    def codes(text):
        model.filter_text = text
        model.update()
        return {model.cells(model.key(at))[column].text for at in range(model.count)}

    everything = codes("")
    assert "" in everything or model_type is TasksModel
    assert codes("exit:!0") == everything - {"", "0"}
    assert codes("exit:!<2") == {code for code in everything if code and int(code) >= 2}
    assert codes("exit:!none") == everything


@pytest.mark.parametrize("model_type", [TasksModel, EventsModel])
def test_a_field_that_does_not_exist_is_named_in_the_empty_list(session_at, model_type):
    model = model_type(session_at(LATER_S))
    model.filter_text = "deal enttiy:1" if model_type is EventsModel else "deal sate:1"
    model.update()
    near = "entity" if model_type is EventsModel else "state"
    field = model.filter_text.split()[1].split(":")[0]
    assert model.nothing_shown()[1:] == (f"No field {field}: did you mean {near!r}?",)


@pytest.mark.parametrize("model_type", [NodesModel, PreparationModel])
def test_a_short_word_is_not_looked_for_in_ids_of_nodes_which_are_not_shown(session_at, model_type):
    model = model_type(session_at(LATER_S, "forty-nodes"))
    model.update()
    ids = {model.cells(model.key(at))[1].text: model.identity_of(model.key(at)) for at in range(model.count)}

    def found(text):
        model.filter_text = text
        model.update()
        return {model.cells(model.key(at))[1].text for at in range(model.count)}

    assert len(ids) == 40
    assert any("17" in node_id for name, node_id in ids.items() if "17" not in name)
    assert found("17") == {"n17"}
    assert found(ids["n3"][6:12]) == {"n3"}
    assert found(f"nodeid:*{ids['n3'][8:11]}*") >= {"n3"}
    assert model.identity_of(model.find("17")) == ids["n17"]


def test_what_no_column_has_says_nothing_about_words(session_at):
    session = session_at(LATER_S)
    for model in (NodesModel(session), TasksModel(session)):
        model.filter_text = "state:nowhere"
        model.update()
        assert len(model.nothing_shown()) == 1
