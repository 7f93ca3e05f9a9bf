"""Logins: what service principals and managed identities are given, what is refused, and which tokens hold."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import jwt
import pytest

from engine.rest.identity import Front, Identity, Nothing
from engine.rest.messages import Request
from engine.rest.service import Credentials

NOW_S = 1_767_600_000.0
TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47"
BATCH = "https://batch.core.windows.net/"


class Clock:
    now_s = NOW_S

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="module")
def shared():
    return Identity(utc_s=lambda: NOW_S)  # a key takes longer than a test


def post(identity, path, **form):
    answer = identity.login(Request("POST", path, body=urlencode(form).encode()))
    return answer.status, json.loads(answer.body)


def get(identity, path, query="", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = identity.managed(Request("GET", path, query, named))
    return answer.status, json.loads(answer.body)


def principal(**more):
    return {"grant_type": "client_credentials", "client_id": "app", "client_secret": "any", **more}


def test_a_service_principal_gets_a_token_for_its_scope_which_holds_until_it_expires(clock):
    identity = Identity(utc_s=clock)
    status, given = post(identity, f"/{TENANT}/oauth2/v2.0/token", **principal(scope=f"{BATCH}/.default"))
    assert (status, given["token_type"], given["expires_in"]) == (200, "Bearer", 3599)
    claims = jwt.decode(given["access_token"], options={"verify_signature": False})
    assert (claims["aud"], claims["tid"], claims["appid"], claims["exp"]) == (BATCH, TENANT, "app", NOW_S + 3599)
    assert {"iss", "oid", "sub"} <= set(claims)
    assert identity.fault(given["access_token"]) == ""
    clock.now_s += 3599
    assert identity.fault(given["access_token"]) == "the token has expired"


def test_the_older_form_names_a_resource_and_writes_numbers_as_text(shared):
    status, given = post(shared, "/contoso.onmicrosoft.com/oauth2/token", **principal(resource=BATCH))
    assert (status, given["expires_in"], given["expires_on"]) == (200, "3599", str(int(NOW_S) + 3599))
    assert shared.fault(given["access_token"]) == ""


@pytest.mark.parametrize(
    ("form", "error", "number"),
    [
        ({"grant_type": "password", "scope": "x/.default"}, "unsupported_grant_type", 70003),
        ({"client_id": "", "scope": "x/.default"}, "invalid_request", 900144),
        ({}, "invalid_request", 900144),
        ({"scope": "user.read"}, "invalid_scope", 1002012),
        ({"client_secret": "", "scope": "x/.default"}, "invalid_client", 7000216),
    ],
)
def test_a_login_that_entra_would_refuse_is_refused_with_its_words(shared, form, error, number):
    status, refused = post(shared, f"/{TENANT}/oauth2/v2.0/token", **principal(**form))
    assert (refused["error"], refused["error_codes"]) == (error, [number])
    assert status in (400, 401)
    assert refused["error_description"].startswith(f"AADSTS{number}: ")


def test_with_a_client_secret_no_other_secret_and_no_certificate_is_accepted():
    identity = Identity("mine")
    path, scope = f"/{TENANT}/oauth2/v2.0/token", f"{BATCH}.default"
    assert post(identity, path, **principal(scope=scope, client_secret="mine"))[0] == 200
    assert post(identity, path, **principal(scope=scope))[1]["error_codes"] == [7000215]
    assertion = {"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}
    assertion["client_assertion"] = jwt.encode({"iss": "app"}, "a secret that is long enough for this", "HS256")
    with_certificate = principal(scope=scope, client_secret="", **assertion)
    assert post(identity, path, **with_certificate)[1]["error_codes"] == [7000216]
    assert post(Identity(), path, **with_certificate)[0] == 200
    assert post(Identity(), path, **with_certificate | {"client_assertion": "no token"})[1]["error_codes"] == [50027]


def test_only_tokens_of_this_server_for_this_plane_hold(shared):
    _, given = post(shared, f"/{TENANT}/oauth2/token", **principal(resource="https://management.azure.com/"))
    assert shared.fault(given["access_token"]) == (
        "the token is for 'https://management.azure.com/', not for https://batch.core.windows.net/"
    )
    _, other = post(Identity(), f"/{TENANT}/oauth2/token", **principal(resource=BATCH))
    unsigned = jwt.encode({"aud": BATCH, "exp": NOW_S + 99}, "", "none")
    for token in (other["access_token"], unsigned, "x", "", "a.b.c", given["access_token"][:-4]):
        assert shared.fault(token).startswith("this server has not issued the token")
    assert "--tls" in Credentials().token_fault("x")


def test_app_service_gives_a_token_to_who_shows_the_header(shared):
    query = urlencode({"resource": BATCH, "api-version": "2019-08-01"})
    status, given = get(shared, "/msi/token", query, x_identity_header=shared.header)
    assert (status, given["resource"], given["token_type"]) == (200, BATCH, "Bearer")
    assert given["expires_on"] == str(int(NOW_S) + 86_400)
    assert shared.fault(given["access_token"]) == ""
    assert get(shared, "/msi/token", query, x_identity_header="é")[0] == 401
    assert get(shared, "/msi/token", query)[0] == 401


def test_the_metadata_service_wants_its_header_a_version_and_a_resource(shared):
    path, query = "/metadata/identity/oauth2/token", {"api-version": "2018-02-01", "resource": BATCH, "client_id": "me"}
    status, given = get(shared, path, urlencode(query), metadata="true")
    assert (status, given["client_id"], given["expires_in"]) == (200, "me", "86400")
    assert get(shared, path, urlencode(query))[1]["error_description"] == "Required metadata header not specified"
    for name in ("api-version", "resource"):
        rest = urlencode({key: value for key, value in query.items() if key != name})
        assert name in get(shared, path, rest, metadata="true")[1]["error_description"]


def test_a_library_that_validates_the_authority_finds_configuration_keys_and_hosts(shared):
    base = "https://127.0.0.1:8100"

    def read(path):
        return json.loads(shared.login(Request("GET", path, base=base)).body)

    configuration = read(f"/{TENANT}/v2.0/.well-known/openid-configuration")
    assert configuration["token_endpoint"] == f"{base}/{TENANT}/oauth2/v2.0/token"
    assert read("/common/discovery/instance")["metadata"][0]["preferred_network"] == "127.0.0.1:8100"
    _, given = post(shared, f"/{TENANT}/oauth2/token", **principal(resource=BATCH))
    key = jwt.PyJWKSet.from_dict(read(f"/{TENANT}/discovery/v2.0/keys")).keys[0]
    claims = jwt.decode(
        given["access_token"], key, ["RS256"], {"verify_exp": False, "verify_nbf": False, "verify_iat": False},
        audience=BATCH,
    )  # fmt: skip
    assert claims["iss"] == configuration["issuer"]


@pytest.mark.parametrize("path", ["/pools", "/jobs/oauth2", "/", "/msi", "/a/b/oauth2/token", "/metadata/instance"])
def test_other_requests_are_left_to_the_account(shared, path):
    assert shared.login(Request("GET", path)) is None
    assert shared.managed(Request("GET", path)) is None


def test_managed_identities_are_not_answered_where_clients_of_the_account_are(shared):
    front = Front([shared.login], Nothing())
    answer = front.answer(Request("GET", "/msi/token", headers={"x-identity-header": shared.header}))
    assert (answer.status, json.loads(answer.body)["code"]) == (404, "ResourceNotFound")


def test_garbage_in_a_form_is_refused_not_a_failure(shared):
    for body in (b"\xff", b"&".join(b"a=b" for _ in range(99)), b""):
        answer = shared.login(Request("POST", f"/{TENANT}/oauth2/token", body=body))
        assert answer.status == 400
