-- name: read_rights
-- What the role of this session may do in a database with tables of Tidings, and which roles and policies there are.
select current_user::text as role, pg_get_userbyid(n.nspowner)::text as owner,
       pg_has_role(current_user, n.nspowner, 'usage') as is_owner, r.rolsuper as is_superuser,
       r.rolbypassrls as bypasses_row_security, r.rolcreaterole as makes_roles, c.relforcerowsecurity as is_forced,
       row_security_active(c.oid) and not coalesce(
           (select bool_or(pg_has_role(current_user, o.oid, 'usage'))
              from pg_policy p
              join pg_roles o on o.oid = any(p.polroles)
             where p.polrelid = c.oid and p.polname = 'engine'), false) as is_blind,
       coalesce((select a.rolcanlogin from pg_roles a where a.rolname = 'tidings_app'), false) as app_may_log_in,
       exists (select 1 from pg_roles a where a.rolname = 'tidings_app') as has_app,
       exists (select 1 from pg_roles a where a.rolname = 'tidings_reader') as has_reader,
       exists (select 1 from pg_policy p join pg_roles a on a.oid = any(p.polroles)
                where p.polrelid = c.oid and p.polname = 'engine' and a.rolname = 'tidings_app') as app_has_rights,
       exists (select 1 from pg_policy p join pg_roles a on a.oid = any(p.polroles)
                where p.polname = 'own_workspace' and a.rolname = 'tidings_reader') as reader_has_rights
  from pg_namespace n
  join pg_class c on c.relnamespace = n.oid and c.relname = 'queue'
  join pg_roles r on r.rolname = current_user
 where n.nspname = 'tidings';

-- name: set_rights
-- Gives every role that there is what it may do, and forces row security or not.
select set_rights(:forced);
