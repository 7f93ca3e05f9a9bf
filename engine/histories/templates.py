"""Templates and states of deployments as scenarios: ARM and compiled Bicep, az's batch extension, Terraform's JSON.

What a template says is evaluated as a deployment would: parameters and variables, conditions, copies, nested
deployments. Its pools, applications and jobs become a scenario. Whatever had to be assumed becomes a comment, and what
is no part of Batch, or means nothing to a simulation, one warning.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from engine.base.errors import Problem, ScenarioError
from engine.base.values import quoted, shortened
from engine.histories.expressions import GROUP, ExpressionError, Reference, Value, evaluate, is_expression
from engine.histories.files import Imported, Mistakes, batch_id, without_mistakes
from engine.histories.kinds import FileKind, Recognized
from engine.histories.reading import json_document
from engine.histories.terraform import job_of, pool_of
from engine.scenario.load import load

Body = dict[str, Any]
_BATCH = "microsoft.batch/batchaccounts"
_MOST = 10_000  # resources of a template
_LOCATION = "westeurope"
_DEPLOYMENT = "microsoft.resources/deployments"


class _Scope:
    """What the expressions of one template can name: parameters, variables, and the numbers of copies."""

    def __init__(
        self, template: Body, given: Mapping[str, Value], reader: _Reader, place: str, *, is_mixed: bool = False
    ) -> None:
        """Read nothing yet. ``is_mixed`` says that text may have expressions in it, as az's batch extension has it."""
        self._is_mixed = is_mixed
        self._parameters = _insensitive(template.get("parameters"))
        self._variables = _insensitive(template.get("variables"))
        self._given = _insensitive(given)
        self._reader = reader
        self._place = place
        self._under_way: set[str] = set()
        self._known: dict[tuple[str, str], Value] = {}
        self.copies: dict[str, int] = {}
        self.copy = ""
        self.functions: Mapping[str, Callable[..., Value]] = {
            "parameters": partial(self._named, "parameter"),
            "variables": partial(self._named, "variable"),
            "copyindex": self._copy_index,
            "reference": self._reference,
            "resourcegroup": self._group,
            "deployment": lambda: {"name": "deployment", "properties": {"template": {"contentVersion": "1.0.0.0"}}},
            "newguid": partial(self._assumed, "newGuid()", _NIL),
            "utcnow": partial(self._assumed, "utcNow()", "2026-01-05T08:00:00Z"),
        }

    def value(self, given: Value) -> Value:
        """Return a value of the template with all expressions in it evaluated; properties that are null are absent."""
        if isinstance(given, str):
            return self._text(given)
        if isinstance(given, list):
            return [self.value(inner) for inner in given]
        if isinstance(given, dict):
            copies = given.get("copy")
            plain = {name: inner for name, inner in given.items() if not (name == "copy" and isinstance(inner, list))}
            found = {str(self.value(name)): self.value(inner) for name, inner in plain.items()}
            for copy in copies if isinstance(copies, list) else ():
                found[str(copy["name"])] = list(self.repeated(copy, partial(self.value, copy["input"])))
            return found
        return given

    def _text(self, given: str) -> Value:
        if self._is_mixed and not _ONE.fullmatch(given):
            return _ONE.sub(lambda found: str(evaluate(found[0], self.functions)), given)
        if not is_expression(given):
            return given[1:] if given.startswith("[[") else given
        return evaluate(given, self.functions)

    def repeated(self, copy: Mapping[str, Any], one: Callable[[], Value]) -> Iterator[Value]:
        """Yield what ``one`` returns for each number of a copy."""
        count, outer = self.value(copy["count"]), self.copy
        if not isinstance(count, int) or not 0 <= count <= _MOST:
            raise ExpressionError(f"a copy cannot be repeated {shortened(str(count))} times")
        self.copy = str(copy.get("name", ""))
        for index in range(count):
            self.copies[self.copy] = index
            yield one()
        self.copy = outer

    def _named(self, kind: str, name: str) -> Value:
        """Return a parameter or variable; both are evaluated when they are first named."""
        key = name.lower()
        if (kind, key) in self._known:
            return self._known[kind, key]
        if key in self._under_way:
            raise ExpressionError(f"the {kind} {quoted(name)} is defined by itself")
        self._under_way.add(key)
        try:
            found = self._known[kind, key] = self._parameter(name) if kind == "parameter" else self._variable(name)
        finally:
            self._under_way.discard(key)
        return found

    def _variable(self, name: str) -> Value:
        copied = next((one for one in self._variables.get("copy", ()) if one["name"].lower() == name.lower()), None)
        if copied is not None:
            return list(self.repeated(copied, lambda: self.value(copied["input"])))
        if name.lower() not in self._variables:
            raise ExpressionError(f"there is no variable {quoted(name)}")
        return self.value(self._variables[name.lower()])

    def _parameter(self, name: str) -> Value:
        key = name.lower()
        if key in self._given:
            return self._given[key]
        declared = self._parameters.get(key)
        if declared is None:
            raise ExpressionError(f"there is no parameter {quoted(name)}")
        if isinstance(declared, dict) and "defaultValue" in declared:
            return self.value(declared["defaultValue"])
        self._reader.missing.setdefault(name, self._place)
        kind = str(declared.get("type", "string")).lower() if isinstance(declared, dict) else "string"
        return {"int": 1, "bool": False, "array": [], "object": {}}.get(kind, "missing")

    def _copy_index(self, name: Value = None, offset: int = 0) -> int:
        if isinstance(name, int):
            name, offset = None, name
        return self.copies[self.copy if name is None else str(name)] + offset

    def _reference(self, name: str, *_: Value) -> Reference:
        return Reference(str(name).rpartition("/")[2], self._reader.assume)

    def _group(self) -> Body:
        return {
            "name": GROUP,
            "location": self._assumed("resourceGroup().location", _LOCATION),
            "id": f"/{GROUP}",
            "tags": {},
        }

    def _assumed(self, what: str, value: str, *_: Value) -> str:
        self._reader.assume(f"{what} is {value}")
        return value


