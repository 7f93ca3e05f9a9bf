"""Tests of what the service refuses in an account."""

import pytest

from engine.specs.account import Account, ApplicationPackageReference, Certificate
from engine.specs.pool_refusals import account_refusals, certificate_refusals


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
    ("reference", "reason"),
    [
        ({"applicationId": "pricr"}, "the account has no application 'pricr'; did you mean 'pricer'?"),
        ({"applicationId": "x"}, "the account has no application 'x'"),
        ({"applicationId": "pricer"}, "pricer has no default version, so one has to be named"),
        ({"applicationId": "Pricer", "version": "3"}, "pricer has no version '3'; it has 1, 2"),
        ({"applicationId": "empty", "version": "3"}, "empty has no version '3'; it has none"),
    ],
)
def test_app_3_a_reference_that_means_nothing_says_what_would(reference, reason):
    applications = [an_application(versions=["1", "2"]), an_application("empty", versions=[])]
    account = Account.from_wire({"applications": applications})
    assert account.package_verdict(ApplicationPackageReference.from_wire(reference)) == reason


def test_app_3_a_reference_means_a_version():
    account = Account.from_wire({"applications": [an_application(versions=["1", "2"], defaultVersion="1", size=5)]})
    package = account.package_verdict(ApplicationPackageReference.from_wire({"applicationId": "PRICER"}))
    assert (package.application.id, package.version, package.size) == ("pricer", "1", 5)


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
    assert not list(certificate_refusals(Certificate.from_wire({"thumbprint": "ab"})))
    assert next(certificate_refusals(Certificate.from_wire({"thumbprint": "no"}))).path == ("thumbprint",)
