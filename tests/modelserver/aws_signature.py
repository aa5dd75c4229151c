"""Checks signatures of AWS (version 4) with botocore's own signer, as the real service checks them.

Looked up on 2026-11-17: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html (the
canonical request), reference_sigv-troubleshooting.html (the refusals), and CommonErrors of the Bedrock API reference.
"""

import datetime
import re
from typing import Any

from tests.modelserver.dialect import ModelRequest, Refusal

KEYS = {"AKIDEXAMPLE": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"}
"""Secrets by access key id."""
SESSION_TOKENS = {"good-session-token", ""}
BEARER_TOKENS = {"bedrock-api-key-good"}
REGION = "us-east-1"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
    r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})"
)
_SKEW = datetime.timedelta(minutes=5)


def refusal_of(request: ModelRequest) -> Refusal | None:
    """Return why AWS does not accept the credentials of a request."""
    sent = request.headers.get("authorization", "")
    if sent.startswith("Bearer "):
        if sent.removeprefix("Bearer ") in BEARER_TOKENS:
            return None
        return Refusal("Authentication failed: Please make sure your API Key is valid.", 403, "AccessDeniedException")
    if not sent:
        return Refusal("Missing Authentication Token", 403, "MissingAuthenticationTokenException")
    found = _AUTHORIZATION.fullmatch(sent)
    if found is None:
        return Refusal("Authorization header requires 'Credential'", 403, "IncompleteSignatureException")
    return _scope_refusal(request, found) or _signature_refusal(request, found)


def _scope_refusal(request: ModelRequest, found: "re.Match[str]") -> Refusal | None:
    key, date, region, service, signed, _ = found.groups()
    token = request.headers.get("x-amz-security-token", "")
    if token == "expired-session-token":
        return Refusal("The security token included in the request is expired", 403, "ExpiredTokenException")
    if key not in KEYS or token not in SESSION_TOKENS:
        return Refusal("The security token included in the request is invalid.", 403, "UnrecognizedClientException")
    names = set(signed.split(";"))
    needed = {"host", *(name for name in request.headers if name.startswith("x-amz-"))}
    if not needed <= names:
        return Refusal("'Host' and all 'x-amz-' headers must be signed", 403, "InvalidSignatureException")
    if (region, service) != (REGION, "bedrock"):
        return Refusal(
            f"Credential should be scoped to a valid region, not '{region}'.", 403, "InvalidSignatureException"
        )
    stamp = request.headers.get("x-amz-date", "")
    at = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    if abs(datetime.datetime.now(datetime.UTC) - at) > _SKEW or not stamp.startswith(date):
        return Refusal(f"Signature expired: {stamp}", 403, "InvalidSignatureException")
    return None


def _signature_refusal(request: ModelRequest, found: "re.Match[str]") -> Refusal | None:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    key, _, region, service, signed, signature = found.groups()
    headers = {name: request.headers[name] for name in signed.split(";")}
    url = f"http://{request.headers['host']}{request.path}"
    received: Any = AWSRequest(request.method, url, headers=headers, data=request.raw)
    received.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(key, KEYS[key]), service, region)
    text = signer.string_to_sign(received, signer.canonical_request(received))
    if signer.signature(text, received) == signature:
        return None
    return Refusal(
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access "
        "Key and signing method. Consult the service documentation for details.",
        403,
        "InvalidSignatureException",
    )
