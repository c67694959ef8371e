"""The role table, written down a second time."""

import pytest

from tidings.domain.roles import Permission, Role, may

P = Permission
TABLE = {
    Role.WORKFLOW_MANAGER: {P.DEFINE, P.READ_DEFINITIONS, P.CONTACTS, P.READ_WORK},
    Role.TRIGGER_OPERATOR: {P.READ_DEFINITIONS, P.CONTACTS, P.OPERATE, P.READ_WORK},
    Role.SYSTEM_ADMIN: set(Permission),
    Role.WORKER_SERVICE: {P.READ_DEFINITIONS, P.RUN_WORKERS},
}


@pytest.mark.parametrize("role", Role)
def test_a_role_may_what_the_table_says_and_nothing_else(role: Role) -> None:
    assert {permission for permission in Permission if may(role, permission)} == TABLE[role]
