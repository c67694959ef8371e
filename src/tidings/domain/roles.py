"""Who may do what: one table, asked by every edge."""

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    """The role of an API key."""

    WORKFLOW_MANAGER = "workflowManager"
    TRIGGER_OPERATOR = "triggerOperator"
    SYSTEM_ADMIN = "systemAdmin"
    WORKER_SERVICE = "workerService"
    OPERATOR = "operator"
    PUBLISHABLE = "publishable"
    """For web pages, where everybody can read it: starts the workflows that the key names, and sees what it started."""


class Permission(StrEnum):
    """One kind of thing that can be done; every operation needs exactly one."""

    DEFINE = "define"
    READ_DEFINITIONS = "readDefinitions"
    CONTACTS = "contacts"
    OPERATE = "operate"
    """Start, enroll, deploy, send events, pause, resume, cancel, retry, replay, resolve doubt."""
    ENQUEUE = "enqueue"
    """Start one execution; with a publishable key, of a workflow that the key names."""
    READ_STATUS = "readStatus"
    """The state of one execution; with a publishable key, of one that the key started."""
    READ_WORK = "readWork"
    """Executions, runs, the outbox and logs."""
    RUN_WORKERS = "runWorkers"
    ADMINISTER = "administer"
    """Keys, functions and the audit log of the key's own tenant."""
    OPERATE_INSTALLATION = "operateInstallation"
    """See and set what belongs to the whole installation, not to one tenant."""


_PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.WORKFLOW_MANAGER: frozenset(
        [
            *(Permission.DEFINE, Permission.READ_DEFINITIONS, Permission.CONTACTS),
            *(Permission.READ_WORK, Permission.READ_STATUS),
        ]
    ),
    Role.TRIGGER_OPERATOR: frozenset(
        [
            *(Permission.READ_DEFINITIONS, Permission.CONTACTS, Permission.OPERATE, Permission.ENQUEUE),
            *(Permission.READ_WORK, Permission.READ_STATUS),
        ]
    ),
    Role.SYSTEM_ADMIN: frozenset(Permission) - {Permission.OPERATE_INSTALLATION},
    Role.WORKER_SERVICE: frozenset([Permission.READ_DEFINITIONS, Permission.RUN_WORKERS]),
    Role.OPERATOR: frozenset(Permission),
    Role.PUBLISHABLE: frozenset([Permission.ENQUEUE, Permission.READ_STATUS]),
}


def may(role: Role, permission: Permission) -> bool:
    """Whether a role has a permission."""
    return permission in _PERMISSIONS[role]


def may_make_keys_of(role: Role, made: Role) -> bool:
    """Whether a key of one role may make and revoke keys of another: an operator's are an operator's affair."""
    return may(role, Permission.ADMINISTER) and (
        made is not Role.OPERATOR or may(role, Permission.OPERATE_INSTALLATION)
    )
