"""Templates: ARM and compiled Bicep, az's batch extension, Terraform's JSON; expressions, assumptions and mistakes."""

from __future__ import annotations

import json

import pytest

from engine import ScenarioError, Simulation, load_scenario
from engine.histories import kinds, templates
from engine.histories.expressions import ExpressionError, evaluate, is_expression
from engine.histories.files import scenario_lines
from engine.histories.kinds import FileKind, recognized
from engine.histories.reading import json_document
from engine.histories.templates import imported
from engine.views import results
from tui.cli import main

SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
IMAGE = {"publisher": "canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts", "version": "latest"}
MACHINE = {"virtualMachineConfiguration": {"imageReference": IMAGE, "nodeAgentSkuId": "batch.node.ubuntu 22.04"}}


def pool(name="[concat(parameters('account'), '/shared')]", nodes=2, **more):
    scale = more.pop("scale", {"fixedScale": {"targetDedicatedNodes": nodes}})
    properties = {"vmSize": "standard_d2s_v3", "deploymentConfiguration": MACHINE, "scaleSettings": scale}
    properties |= more.pop("properties", {})
    return {"type": "Microsoft.Batch/batchAccounts/pools", "apiVersion": "2024-07-01", "name": name} | more | {
        "properties": properties
    }  # fmt: skip


def template(*resources, **more):
    given = {"account": {"type": "string", "defaultValue": "contoso"}} | more.pop("parameters", {})
    return {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "parameters": given, "resources": list(resources)} | more


@pytest.fixture
def read(tmp_path):
    """Write a document, import it, and return the scenario with what was assumed and left out."""

    def made(document, *, parameters=None, **given):
        file = tmp_path / "main.json"
        file.write_text(json.dumps(document))
        other = None
        if parameters is not None:
            other = tmp_path / "parameters.json"
            other.write_text(json.dumps(parameters))
        found = imported(str(file), recognized(str(file)), given, other and str(other))
        scenario = load_scenario("imported", text="\n".join(scenario_lines(found)))
        return scenario, found.assumptions, [warning.message for warning in found.warnings]

    return made


def refusals(read, document, **more):
    with pytest.raises(ScenarioError) as refused:
        read(document, **more)
    return [problem.message for problem in refused.value.problems]


# -- expressions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[concat('a', 'it''s', string(3))]", "ait's3"),
        ("[concat(createArray(1), createArray(2, 3))]", [1, 2, 3]),
        ("[format('{0}-{1:D3} {{x}}', 'n', 7)]", "n-007 {x}"),
        ("[if(equals('A', 'a'), 1, fail())]", 1),
        ("[toUpper(substring('batch', 0, 3))]", "BAT"),
        ("[createObject('a', createArray(1, 2)).a[1]]", 2),
        ('[json(\'{"a": {"b": true}}\').A.b]', True),
        ("[coalesce(null(), null, 'x')]", "x"),
        ("[div(-7, 2)]", -3),
        ("[mod(7, 2)]", 1),
        ("[length(range(0, 4))]", 4),
        ("[union(createArray(1, 2), createArray(2, 3))]", [1, 2, 3]),
        ("[join(skip(split('a,b,c', ','), 1), '-')]", "b-c"),
        ("[padLeft(7, 3, '0')]", "007"),
        ("[and(true(), not(false), or(false, contains('abc', 'b')))]", True),
        ("[base64ToString(base64('x'))]", "x"),
        ("[environment().suffixes.storage]", "core.windows.net"),
        ("[last(split(resourceId('Microsoft.Batch/batchAccounts/pools', 'a', 'p'), '/'))]", "p"),
        ("[max(createArray(1, 5, 2))]", 5),
        ("[empty('')]", True),
    ],
)
def test_an_expression_has_the_value_that_a_deployment_gives_it(text, value):
    assert evaluate(text, {}) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[conct('a')]", "the function 'conct' is not known: did you mean concat?"),
        ("[concat('a'", "is no expression"),
        ("[int('x')]", "int cannot be evaluated"),
        ("[createArray(1)[4]]", "has nothing at '4'"),
        ("[createObject().b]", "there is no property 'b'"),
        ("[range(0, 99999999)]", "range cannot be evaluated"),
        ("[" + "not(" * 100 + "true()" + ")" * 100 + "]", "nested too deeply"),
        ("[substring(1, 2)]", "substring cannot be evaluated"),
    ],
)
def test_what_is_wrong_with_an_expression_is_said(text, words):
    with pytest.raises(ExpressionError) as wrong:
        evaluate(text, {})
    assert words in str(wrong.value)


