"""`python -m website.wire_types`: the page's types and checks of signed records, from these records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from murmura.wire.manifest import Manifest
from murmura.wire.terms import FederationTerms

PLACE = Path(__file__).parents[1] / "web/src/protocol/signed_records.ts"
RECORDS = (FederationTerms, Manifest)
WIDTH = 120  # as web/.prettierrc.json has it
MOST_NUMBER, MOST_LISTED = 1 << 48, 32  # that a browser reads where the record has no limit
SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
WORDS = "boolean list mapping matching nullOr number oneOf record recordWithout settings string whole"
HEAD = f"""\
/** The fields of signed records: written by `python -m website.wire_types`, not by hand. */

import {{
  {WORDS.replace(" ", f",{chr(10)}  ")},
}} from "./fields.ts";
"""

Schema = dict[str, Any]


def wire_types() -> str:
    """The whole file: an interface and a check for each record, and for each part of one."""
    parts: dict[str, Schema] = {}
    for kind in RECORDS:
        schema = TypeAdapter(kind).json_schema()
        parts |= schema.pop("$defs", {})
        parts[f"{kind.__name__}Fields"] = schema
    return HEAD + "".join(_declared(name, schema) for name, schema in parts.items())


def _declared(name: str, schema: Schema) -> str:
    fields = schema["properties"]
    unspelled = [field for field, one in fields.items() if "default" in one and one["default"] is None]
    types = "".join(
        f"  {field}?: {_type(_spelled(one))};\n" if field in unspelled else f"  {field}: {_type(one)};\n"
        for field, one in fields.items()
    )
    meaning = schema["description"].partition("\n")[0]
    checks = [
        f"{field}: {_check(_spelled(one) if field in unspelled else one)}" for field, one in fields.items()
    ]
    kind = f'recordWithout("{unspelled[0]}", ' if unspelled else "record("
    short = f"export const {_constant(name)} = {kind}{{ {', '.join(checks)} }});"
    whole = f"export const {_constant(name)} = {kind}{{\n  {(',' + chr(10) + '  ').join(checks)},\n}});"
    check = short if len(short) <= WIDTH else whole
    return f"\n/** {meaning} */\nexport interface {name} {{\n{types}}}\n\n{check}\n"


def _spelled(schema: Schema) -> Schema:
    """A field that is either there or not spelled: null is no value of it."""
    return _choices(schema)[0]


def _constant(name: str) -> str:
    return name[0].lower() + name[1:]


def _named(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _choices(schema: Schema) -> list[Schema]:
    """What a field may be, without null."""
    return [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]


def _is_optional(schema: Schema) -> bool:
    return {"type": "null"} in schema.get("anyOf", [])


def _type(schema: Schema) -> str:
    """What TypeScript calls it."""
    if _is_optional(schema):
        return f"{_type(_choices(schema)[0])} | null"
    if "$ref" in schema:
        return _named(schema)
    if schema.get("type") == "string":
        return " | ".join(map(json.dumps, _words(schema))) or "string"
    if schema.get("type") == "array":
        return f"{_type(schema['items'])}[]"
    if schema.get("type") == "object":
        inner = schema["additionalProperties"]
        return f"Record<string, {'unknown' if inner is True else _type(inner)}>"
    return "boolean" if schema.get("type") == "boolean" else "number"


def _check(schema: Schema) -> str:
    """What checks it, in the words of `fields.ts`."""
    if _is_optional(schema):
        return f"nullOr({_check(_choices(schema)[0])})"
    if "anyOf" in schema:
        limits = [f"value {sign} {_number(schema[key])}" for key, sign in SIGNS.items() if key in schema]
        return f"number((value) => {' && '.join(limits)})"
    if "$ref" in schema:
        return _constant(_named(schema))
    match schema["type"]:
        case "string":
            words = ", ".join(map(json.dumps, _words(schema)))
            pattern = f"matching(/{schema['pattern']}/)" if "pattern" in schema else "string"
            return f"oneOf({words})" if words else pattern
        case "integer":
            least = schema.get("const", schema.get("minimum", 0))
            end = schema["const"] + 1 if "const" in schema else schema.get("exclusiveMaximum", MOST_NUMBER)
            return f"whole({_number(least)}, {_number(end)})"
        case "array":
            return f"list({_check(schema['items'])}, {schema.get('maxItems', MOST_LISTED)})"
        case "object":
            inner = schema["additionalProperties"]
            return "settings" if inner is True else f"mapping({_check(inner)})"
    return str(schema["type"])


def _words(schema: Schema) -> list[str]:
    """The only strings that a field may be; none where it may be any."""
    return [schema["const"]] if "const" in schema else schema.get("enum", [])


def _number(n: Any) -> str:
    power = n.bit_length() - 1
    return f"2 ** {power}" if n > 1024 and n == 1 << power else str(n)


if __name__ == "__main__":
    PLACE.write_text(wire_types(), encoding="utf-8")