_ONE = re.compile(r"\[\s*(?:parameters|variables|concat)\s*\((?:[^\[\]']|'[^']*')*\)\s*\]", re.IGNORECASE)
_NIL = "00000000-0000-0000-0000-000000000000"


def _insensitive(given: object) -> Body:
    return {str(name).lower(): value for name, value in given.items()} if isinstance(given, dict) else {}


class _Reader:
    """Reads a document, and collects what a scenario has of it."""

    def __init__(self, file: str) -> None:
        self.mistakes = Mistakes(file)
        self.missing: dict[str, str] = {}  # parameters without a value, and where they are named
        self.assumptions: dict[str, None] = {}
        self.account: Body = {}
        self.pools: list[Body] = []
        self.jobs: list[Body] = []
        self.applications: dict[str, Body] = {}
        self.others: Counter[str] = Counter()
        self._seen = 0

    def assume(self, what: str) -> None:
        """Keep an assumption."""
        self.assumptions[f"Assumed: {what}."] = None

    def template(self, template: Body, given: Mapping[str, Value], path: str = "") -> None:
        """Read a template of the resource manager."""
        scope = _Scope(template, given, self, path or "parameters")
        for key, resource in _keyed(template.get("resources")):
            self._repeated(resource, scope, f"{path}resources.{key}", "", "")

    def batch_template(self, template: Body, given: Mapping[str, Value]) -> None:
        """Read a template of az's batch extension or of Batch Explorer: a pool or a job, with parameters."""
        scope = _Scope(template, given, self, "parameters", is_mixed=True)
        for kind, found in (("pool", self.pools), ("job", self.jobs)):
            for body in _listed(template.get(kind)):
                whole: Body = {}
                with self._understood(kind):
                    whole = scope.value(body)
                found.append(self._without_extensions(dict(whole.get("properties", whole))))

    def _without_extensions(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return a body of the extension in the words of the service: its file groups are containers, among others."""
        if isinstance(value, list):
            return [self._without_extensions(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        found: Body = {
            _EXTENDED.get(str(name), str(name)): self._without_extensions(inner) for name, inner in value.items()
        }
        group = found.pop("autoStorage", None)
        if isinstance(group, dict):
            url = f"https://autostorage.blob.core.windows.net/{_container(group)}"
            found["container"] = {"containerUrl": url} | {key: group[key] for key in ("path",) if key in group}
            self.assume(f"the file group {group.get('fileGroup', '')} is the container {url}")
        source = found.pop("source", None) if "filePath" in found or "source" in found else None
        if isinstance(source, dict) and found.get("type") == "taskPerFile":
            return self._of_files(found, source)
        if isinstance(source, dict):
            if "fileGroup" in source:
                found["autoStorageContainerName"] = _container(source)
            found |= {_SOURCES[key]: source[key] for key in _SOURCES if source.get(key)}
        return found

    def _of_files(self, factory: Body, source: Body) -> Body:
        """Return a task factory that makes a task for each of so many files, which only the storage account knows."""
        where = source.get("fileGroup") or source.get("containerUrl") or "the container"
        self.assume(f"there are {_FILES} files in {where}, file-1 to file-{_FILES}")
        text = json.dumps(factory.get("repeatTask", {}))
        for name in ("url", "filePath", "fullName", "fileNameWithoutExtension", "fileName"):
            text = text.replace(f"{{{name}}}", "file-{0}")
        return {
            "type": "parametricSweep",
            "parameterSets": [{"start": 1, "end": _FILES}],
            "repeatTask": json.loads(text),
        }

    def _repeated(self, resource: Value, scope: _Scope, path: str, kind: str, name: str) -> None:
        """Read a resource as often as it is copied."""
        if not isinstance(resource, dict):
            return
        copy = resource.get("copy")
        read = partial(self._resource, resource, scope, path, kind, name)
        with self._understood(path):
            if isinstance(copy, dict):
                for _ in scope.repeated(copy, read):
                    pass
            else:
                read()

    @contextmanager
    def _understood(self, path: str) -> Iterator[None]:
        """Keep what is wrong with an expression in the block as a mistake at a place of the document."""
        try:
            yield
        except ExpressionError as error:
            self.mistakes.report(str(error), path)
        except (KeyError, TypeError, RecursionError):
            self.mistakes.report("the template is not understood here", path)

    def _resource(self, resource: Body, scope: _Scope, path: str, outer_kind: str, outer_name: str) -> None:
        self._seen += 1
        if self._seen > _MOST:
            self.mistakes.refuse(f"has more than {_MOST:,} resources")
        if scope.value(resource.get("condition", True)) is False or resource.get("existing") is True:
            return
        kind = str(scope.value(resource.get("type", ""))).partition("@")[0].lower()
        name = str(scope.value(resource.get("name", "")))
        if outer_kind and not kind.startswith(outer_kind):
            kind, name = f"{outer_kind}/{kind}", f"{outer_name}/{name}"
        if kind == _DEPLOYMENT:
            self._nested(resource, scope, path)
            return
        if not kind.startswith(_BATCH):
            self.others[kind or "a resource without a type"] += 1
        else:
            properties = scope.value(resource.get("properties", {}))
            more: Body = {key: scope.value(resource[key]) for key in ("identity", "location") if key in resource}
            self._keep(kind.removeprefix(_BATCH).strip("/"), name, properties, more)
        for at, inner in _keyed(resource.get("resources")):
            self._repeated(inner, scope, f"{path}.resources.{at}", kind, name)

    def _nested(self, resource: Body, scope: _Scope, path: str) -> None:
        """Read the template within a template."""
        properties = resource.get("properties", {})
        template = properties.get("template")
        if not isinstance(template, dict):
            self.others["a linked template, which is another file"] += 1
            return
        given = _values(scope.value(properties.get("parameters", {})))
        options = scope.value(properties.get("expressionEvaluationOptions", {}))
        if str(options.get("scope", "outer")).lower() == "inner":
            self.template(template, given, f"{path}.properties.template.")
            return
        for key, inner in _keyed(template.get("resources")):
            self._repeated(inner, scope, f"{path}.properties.template.resources.{key}", "", "")

    def _keep(self, kind: str, name: str, properties: Body, more: Body) -> None:
        """Keep what a scenario has of a resource of Batch."""
        last = name.rpartition("/")[2]
        match kind:
            case "":
                self.account = {"name": last, "location": more.get("location", _LOCATION)}
                if "poolAllocationMode" in properties:
                    self.account["poolAllocationMode"] = properties["poolAllocationMode"]
            case "pools":
                identity = {"identity": more["identity"]} if "identity" in more else {}
                self.pools.append({"name": last, **identity, "properties": properties})
            case "applications":
                self._application(last).update(properties)
            case "applications/versions":
                self._application(name.split("/")[-2]).setdefault("versions", []).append(last)
            case _:
                self.others[f"{_BATCH}/{kind}"] += 1

    def _application(self, name: str) -> Body:
        return self.applications.setdefault(name, {"id": name})

    def terraform(self, module: Body) -> None:
        """Read a module of a state or plan of Terraform."""
        for resource in _listed(module.get("resources")):
            kind, values = str(resource.get("type", "")), resource.get("values") or {}
            if resource.get("mode") == "data":
                continue
            match kind:
                case "azurerm_batch_account":
                    self._keep("", str(values.get("name", "")), {}, {"location": values.get("location", _LOCATION)})
                case "azurerm_batch_pool":
                    self.pools.append(pool_of(values))
                case "azurerm_batch_job":
                    self.jobs.append(job_of(values))
                case "azurerm_batch_application":
                    self._application(str(values.get("name", "")))
                case _:
                    self.others[kind] += 1
        for inner in _listed(module.get("child_modules")):
            self.terraform(inner)

    def imported(self) -> Imported:
        """Return the scenario. Raises ScenarioError."""
        for name, path in self.missing.items():
            self.mistakes.report(
                f"the parameter {quoted(name)} has no value: --set {name}=VALUE, or --parameters FILE", path
            )
        self.mistakes.check()
        if not (self.pools or self.jobs or self.applications or self.account):
            self.mistakes.refuse("nothing in it is of Azure Batch")
        for kind, count in sorted(self.others.items()):
            self.mistakes.warn(f"left out: {f'{count} of ' * (count > 1)}{kind}")
        return self._accepted(self._document())

    def _document(self) -> Body:
        account = {"name": "batchdeck", **self.account} if self.account else {}
        if self.applications:
            account["applications"] = list(self.applications.values())
        used = {reference for pool in self.pools for reference in _packages(pool)}
        missing = sorted(used - {name.lower() for name in self.applications})
        if missing:
            account.setdefault("applications", []).extend(
                {"id": name, "versions": ["1"], "defaultVersion": "1"} for name in missing
            )
            self.assume(f"the account has the application {', '.join(missing)} in version 1")
        jobs = [{"id": f"job-{at}", **job} for at, job in enumerate(self.jobs, 1)]
        self._add_pools(jobs)
        parts = {"account": account, "pools": self.pools, "jobs": jobs}
        return {"scenario": "imported", **{name: part for name, part in parts.items() if part}}

    def _add_pools(self, jobs: Iterable[Body]) -> None:
        """Add what the pools of the document lack, and pools that only jobs name."""
        for pool in self.pools:
            if "properties" not in pool and all(pool.get(name) in (None, False) for name in _SCALES):
                pool["targetDedicatedNodes"] = 1
                self.assume(f"pool {pool.get('id', '')} has one node")
        known = {str(pool.get("id", pool.get("name", ""))).lower() for pool in self.pools}
        for job in jobs:
            pool_id = (job.get("poolInfo") or {}).get("poolId")
            if isinstance(pool_id, str) and pool_id and pool_id.lower() not in known:
                known.add(pool_id.lower())
                self.pools.append({"id": pool_id, "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 2})
                self.assume(f"pool {pool_id} has two nodes of standard_d2s_v3")

    def _accepted(self, document: Body) -> Imported:
        """Return the scenario without what a scenario does not know: what is written is always accepted."""
        try:
            for problem, *_ in without_mistakes(document, partial(_problems, document)):
                self.mistakes.warn(f"left out: {problem.path}: {problem.message}")
        except ScenarioError as error:
            raise ScenarioError(
                [p._replace(file=self.mistakes.file, line=0, column=0) for p in error.problems]
            ) from None
        return Imported(document, tuple(self.assumptions), tuple(self.mistakes.warnings))


_FILES = 10  # that a task is made for where only the storage account knows their number
_EXTENDED = {
    "targetDedicated": "targetDedicatedNodes",
    "uploadDetails": "uploadOptions",
    "taskStatus": "uploadCondition",
}
_SOURCES = {"prefix": "blobPrefix", "containerUrl": "storageContainerUrl", "url": "httpUrl"}


def _container(group: Body) -> str:
    return f"fgrp-{batch_id(str(group.get('fileGroup', ''))).lower()}"


def _listed(value: object) -> list[Body]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _keyed(resources: object) -> Iterable[tuple[str | int, Value]]:
    """Return the resources of a template with their names or numbers: newer ones have them by symbolic names."""
    if isinstance(resources, dict):
        return resources.items()
    return enumerate(resources if isinstance(resources, list) else ())


def _packages(pool: Body) -> Iterable[str]:
    for one in pool.get("properties", pool).get("applicationPackages", ()):
        if isinstance(one, dict):
            yield re.sub(r"/versions/[^/]*$", "", str(one.get("id", ""))).rpartition("/")[2].lower()


_SCALES = ("targetDedicatedNodes", "targetLowPriorityNodes", "enableAutoScale")


def _problems(document: Body) -> list[Problem]:
    try:
        load("imported", text=json.dumps(document))
    except ScenarioError as error:
        return error.problems
    return []


def _values(given: object) -> Body:
    """Return the values of a file of parameters, or of those of a nested deployment."""
    found = given.get("parameters", given) if isinstance(given, dict) else {}
    return {
        name: value["value"] if isinstance(value, dict) and "value" in value else value
        for name, value in found.items()
        if not (isinstance(value, dict) and "reference" in value) and not str(name).startswith("$")
    }


def imported(file: str, found: Recognized, given: Mapping[str, Value], parameters: str | None = None) -> Imported:
    """Return the scenario that a template or state describes.

    Args:
        file: The name of the file.
        found: What it is, and its content if that has been read.
        given: Values of parameters, which win over those of the file of parameters.
        parameters: The name of a file of parameters.

    Raises:
        ScenarioError: It cannot be read, has parameters without values or expressions that are wrong, or has nothing
            of Batch; all mistakes at once.
    """
    kind, document = found
    document = json_document(file) if document is None else document
    values = {} if parameters is None else _values(json_document(parameters))
    reader = _Reader(file)
    if not isinstance(document, dict):
        reader.mistakes.refuse(f"this is not {kind.words}")
    unknown = [name for name in given if name.lower() not in _insensitive(document.get("parameters"))]
    for name in unknown:
        reader.mistakes.report(f"there is no parameter {quoted(name)}", "--set")
    every = {**_insensitive(values), **_insensitive(given)}
    if kind is FileKind.TERRAFORM:
        root = document.get("planned_values") or document.get("values") or {}
        reader.terraform(root.get("root_module") or {})
    elif kind is FileKind.TEMPLATE:
        reader.batch_template(document, every)
    else:
        reader.template(document, every)
    return reader.imported()