def test_text_in_two_brackets_stands_for_itself():
    assert [is_expression(text) for text in ("[x()]", "[[x]", "x", "[x] y")] == [True, False, False, False]


def test_the_same_text_gives_the_same_unique_string_and_another_one_another():
    one, again, other = (evaluate(f"[uniqueString('{text}')]", {}) for text in ("a", "a", "b"))
    assert one == again != other
    assert len(one) == 13


# -- templates of the resource manager -------------------------------------------------------------------------------


def test_parameters_variables_and_defaults_make_the_pool(read):
    document = template(
        pool(nodes="[parameters('nodes')]", properties={"startTask": {"commandLine": "[variables('line')]"}}),
        parameters={"nodes": {"type": "int"}, "size": {"type": "string", "defaultValue": "[variables('size')]"}},
        variables={"line": "[format('/bin/sh -c \"install {0}\"', parameters('account'))]", "size": "s"},
    )
    scenario, assumed, warnings = read(document, nodes=7)
    spec = scenario.pools[0].spec
    assert (spec.id, spec.target_dedicated_nodes, spec.start_task.command_line) == (
        "shared", 7, '/bin/sh -c "install contoso"'
    )  # fmt: skip
    assert (assumed, warnings) == ((), [])


def test_a_file_of_parameters_is_read_and_set_wins(read):
    document = template(pool(nodes="[parameters('nodes')]"), parameters={"nodes": {"type": "int"}})
    parameters = {"$schema": "x", "contentVersion": "1.0.0.0", "parameters": {"nodes": {"value": 3}}}
    assert read(document, parameters=parameters)[0].pools[0].spec.target_dedicated_nodes == 3
    assert read(document, parameters={"nodes": 4})[0].pools[0].spec.target_dedicated_nodes == 4
    assert read(document, parameters=parameters, nodes=5)[0].pools[0].spec.target_dedicated_nodes == 5


def test_each_parameter_without_a_value_is_a_mistake_with_the_option_that_gives_it(read):
    document = template(
        pool(nodes="[add(parameters('nodes'), parameters('nodes'))]", properties={"vmSize": "[parameters('size')]"}),
        parameters={"nodes": {"type": "int"}, "size": {"type": "string"}, "unused": {"type": "string"}},
    )
    assert sorted(refusals(read, document)) == [
        "the parameter 'nodes' has no value: --set nodes=VALUE, or --parameters FILE",
        "the parameter 'size' has no value: --set size=VALUE, or --parameters FILE",
    ]
    assert "there is no parameter 'nodez'" in refusals(read, document, nodes=1, size="x", nodez=1)[0]


def test_copies_conditions_children_and_nested_templates_are_followed(read):
    inner = template(pool("[parameters('name')]"), parameters={"name": {"type": "string"}})
    document = template(
        pool("[concat('contoso/p', copyIndex(1))]", copy={"name": "pools", "count": 2}),
        pool("contoso/never", condition="[equals(1, 2)]"),
        {
            "type": "Microsoft.Batch/batchAccounts",
            "name": "contoso",
            "location": "[resourceGroup().location]",
            "properties": {"poolAllocationMode": "BatchService", "autoStorage": {"storageAccountId": "x"}},
            "resources": [{**pool("child"), "type": "pools"}],
        },
        {
            "type": "Microsoft.Resources/deployments",
            "name": "inner",
            "properties": {
                "expressionEvaluationOptions": {"scope": "inner"},
                "parameters": {"name": {"value": "[concat('contoso/', 'nested')]"}},
                "template": inner,
            },
        },
        {"type": "Microsoft.Network/virtualNetworks", "name": "v", "properties": {}},
        {"type": "Microsoft.Network/virtualNetworks", "name": "w", "properties": {}},
    )
    scenario, assumed, warnings = read(document)
    assert [entry.spec.id for entry in scenario.pools] == ["p1", "p2", "child", "nested"]
    assert scenario.account.name == "contoso"
    assert assumed == ("Assumed: resourceGroup().location is westeurope.",)
    assert warnings == ["left out: 2 of microsoft.network/virtualnetworks"]


def test_copies_of_properties_and_symbolic_names_are_what_bicep_compiles_to(read):
    variables = {"copy": [{"name": "names", "count": 2, "input": "[format('v{0}', copyIndex('names'))]"}]}
    metadata = {"copy": [{"name": "metadata", "count": 2, "input": {
        "name": "[variables('names')[copyIndex('metadata')]]", "value": "x"
    }}]}  # fmt: skip
    document = template(languageVersion="2.0", variables=variables)
    document["resources"] = {
        "account": {"type": "Microsoft.Batch/batchAccounts", "name": "contoso", "existing": True},
        "pool": pool(properties=metadata),
    }
    scenario, _, _ = read(document)
    assert [item.name for item in scenario.pools[0].spec.metadata] == ["v0", "v1"]


