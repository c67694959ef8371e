-- name: read_row_security
-- Whether the database forces row security on our role; no row where there are no tables yet.
select c.relforcerowsecurity as is_forced
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'tidings' and c.relname = 'outbox';

-- name: say_acting_for
-- For whom the session acts from now on; policies look at it.
select set_config('tidings.acts_for', :acts_for, false), set_config('tidings.tenant', :tenant, false),
       set_config('tidings.workspace', :workspace, false);
