"""What vendors can be asked about a message that they took: the sink answers from what it keeps."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from tidings.sink.arrivals import Arrival, Arrivals
from tidings.sink.email_forms import form_fields, mailgun_id, sendgrid_id, uuid_of
from tidings.sink.vendor_form import SinkCall, SinkReply, within

_TO = re.compile(r"to_email = '([^']*)'")
_EVENTS = re.compile(r"/v3/[^/]+/events")
_LOGGED = re.compile(r"/v3/logs/([^/]+)")


def looked_up(arrivals: Arrivals, call: SinkCall) -> SinkReply | None:
    """Answer a vendor's search; None when the call is none."""
    if (call.method, call.path) == ("GET", "/messages/outbound"):
        return _postmark(arrivals, call)
    if (call.method, call.path) == ("POST", "/v3/logs"):
        return _sendgrid_list(arrivals, call)
    if call.method == "GET" and (found := _LOGGED.fullmatch(call.path)):
        return _sendgrid_details(arrivals, found[1])
    if call.method == "GET" and _EVENTS.fullmatch(call.path):
        return _mailgun(arrivals, call)
    return None


def _postmark(arrivals: Arrivals, call: SinkCall) -> SinkReply:
    asked = {name[9:]: value for name, value in call.asked.items() if name.startswith("metadata_")}
    found = [
        {"MessageID": uuid_of(one.id), "Metadata": metadata, "Recipients": list(one.recipients)}
        for one in _taken_by(arrivals, "postmark")
        if asked.items() <= (metadata := _object(_json(one), "Metadata")).items()
    ]
    return SinkReply(200, {"TotalCount": len(found), "Messages": found})


def _sendgrid_list(arrivals: Arrivals, call: SinkCall) -> SinkReply:
    to = _TO.search(str(call.json.get("query", "")))
    found = [one for one in _taken_by(arrivals, "sendgrid") if to is None or to[1] in one.recipients]
    return SinkReply(200, {"messages": [{"sg_message_id": sendgrid_id(one.id), "to_email": _to(one)} for one in found]})


def _sendgrid_details(arrivals: Arrivals, id: str) -> SinkReply:
    found = next((one for one in _taken_by(arrivals, "sendgrid") if sendgrid_id(one.id) == id), None)
    if found is None:
        return SinkReply(404, {"errors": [{"message": "not found"}]})
    carried = within(_json(found), "personalizations", "custom_args")
    return SinkReply(200, {"sg_message_id": id, "to_email": _to(found), "custom_args": carried or {}})


def _mailgun(arrivals: Arrivals, call: SinkCall) -> SinkReply:
    wanted = call.asked.get("recipient")
    events = []
    for one in _taken_by(arrivals, "mailgun"):
        if wanted in (None, *one.recipients):
            fields = form_fields(one.content_type, one.raw)
            carried = {name[2:]: value for name, value in fields.items() if name.startswith("v:")}
            headers = {"headers": {"message-id": mailgun_id(one.id)}}
            events.append({"event": "accepted", "message": headers, "user-variables": carried})
    return SinkReply(200, {"items": events})


def _taken_by(arrivals: Arrivals, vendor: str) -> Iterator[Arrival]:
    return (one for one in arrivals.taken if one.via == vendor)


def _to(arrival: Arrival) -> str:
    return arrival.recipients[0] if arrival.recipients else ""


def _json(arrival: Arrival) -> object:
    return msgspec.json.decode(arrival.raw)


def _object(value: object, name: str) -> Mapping[str, object]:
    found = within(value, name)
    return found if isinstance(found, dict) else {}