def test_formulas_packages_and_applications_come_along(read):
    application = "[resourceId('Microsoft.Batch/batchAccounts/applications', parameters('account'), 'blender')]"
    formula = {"autoScale": {"formula": "$TargetDedicatedNodes = 1;", "evaluationInterval": "PT10M"}}
    document = template(
        pool(scale=formula, properties={"applicationPackages": [{"id": application, "version": "3.0"}]}),
        {"type": "Microsoft.Batch/batchAccounts/applications", "name": "contoso/blender", "properties": {}},
        {"type": "Microsoft.Batch/batchAccounts/applications/versions", "name": "contoso/blender/3.0"},
    )
    scenario, _, warnings = read(document)
    assert scenario.account.applications[0].versions == ("3.0",)
    assert scenario.pools[0].spec.enable_auto_scale
    assert warnings == []


def test_what_only_azure_knows_is_a_stand_in_that_is_named(read):
    document = template(
        pool(properties={"metadata": [{"name": "id", "value": "[reference('vault').vaultUri]"}]}),
    )
    _, assumed, _ = read(document)
    assert assumed == ("Assumed: the vaultUri of vault is a stand-in.",)


def test_what_a_scenario_does_not_know_is_left_out_and_named(read):
    scenario, _, warnings = read(template(pool(properties={"newProperty": 1, "taskSlotsPerNode": 4})))
    assert scenario.pools[0].spec.task_slots_per_node == 4
    assert len(warnings) == 1
    assert warnings[0].startswith("left out: pools[0].properties.newProperty: ")


def test_all_mistakes_of_a_template_are_reported_at_once(read):
    document = template(pool("[nope()]"), pool("[parameters('gone')]"), pool("contoso/[x"))
    assert [message.partition(":")[0] for message in refusals(read, document)[:2]] == [
        "the function 'nope' is not known", "there is no parameter 'gone'"
    ]  # fmt: skip


def test_a_template_without_batch_is_said_to_be_so(read):
    document = template({"type": "Microsoft.Network/virtualNetworks", "name": "v"})
    assert refusals(read, document) == ["nothing in it is of Azure Batch"]


def test_a_parameter_that_is_defined_by_itself_is_a_mistake(read):
    document = template(pool(nodes="[variables('a')]"), variables={"a": "[variables('b')]", "b": "[variables('a')]"})
    assert "is defined by itself" in refusals(read, document)[0]


# -- az's batch extension --------------------------------------------------------------------------------------------


def test_a_job_of_the_extension_runs_on_a_pool_that_is_assumed(read):
    document = {
        "parameters": {"name": {"type": "string"}, "frames": {"type": "int", "defaultValue": 3}},
        "job": {
            "type": "Microsoft.Batch/batchAccounts/jobs",
            "apiVersion": "2016-12-01",
            "properties": {
                "id": "[parameters('name')]-[parameters('frames')]",
                "poolInfo": {"poolId": "render"},
                "taskFactory": {
                    "type": "parametricSweep",
                    "parameterSets": [{"start": 1, "end": "[parameters('frames')]"}],
                    "repeatTask": {
                        "commandLine": "render {0}",
                        "resourceFiles": [{"source": {"fileGroup": "scenes"}, "filePath": "a"}],
                        "outputFiles": [
                            {
                                "filePattern": "*.png",
                                "destination": {"autoStorage": {"fileGroup": "out", "path": "x"}},
                                "uploadOptions": {"uploadCondition": "taskSuccess"},
                            }
                        ],
                    },
                },
                "onAllTasksComplete": "terminateJob",
            },
        },
    }
    scenario, assumed, warnings = read(document, name="night")
    assert scenario.jobs[0].spec.id == "night-3"
    assert "Assumed: pool render has two nodes of standard_d2s_v3." in assumed
    assert "Assumed: the file group out is the container https://autostorage.blob.core.windows.net/fgrp-out." in assumed
    assert warnings == []
    simulation = Simulation(scenario)
    simulation.run_until(simulation.end_ms)
    assert results.summary(simulation).tasks.total == 3


