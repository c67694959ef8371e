"""Bodies of fields and files."""

from hashlib import sha256

from tidings.providers.form_data import FormFile, form_data


def test_the_boundary_occurs_in_no_part_whatever_people_write() -> None:
    expected = sha256(b"key").hexdigest()

    kind, body = form_data(b"key", [("text", f"--{expected}--")])

    boundary = kind.partition("boundary=")[2]
    assert boundary != expected
    assert body.count(boundary.encode()) == 2


def test_a_name_cannot_end_its_header() -> None:
    _, body = form_data(b"key", [('a"\r\nX: 1', "v")], [FormFile("f", 'b"\n.png', "image/png", b"x")])

    assert b'name="a%22%0D%0AX: 1"' in body
    assert b'filename="b%22%0A.png"' in body


def test_the_same_parts_make_the_same_bytes() -> None:
    assert form_data(b"key", [("a", "b")]) == form_data(b"key", [("a", "b")])
