-- name: insert_session
-- A person has signed in; of what the browser holds only the hash is stored.
insert into sessions (id, tenant_id, user_id, hash, via, user_agent, created_at, used_at, idle_after, expires_at)
values (:id, :tenant, :user_id, :digest, :via, :user_agent, :now, :now, :idle_after, :expires_at)
    on conflict do nothing;

-- name: note_sign_in
-- When a person last signed in.
update users set signed_in_at = :now where tenant_id = :tenant and id = :id;

-- name: find_session
-- The session with this hash, and whose it is, while it lasts and its person may sign in.
select s.id, s.user_id, s.tenant_id as tenant, u.email, u.name, u.password_hash is not null as has_password, s.used_at,
       s.expires_at
  from sessions s
  join users u on u.id = s.user_id and u.tenant_id = s.tenant_id
 where s.hash = :digest and s.expires_at > :now and s.used_at + s.idle_after > :now and u.disabled_at is null;

-- name: touch_session
-- When a session was last used, to the minute.
update sessions set used_at = :now where id = :id and used_at < :before;

-- name: list_sessions
-- Where a person is signed in, the last used first.
select id, via, user_agent, created_at, used_at as last_used_at, expires_at
  from sessions
 where tenant_id = :tenant and user_id = :user_id and expires_at > :now and used_at + idle_after > :now
 order by used_at desc, id desc;

-- name: end_session
-- Ends the session with this hash.
delete from sessions where hash = :digest returning user_id;

-- name: end_sessions
-- Ends every session of a person.
delete from sessions where tenant_id = :tenant and user_id = :user_id returning hash;

-- name: forget_sessions
-- Removes a person's sessions that have ended by themselves.
delete from sessions
 where tenant_id = :tenant and user_id = :user_id and (expires_at <= :now or used_at + idle_after <= :now);
