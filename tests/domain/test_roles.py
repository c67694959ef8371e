"""The role table, written down a second time."""

import pytest

from tidings.domain.roles import Permission, Role, may, may_give, permissions_of

P = Permission
TABLE = {
    Role.WORKFLOW_MANAGER: {P.DEFINE, P.READ_DEFINITIONS, P.READ_CONTACTS, P.CONTACTS, P.READ_WORK, P.READ_STATUS},
    Role.TRIGGER_OPERATOR: {
        P.READ_DEFINITIONS,
        P.READ_CONTACTS,
        P.CONTACTS,
        P.OPERATE,
        P.ENQUEUE,
        P.READ_WORK,
        P.READ_STATUS,
    },
    Role.SYSTEM_ADMIN: {
        *(
            P.DEFINE,
            P.READ_DEFINITIONS,
            P.READ_CONTACTS,
            P.CONTACTS,
            P.OPERATE,
            P.READ_WORK,
            P.RUN_WORKERS,
            P.ADMINISTER,
        ),
        *(P.ENQUEUE, P.READ_STATUS),
    },
    Role.WORKER_SERVICE: {P.READ_DEFINITIONS, P.RUN_WORKERS},
    Role.READER: {P.READ_DEFINITIONS, P.READ_CONTACTS, P.READ_WORK, P.READ_STATUS},
    Role.OPERATOR: set(Permission),
    Role.PUBLISHABLE: {P.ENQUEUE, P.READ_STATUS},
}


@pytest.mark.parametrize("role", Role)
def test_a_role_may_what_the_table_says_and_nothing_else(role: Role) -> None:
    assert {permission for permission in Permission if may(frozenset([role]), permission)} == TABLE[role]


def test_several_roles_may_what_any_of_them_may() -> None:
    both = permissions_of(frozenset([Role.READER, Role.WORKER_SERVICE]))

    assert both == TABLE[Role.READER] | TABLE[Role.WORKER_SERVICE]
    assert permissions_of(frozenset()) == set()


def test_only_an_operator_gives_the_role_of_an_operator_and_only_administrators_any() -> None:
    given = {role: {one for one in Role if may_give(frozenset([role]), [one])} for role in Role}

    assert given[Role.OPERATOR] == set(Role)
    assert given[Role.SYSTEM_ADMIN] == set(Role) - {Role.OPERATOR}
    assert {role for role, roles in given.items() if roles} == {Role.OPERATOR, Role.SYSTEM_ADMIN}
