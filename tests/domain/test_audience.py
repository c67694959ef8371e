"""Whom something is for: what is read, what is refused, and how a segment stands in for its id."""

from uuid import UUID

import pytest

from tidings.domain.people.audience import MOST_IDS, Audience, read_audience
from tidings.domain.people.audience_filter import Where

ADA, BOB, SEGMENT = (UUID(int=number) for number in (1, 2, 3))


def test_everything_is_read_in_both_spellings() -> None:
    camel, problems = read_audience({"company": "Acme", "contactIds": [str(ADA)], "excludeContactIds": [str(BOB)]})
    snake, _ = read_audience({"company": "Acme", "contact_ids": [ADA], "exclude_contact_ids": [BOB]})

    assert not problems
    assert (
        camel == snake == Audience(filters=(Where("company", "Acme"),), contact_ids=(ADA,), exclude_contact_ids=(BOB,))
    )


def test_what_is_shown_reads_back_as_the_same() -> None:
    audience = Audience(
        filters=(Where("tag", "vip"), Where("status", "active")),
        segment_id=SEGMENT,
        contact_ids=(ADA,),
        exclude_contact_ids=(BOB,),
    )

    assert read_audience(audience.shown()) == (audience, [])
    assert Audience(all=True).shown() == {"all": True}


def test_an_id_given_twice_counts_once() -> None:
    assert read_audience({"contactIds": [str(ADA), str(ADA)]})[0].contact_ids == (ADA,)


@pytest.mark.parametrize("nobody", [{}, {"all": False}, {"contactIds": []}, {"excludeContactIds": [str(ADA)]}])
def test_naming_nobody_is_refused_with_the_remedy(nobody: dict[str, object]) -> None:
    _, [problem] = read_audience(nobody)

    assert problem.place == "audience"
    assert "all: true" in problem.message


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (None, "audience"),
        ([], "audience"),
        ({"all": "yes"}, "audience.all"),
        ({"tag": ""}, "audience.tag"),
        ({"tag": 7}, "audience.tag"),
        ({"company": "a\x00"}, "audience.company"),
        ({"status": "x" * 101}, "audience.status"),
        ({"contactIds": "abc"}, "audience.contactIds"),
        ({"contactIds": [str(ADA), "abc"]}, "audience.contactIds[1]"),
        ({"contactIds": [None]}, "audience.contactIds[0]"),
        ({"contactIds": [str(ADA)] * (MOST_IDS + 1)}, "audience.contactIds"),
        ({"segmentId": "abc"}, "audience.segmentId"),
        ({"tags": "vip"}, "audience.tags"),
        ({"contactIds": [str(ADA)], "contact_ids": [str(ADA)]}, "audience.contact_ids"),
        ({"all": True, "tag": "vip"}, "audience.all"),
    ],
)
def test_bad_input_is_refused_with_its_place(given: object, place: str) -> None:
    _, [problem] = read_audience(given)

    assert problem.place == place


def test_a_whole_body_has_no_prefix_and_a_segment_only_where_segments_are_known() -> None:
    assert read_audience({"all": 1}, "")[1][0].place == "all"
    [problem] = read_audience({"segmentId": str(SEGMENT)}, "", segments=False)[1]
    assert problem.place == "segmentId"
    assert "segmentId" not in problem.message


def test_a_segment_stands_in_for_its_id_and_exclusions_win() -> None:
    mine = Audience(
        filters=(Where("status", "active"),), segment_id=SEGMENT, contact_ids=(BOB,), exclude_contact_ids=(ADA,)
    )

    assert mine.inside(Audience(filters=(Where("tag", "vip"),))) == (
        Audience(
            filters=(Where("tag", "vip"), Where("status", "active")), contact_ids=(BOB,), exclude_contact_ids=(ADA,)
        ),
        [],
    )
    assert Audience(segment_id=SEGMENT).inside(Audience(all=True, exclude_contact_ids=(ADA,)))[0] == Audience(
        all=True, exclude_contact_ids=(ADA,)
    )
    assert mine.inside(Audience(all=True))[0].all is False


def test_a_segment_that_contradicts_what_is_beside_it_is_refused() -> None:
    mine = Audience(filters=(Where("tag", "vip"),), segment_id=SEGMENT)

    assert [one.place for one in mine.inside(Audience(filters=(Where("tag", "new"),)))[1]] == ["tag"]
    assert [one.place for one in mine.inside(Audience(contact_ids=(ADA,)))[1]] == ["segmentId"]
    assert mine.inside(Audience(filters=(Where("tag", "VIP"),)))[1] == []
