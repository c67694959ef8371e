"""The roles of a data directory's server, made and kept by PostgreSQL's single-user mode before the server starts.

`tidings` owns the schema, `tidings_app` works with its rows and cannot change it, and neither is a superuser. A data
directory from before had one role, `tidings`, a superuser that PostgreSQL does not let become less: it is renamed, and
what it had made becomes the new owner's. Nobody is connected meanwhile, and no driver is needed.
"""

import asyncio
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tidings.domain.errors import EmbeddedServerFailed
from tidings.embedded.binaries import Binaries
from tidings.embedded.placement import REMEDY, Account, Site, find_site, run_as, write_private

OWNER = "tidings"
APP = "tidings_app"
READER = "tidings_reader"
SUPERUSER = "tidings_superuser"
PASSWORDS = {OWNER: "password", APP: "password-app", SUPERUSER: "password-superuser"}
"""The file with each role's password; only the user who runs the server can read it."""
MADE = "roles"
"""The file that says that the roles are made."""

# The first role of a cluster, whatever its name, has the oid 10. One block is one transaction: all of it or nothing.
_MAKE = """
do $made$
declare
    one record;
begin
    if exists (select 1 from pg_roles where oid = 10 and rolname = '{OWNER}') then
        create role tidings_mover superuser;
        set session authorization tidings_mover;
        alter role {OWNER} rename to {SUPERUSER};
        set session authorization {SUPERUSER};
        drop role tidings_mover;
    end if;
    alter role {SUPERUSER} password '{superuser}';
    for one in select name from unnest(array['{OWNER}', '{APP}', '{READER}']) as t(name)
                where name not in (select rolname from pg_roles) loop
        execute format('create role %I', one.name);
    end loop;
    alter role {OWNER} nosuperuser nobypassrls nocreaterole createdb login password '{owner}';
    alter role {APP} nosuperuser nobypassrls nocreaterole nocreatedb login password '{app}';
    alter role {APP} set search_path = tidings, public;
    execute format('grant create on database %I to {OWNER}', current_database());
    grant all on schema public to {OWNER};
    for one in
        select format('schema %I', nspname) as name from pg_namespace where nspname = 'tidings'
        union all
        select format('%s %s', case relkind when 'v' then 'view' else 'table' end, oid::regclass)
          from pg_class where relnamespace = to_regnamespace('tidings') and relkind in ('r', 'p', 'v')
        union all
        select format('routine %s', oid::regprocedure) from pg_proc where pronamespace = to_regnamespace('tidings')
    loop
        execute format('alter %s owner to {OWNER}', one.name);
    end loop;
end
$made$
"""


async def make_roles(site: Site, account: Account, binaries: Binaries, life: int, options: Sequence[str]) -> None:
    """Make the roles that are missing, and none a superuser; the caller holds the life lock and no server runs."""
    if (site.home / MADE).exists():
        return
    for role in PASSWORDS:
        _ensure_password(site, role)
    command = [str(binaries.directory / "postgres"), "--single", "-D", str(site.data), *options, "postgres"]
    said = await asyncio.to_thread(run_as, account, command, pass_fds=[life], text_in=_statement(site))
    wrong = re.findall(r"\b(?:ERROR|FATAL|PANIC):.*", said.stdout)
    if wrong or said.returncode != 0:
        why = " | ".join(wrong) or f"it ended with {said.returncode}"
        raise EmbeddedServerFailed(
            f"the roles of {site.data} cannot be made: {why}; start it with the Tidings that made it, {REMEDY}"
        )
    write_private(site.home / MADE, f"{OWNER} {APP} {SUPERUSER}\n")


def app_url(data_dir: Path, owner_url: str) -> str:
    """Return the address for what works with the rows; the owner's where a server from before still runs."""
    site = find_site(data_dir)
    return url_of(data_dir, owner_url, APP) if (site.home / MADE).exists() else owner_url


def url_of(data_dir: Path, owner_url: str, role: str) -> str:
    """Return a server's address for another of its roles."""
    parts = urlsplit(owner_url)
    password = password_of(find_site(data_dir), role)
    return urlunsplit(parts._replace(netloc=f"{role}:{password}@{parts.netloc.rpartition('@')[2]}"))


def password_of(site: Site, role: str) -> str:
    """Return the password of a role."""
    path = site.home / PASSWORDS[role]
    try:
        return path.read_text().strip()
    except FileNotFoundError as error:
        raise EmbeddedServerFailed(f"{path} is gone: restore it from a backup, {REMEDY}") from error


def _ensure_password(site: Site, role: str) -> None:
    path = site.home / PASSWORDS[role]
    if not path.exists():
        write_private(path, secrets.token_urlsafe(24))


def _statement(site: Site) -> str:
    passwords = {"owner": OWNER, "app": APP, "superuser": SUPERUSER}
    filled = _MAKE.format(
        OWNER=OWNER,
        APP=APP,
        READER=READER,
        SUPERUSER=SUPERUSER,
        **{name: password_of(site, role) for name, role in passwords.items()},
    )
    return " ".join(filled.split()) + "\n"  # in single-user mode a line is a command
