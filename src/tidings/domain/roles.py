"""Who may do what: one table, asked by every edge."""

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    """The role of an API key."""

    WORKFLOW_MANAGER = "workflowManager"
    TRIGGER_OPERATOR = "triggerOperator"
    SYSTEM_ADMIN = "systemAdmin"
    WORKER_SERVICE = "workerService"


class Permission(StrEnum):
    """One kind of thing that can be done; every operation needs exactly one."""

    DEFINE = "define"
    READ_DEFINITIONS = "readDefinitions"
    CONTACTS = "contacts"
    OPERATE = "operate"
    """Start, enroll, deploy, send events, pause, resume, cancel, retry, replay, resolve doubt."""
    READ_WORK = "readWork"
    """Executions, runs, the outbox and logs."""
    RUN_WORKERS = "runWorkers"
    ADMINISTER = "administer"


_PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.WORKFLOW_MANAGER: frozenset(
        [Permission.DEFINE, Permission.READ_DEFINITIONS, Permission.CONTACTS, Permission.READ_WORK]
    ),
    Role.TRIGGER_OPERATOR: frozenset(
        [Permission.READ_DEFINITIONS, Permission.CONTACTS, Permission.OPERATE, Permission.READ_WORK]
    ),
    Role.SYSTEM_ADMIN: frozenset(Permission),
    Role.WORKER_SERVICE: frozenset([Permission.READ_DEFINITIONS, Permission.RUN_WORKERS]),
}


def may(role: Role, permission: Permission) -> bool:
    """Whether a role has a permission."""
    return permission in _PERMISSIONS[role]
