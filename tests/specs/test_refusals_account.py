"""What cannot be in an account."""

import pytest

from engine.specs.account import Account, Certificate
from engine.specs.refusals import account_refusals, certificate_refusals


def refused(**account):
    return [".".join(map(str, refusal.path)) for refusal in account_refusals(Account.from_wire(account))]


def an_application(application_id="pricer", **more):
    return {"id": application_id, "versions": ["1"]} | more


def test_app_1_what_can_be_in_an_account():
    applications = [an_application(defaultVersion="1"), an_application("tool", versions=[], displayName="x" * 1024)]
    certificates = [{"thumbprint": "0A1b"}, {"thumbprint": "ff", "certificateFormat": "pfx", "password": "s"}]
    assert refused(applications=applications, certificates=certificates) == []


@pytest.mark.parametrize(
    ("applications", "place"),
    [
        ([an_application("no id")], "applications.0.id"),
        ([an_application(), an_application("Pricer")], "applications.1.id"),
        ([an_application(displayName="x" * 1025)], "applications.0.displayName"),
        ([an_application(versions=["1", "2", "1"])], "applications.0.versions.2"),
        ([an_application(versions=["x" * 65])], "applications.0.versions.0"),
        ([an_application(versions=[""])], "applications.0.versions.0"),
    ],
)
def test_app_1_what_cannot(applications, place):
    assert refused(applications=applications) == [place]


def test_app_7_and_acc_5_an_account_has_limits():
    versions = [str(number) for number in range(41)]
    assert refused(applications=[an_application(versions=versions[:40])]) == []
    assert refused(applications=[an_application(versions=versions)]) == ["applications.0.versions"]
    many = [an_application(f"a{number}") for number in range(21)]
    assert refused(applications=many[:20]) == []
    assert refused(applications=many) == ["applications"]


@pytest.mark.parametrize(
    ("certificates", "place"),
    [
        ([{"thumbprint": "xyz"}], "certificates.0.thumbprint"),
        ([{"thumbprint": ""}], "certificates.0.thumbprint"),
        ([{"thumbprint": "ab"}, {"thumbprint": "AB"}], "certificates.1.thumbprint"),
        ([{"thumbprint": "ab", "thumbprintAlgorithm": "md5"}], "certificates.0.thumbprintAlgorithm"),
        ([{"thumbprint": "ab", "certificateFormat": "cer", "password": "s"}], "certificates.0.password"),
    ],
)
def test_cert_1_what_is_no_certificate(certificates, place):
    assert refused(certificates=certificates) == [place]


def test_cert_1_a_certificate_that_is_added_is_looked_at_alike():
    assert certificate_refusals(Certificate.from_wire({"thumbprint": "ab"})) == []
    assert certificate_refusals(Certificate.from_wire({"thumbprint": "no"}))[0].path == ("thumbprint",)
