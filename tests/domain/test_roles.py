"""The role table, written down a second time."""

import pytest

from tidings.domain.roles import Permission, Role, may

P = Permission
TABLE = {
    Role.WORKFLOW_MANAGER: {P.DEFINE, P.READ_DEFINITIONS, P.CONTACTS, P.READ_WORK, P.READ_STATUS},
    Role.TRIGGER_OPERATOR: {P.READ_DEFINITIONS, P.CONTACTS, P.OPERATE, P.ENQUEUE, P.READ_WORK, P.READ_STATUS},
    Role.SYSTEM_ADMIN: {
        *(P.DEFINE, P.READ_DEFINITIONS, P.CONTACTS, P.OPERATE, P.READ_WORK, P.RUN_WORKERS, P.ADMINISTER),
        *(P.ENQUEUE, P.READ_STATUS),
    },
    Role.WORKER_SERVICE: {P.READ_DEFINITIONS, P.RUN_WORKERS},
    Role.OPERATOR: set(Permission),
    Role.PUBLISHABLE: {P.ENQUEUE, P.READ_STATUS},
}


@pytest.mark.parametrize("role", Role)
def test_a_role_may_what_the_table_says_and_nothing_else(role: Role) -> None:
    assert {permission for permission in Permission if may(role, permission)} == TABLE[role]
