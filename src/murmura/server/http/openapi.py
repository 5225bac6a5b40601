"""The OpenAPI description of a machine, from the table its routes come from."""

from __future__ import annotations

import re
from typing import Any

from murmura.core.version import __version__
from murmura.server.endpoints import Endpoint
from murmura.wire.refusals import STATUS

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
