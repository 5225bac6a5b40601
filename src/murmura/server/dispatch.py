"""A request becomes a call of a machine, and its result or its refusal a reply: without a web framework.

The same table of endpoints is described as OpenAPI.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from murmura.core.errors import MurmuraError
from murmura.core.version import __version__
from murmura.server.endpoints import BINARY, EVENTS, JSON, TEXT, Endpoint, HttpRequest
from murmura.wire.refusals import STATUS, RefusedError, malformed
from murmura.wire.transport import VERSION_HEADER, HttpReply
from murmura.wire.wire import check_version

M = TypeVar("M")
Table = tuple[Endpoint[M], ...]


def respond(
    machine: M, table: Table[M], method: str, path: str, body: bytes, headers: Mapping[str, str]
) -> HttpReply:
    """The reply of a machine to a whole request; names of headers are in lower case."""
    try:
        endpoint, params = match(table, method, path)
        check_size(len(body), endpoint.limit(machine))
        request = HttpRequest(body, params, headers)
        if endpoint.prelude is not None and len(body) >= endpoint.prelude[0]:
            check_prelude(machine, endpoint, replace(request, content=body[: endpoint.prelude[0]]))
    except RefusedError as error:
        return refusal(error)
    return answer(machine, endpoint, request)


def match(table: Table[M], method: str, path: str) -> tuple[Endpoint[M], dict[str, str]]:
    """The row of an address, and what its path says; refuses an address that is not in the table."""
    found = False
    for endpoint in table:
        fits = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", endpoint.path), path)
        if fits and endpoint.method == method:
            return endpoint, fits.groupdict()
        found = found or fits is not None
    raise unrouted("method" if found else "unknown")


def unrouted(code: str) -> RefusedError:
    """Why no row fits a request: its address is `unknown`, or does not take its `method`."""
    if code == "method":
        return RefusedError(code, "this address does not take that method.")
    return RefusedError("unknown", "there is nothing at this address.")


def check_size(size: int, limit: int) -> None:
    """Refuse a body that is longer than what is read here."""
    if size > limit:
        raise RefusedError("oversize", f"a body here must have at most {limit} bytes.")


def check_prelude(machine: M, endpoint: Endpoint[M], request: HttpRequest) -> None:
    """Refuse a request by the first bytes of its body; every deliberate no is typed."""
    try:
        _check_spoken(request)
        if endpoint.prelude is not None:
            endpoint.prelude[1](machine, request)
    except RefusedError:
        raise
    except MurmuraError as error:
        raise malformed(str(error)) from None


def _check_spoken(request: HttpRequest) -> None:
    said = request.headers.get(VERSION_HEADER)
    if said is not None:
        check_version(int(said) if said.isascii() and said.isdigit() and len(said) < 6 else said[:20])


def answer(machine: M, endpoint: Endpoint[M], request: HttpRequest) -> HttpReply:
    """What the call of a row returns, as it travels; every deliberate no is a reply too."""
    try:
        _check_spoken(request)
        if endpoint.call is None:
            raise unrouted("unknown")
        result = endpoint.call(machine, request)
        if not endpoint.tagged:
            return reply(endpoint, result)
        name, content = result
        tag = f'"{name.hex()}"'
        known = request.headers.get("if-none-match") == tag
        return reply(endpoint, b"" if known else content, 304 if known else 200, {"etag": tag})
    except RefusedError as error:
        return refusal(error)
    except MurmuraError as error:
        return refusal(malformed(str(error)))


def reply(endpoint: Endpoint[Any], value: Any, status: int = 200, headers: Mapping[str, str] = {}) -> HttpReply:
    """A value in the type a row answers with."""
    cache = {"cache-control": endpoint.cache} if endpoint.cache else {}
    encode = ENCODERS[endpoint.answers]
    return HttpReply(status, encode(value), {**headers, **cache, "content-type": endpoint.answers})


def refusal(error: RefusedError) -> HttpReply:
    """A typed no."""
    wait = {"retry-after": "1"} if error.code in ("rate", "full") else {}
    return HttpReply(error.status, error.body(), {**wait, "content-type": JSON})


def prometheus(values: Mapping[str, float]) -> bytes:
    """Values in the text format of Prometheus."""
    lines = []
    for name, value in values.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        lines.append(f"# TYPE {name} {kind}\n{name} {value}\n")
    return "".join(lines).encode()


def event(news: str) -> bytes:
    """`round` with the hash of a manifest, `state` while none is open."""
    kind = "state" if news in ("paused", "finished") else "round"
    return f"event: {kind}\ndata: {news}\n\n".encode()


ENCODERS: dict[str, Callable[[Any], bytes]] = {
    BINARY: bytes,
    JSON: lambda value: json.dumps(value).encode(),
    TEXT: prometheus,
    EVENTS: event,
}


GUARDS = {"device": "the device's token", "operator": "the operator's token"}


def describe(endpoints: tuple[Endpoint[Any], ...]) -> dict[str, Any]:
    """OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    refusal = {
        "type": "object",
        "required": ["error", "message"],
        "properties": {"error": {"enum": sorted(STATUS)}, "message": {"type": "string"}},
    }
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Murmura",
            "version": __version__,
            "description": "The messages are described in docs/wire.md.",
        },
        "paths": paths,
        "components": {"schemas": {"Refusal": refusal}, "securitySchemes": {"token": bearer}},
    }


def _operation(endpoint: Endpoint[Any]) -> dict[str, Any]:
    no = {"description": "A typed refusal.", "content": {"application/json": {"schema": _REFUSAL}}}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {
            "200": {"description": "Done.", "content": {endpoint.answers: {}}},
            "4XX": no,
            "503": no,
        },
    }
    names = re.findall(r"{(\w+)}", endpoint.path)
    if names:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if endpoint.takes:
        operation["requestBody"] = {"required": True, "content": {endpoint.takes: {}}}
    if endpoint.guard in GUARDS:
        operation["security"] = [{"token": []}]
        operation["description"] = f"Needs {GUARDS[endpoint.guard]}."
    elif endpoint.guard == "coordinator":
        operation["description"] = "The body carries the coordinator's signature."
    return operation


_REFUSAL = {"$ref": "#/components/schemas/Refusal"}
