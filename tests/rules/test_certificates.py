"""Chapter 23: certificates of the account, of pools and nodes (CERT-1 to CERT-4)."""

from __future__ import annotations

import pytest

from tests.builders import (
    a_job,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    file,
    node,
    refusal,
    run,
    run_to,
    run_to_end,
)
from tests.rules.nodes import ON_NODE

ACCOUNT = {"certificates": [{"thumbprint": "AB12", "certificateFormat": "pfx", "data": "AAAA", "password": "s"}]}
REFERENCE = {"thumbprint": "ab12"}
OTHER = {"thumbprint": "cd34", "certificateFormat": "cer"}


def with_certificate(start, *jobs, references=(REFERENCE,), pool=None, **more):
    body = a_pool(certificateReferences=list(references), **(pool or {}))
    return start(*jobs, pool=body, account=ACCOUNT, **more)


def state(sim, thumbprint="ab12"):
    found = sim.world.certificates.find(thumbprint)
    return None if found is None else found.state.wire


def states(sim):
    return [event["to"] for event in events(sim, "CertificateStateChanged")]


def test_cert_1_a_certificate_can_be_referred_to_once_it_is_there(start):
    sim = start(account=ACCOUNT)
    body = {"id": "q", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    references = {"certificateReferences": [{"thumbprint": "CD34"}]}
    assert refusal(sim, "createPool", **body, **references) == "InvalidCertificateReferences"
    do(sim, "addCertificate", **OTHER)
    assert refusal(sim, "createPool", **body, **references) is None
    event = events(sim, "CertificateStateChanged")[0]
    assert (event["thumbprint"], event["from"], event["to"], event["rule"]) == ("cd34", None, "active", "CERT-1")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"thumbprint": "ab12"}, "CertificateExists"),
        ({"thumbprint": "no thumbprint"}, "InvalidPropertyValue"),
        (OTHER | {"thumbprintAlgorithm": "md5"}, "InvalidPropertyValue"),
        (OTHER | {"password": "s"}, "InvalidPropertyValue"),
    ],
)
def test_cert_1_what_is_no_certificate_is_refused(start, body, code):
    assert refusal(start(account=ACCOUNT), "addCertificate", **body) == code


def test_cert_2_a_node_has_the_certificates_of_its_boot(start):
    sim = with_certificate(start)
    run_to_end(sim)
    do(sim, "addCertificate", **OTHER)
    do(sim, "updatePool", poolId="p", certificateReferences=[{"thumbprint": "cd34"}])
    run(sim, minutes=5)
    assert [each.thumbprint for each in node(sim).certificates] == ["ab12"]
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert [each.thumbprint for each in node(sim).certificates] == ["cd34"]


SHOW = 'ls "$AZ_BATCH_CERTIFICATES_DIR"'


@pytest.mark.parametrize(
    ("visibility", "by_start_task", "by_task"),
    [
        (None, "sha1-ab12.pfx\n", "sha1-ab12.pfx\n"),
        (["starttask"], "sha1-ab12.pfx\n", ""),
        (["task"], "", "sha1-ab12.pfx\n"),
        (["remoteuser"], "", ""),
    ],
)
def test_cert_2_and_cert_3_tasks_find_the_certificates_that_are_for_them(start, visibility, by_start_task, by_task):
    reference = REFERENCE | ({"visibility": visibility} if visibility else {})
    show = a_shell(f'mkdir -p "$AZ_BATCH_CERTIFICATES_DIR"; {SHOW}')
    job = a_job(tasks=[a_task() | show], prep=show)
    sim = with_certificate(start, job, references=[reference], pool={"startTask": show})
    run_to_end(sim)
    assert file(sim, "startup/stdout.txt") == by_start_task
    assert file(sim, "workitems/j/job-1/t1/stdout.txt") == by_task
    assert file(sim, "workitems/j/job-1/jobpreparation/stdout.txt") == by_task


def test_cert_3_a_program_that_is_not_simulated_finds_them_too(start):
    sim = with_certificate(start, a_job(), references=[REFERENCE])
    run_to_end(sim)
    assert file(sim, "workitems/j/job-1/t1/certs/sha1-ab12.pfx") is not None


def test_cert_4_what_nobody_uses_is_deleted(start):
    sim = start(account=ACCOUNT)
    do(sim, "deleteCertificate", thumbprint="AB12")
    assert state(sim) == "deleting"
    assert refusal(sim, "deleteCertificate", thumbprint="ab12") == "CertificateBeingDeleted"
    assert refusal(sim, "addCertificate", thumbprint="ab12") == "CertificateBeingDeleted"
    assert refusal(sim, "cancelCertificateDeletion", thumbprint="ab12") == "CertificateBeingDeleted"
    run(sim, seconds=3)
    assert (state(sim), states(sim)) == (None, ["deleting", None])
    assert refusal(sim, "deleteCertificate", thumbprint="ab12") == "CertificateNotFound"
    do(sim, "addCertificate", thumbprint="ab12")
    assert state(sim) == "active"


def test_cert_4_what_a_pool_or_a_node_uses_is_not(start):
    sim = with_certificate(start)
    run_to_end(sim)
    do(sim, "deleteCertificate", thumbprint="ab12")
    run(sim, seconds=3)
    use = sim.world.certificates.find("ab12").use
    assert (state(sim), use.pools, use.nodes) == ("deletefailed", ("p",), (node(sim).id,))
    do(sim, "updatePool", poolId="p", certificateReferences=[])
    do(sim, "deleteCertificate", thumbprint="ab12")  # the node has it until it boots
    run(sim, seconds=3)
    use = sim.world.certificates.find("ab12").use
    assert (state(sim), use.pools, use.nodes) == ("deletefailed", (), (node(sim).id,))
    do(sim, "rebootNode", **ON_NODE)
    run(sim, minutes=5)
    do(sim, "deleteCertificate", thumbprint="ab12")
    run(sim, seconds=3)
    assert state(sim) is None


def test_cert_4_a_deletion_that_failed_can_be_taken_back(start):
    sim = with_certificate(start)
    assert refusal(sim, "cancelCertificateDeletion", thumbprint="ab12") == "CertificateStateActive"
    run_to(sim, minutes=5)
    do(sim, "deleteCertificate", thumbprint="ab12")
    run(sim, seconds=3)
    references = {"certificateReferences": [REFERENCE]}
    body = {"id": "q", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1} | references
    assert refusal(sim, "createPool", **body) == "InvalidCertificateReferences"
    do(sim, "cancelCertificateDeletion", thumbprint="ab12")
    assert states(sim) == ["deleting", "deletefailed", "active"]
    assert refusal(sim, "createPool", **body) is None


def test_cert_4_certificates_go_back_in_time_too(start):
    sim = start(account=ACCOUNT)
    run_to(sim, minutes=1)
    do(sim, "deleteCertificate", thumbprint="ab12")
    run_to_end(sim)
    recorded = list(sim.json_lines())
    sim.seek(30_000)
    assert (state(sim), len(sim.world.account.certificates)) == ("active", 1)
    sim.seek(120_000)
    assert (state(sim), len(sim.world.account.certificates)) == (None, 0)
    assert list(sim.json_lines()) == recorded