def test_a_task_for_each_file_is_made_for_files_that_are_assumed(read):
    factory = {
        "type": "taskPerFile",
        "source": {"fileGroup": "music"},
        "repeatTask": {"commandLine": "convert {fileName} {fileNameWithoutExtension}.mp3"},
    }
    scenario, assumed, _ = read(
        {"job": {"properties": {"id": "j", "poolInfo": {"poolId": "p"}, "taskFactory": factory}}}
    )
    assert "Assumed: there are 10 files in music, file-1 to file-10." in assumed
    simulation = Simulation(scenario)
    simulation.run_until(60_000)
    assert results.summary(simulation).tasks.total == 10


def test_an_old_pool_of_the_extension_has_the_nodes_that_it_names(read):
    document = {"pool": {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicated": 4}}
    assert read(document)[0].pools[0].spec.target_dedicated_nodes == 4


# -- Terraform -------------------------------------------------------------------------------------------------------

TERRAFORM_POOL = {
    "name": "shared",
    "vm_size": "Standard_D2s_v3",
    "node_agent_sku_id": "batch.node.ubuntu 22.04",
    "max_tasks_per_node": 2,
    "storage_image_reference": [{**IMAGE, "id": ""}],
    "fixed_scale": [{"target_dedicated_nodes": 3, "target_low_priority_nodes": 1, "resize_timeout": "PT15M"}],
    "auto_scale": [],
    "metadata": {"team": "risk"},
    "start_task": [
        {
            "command_line": "/bin/true",
            "wait_for_success": True,
            "task_retry_maximum": 1,
            "common_environment_properties": {"A": "1"},
            "user_identity": [{"auto_user": [{"elevation_level": "Admin", "scope": "Pool"}], "user_name": ""}],
            "resource_file": [{"http_url": "https://a.b/c", "file_path": "c"}],
        }
    ],
}


@pytest.mark.parametrize("root", ["values", "planned_values"])
def test_a_state_or_plan_of_terraform_has_its_pools_and_jobs(read, root):
    module = {
        "resources": [
            {"type": "azurerm_batch_account", "values": {"name": "contoso", "location": "northeurope"}},
            {"type": "azurerm_batch_pool", "mode": "managed", "values": TERRAFORM_POOL},
            {"type": "azurerm_batch_pool", "mode": "data", "values": {"name": "other"}},
            {"type": "azurerm_resource_group", "values": {"name": "g"}},
        ],
        "child_modules": [
            {
                "resources": [
                    {"type": "azurerm_batch_job", "values": {"name": "night", "batch_pool_id": "/a/pools/shared"}}
                ]
            }
        ],
    }
    scenario, _, warnings = read({"format_version": "1.0", root: {"root_module": module}})
    spec = scenario.pools[0].spec
    assert [entry.spec.id for entry in scenario.pools] == ["shared"]
    assert (spec.target_dedicated_nodes, spec.target_low_priority_nodes, spec.task_slots_per_node) == (3, 1, 2)
    assert spec.start_task.environment_settings[0].name == "A"
    assert spec.start_task.resource_files[0].http_url == "https://a.b/c"
    assert scenario.jobs[0].spec.pool_info.pool_id == "shared"
    assert scenario.account.location == "northeurope"
    assert warnings == ["left out: azurerm_resource_group"]


# -- kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        (template(), FileKind.ARM),
        ({"$schema": SCHEMA, "resources": {}}, FileKind.ARM),
        ({"parameters": {}, "pool": {}}, FileKind.TEMPLATE),
        ({"job": {"type": "x"}}, FileKind.TEMPLATE),
        ({"format_version": "1.0", "values": {}}, FileKind.TERRAFORM),
        ({"id": "j", "poolInfo": {"poolId": "p"}}, None),
        ({"scenario": "s", "pool": {}}, None),
        ([{"id": "p"}], None),
    ],
)
def test_a_kind_is_known_by_its_keys(tmp_path, document, kind):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document))
    found = recognized(str(file))
    assert (found and found.kind) is kind


def test_a_template_is_read_once(tmp_path, monkeypatch):
    file, read = str(tmp_path / "main.json"), []
    (tmp_path / "main.json").write_text(json.dumps(template(pool())))
    for module in (kinds, templates):
        monkeypatch.setattr(module, "json_document", lambda path: read.append(path) or json_document(path))
    assert main(["import", file]) == 0
    assert read == [file]


@pytest.mark.parametrize(
    "resources", [None, 1, "x", [None, 3, []], [{"type": 7, "name": []}], {"a": {"copy": {"count": -1}}}]
)
def test_a_strange_document_is_refused_not_a_failure(read, resources):
    assert refusals(read, {"$schema": SCHEMA, "contentVersion": "1", "resources": resources})
