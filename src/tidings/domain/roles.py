"""Who may do what: one table, asked by every edge."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from functools import cache


class Role(StrEnum):
    """The role of an API key, or one of a person's roles in a workspace."""

    WORKFLOW_MANAGER = "workflowManager"
    TRIGGER_OPERATOR = "triggerOperator"
    SYSTEM_ADMIN = "systemAdmin"
    WORKER_SERVICE = "workerService"
    OPERATOR = "operator"
    READER = "reader"
    PUBLISHABLE = "publishable"
    """For web pages, where everybody can read it: starts the workflows that the key names, and sees what it started."""


class Permission(StrEnum):
    """One kind of thing that can be done; every operation needs exactly one."""

    DEFINE = "define"
    READ_DEFINITIONS = "readDefinitions"
    READ_CONTACTS = "readContacts"
    """See contacts, count audiences, and see a message as a contact would get it."""
    CONTACTS = "contacts"
    """Make, change, import, export and erase contacts, and simulate."""
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
    """Keys, people, functions and the audit log of one's own tenant."""
    OPERATE_INSTALLATION = "operateInstallation"
    """See and set what belongs to the whole installation, not to one tenant."""


_PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.WORKFLOW_MANAGER: frozenset(
        [
            *(Permission.DEFINE, Permission.READ_DEFINITIONS, Permission.READ_CONTACTS, Permission.CONTACTS),
            *(Permission.READ_WORK, Permission.READ_STATUS),
        ]
    ),
    Role.TRIGGER_OPERATOR: frozenset(
        [
            *(Permission.READ_DEFINITIONS, Permission.READ_CONTACTS, Permission.CONTACTS, Permission.OPERATE),
            *(Permission.ENQUEUE, Permission.READ_WORK, Permission.READ_STATUS),
        ]
    ),
    Role.READER: frozenset(
        [
            *(Permission.READ_DEFINITIONS, Permission.READ_CONTACTS),
            *(Permission.READ_WORK, Permission.READ_STATUS),
        ]
    ),
    Role.SYSTEM_ADMIN: frozenset(Permission) - {Permission.OPERATE_INSTALLATION},
    Role.WORKER_SERVICE: frozenset([Permission.READ_DEFINITIONS, Permission.RUN_WORKERS]),
    Role.OPERATOR: frozenset(Permission),
    Role.PUBLISHABLE: frozenset([Permission.ENQUEUE, Permission.READ_STATUS]),
}


ROLES_OF_PEOPLE = frozenset(Role) - {Role.WORKER_SERVICE, Role.PUBLISHABLE}
"""What a person may be; the others are for programs and pages."""


@cache
def permissions_of(roles: frozenset[Role]) -> frozenset[Permission]:
    """What somebody with these roles may do: all that any of them may."""
    return frozenset[Permission]().union(*(_PERMISSIONS[role] for role in roles))


def may(roles: frozenset[Role], permission: Permission) -> bool:
    """Whether somebody with these roles has a permission."""
    return permission in permissions_of(roles)


def may_give(roles: frozenset[Role], given: Collection[Role]) -> bool:
    """Whether somebody may give and take roles of keys and people: an operator's is an operator's affair."""
    return may(roles, Permission.ADMINISTER) and (
        Role.OPERATOR not in given or may(roles, Permission.OPERATE_INSTALLATION)
    )
