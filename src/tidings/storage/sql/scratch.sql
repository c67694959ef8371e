-- name: lock_scratch
-- One at a time makes the template that the others copy; the lock ends with the session.
select pg_advisory_lock(5261953);

-- name: find_database
-- Whether a database of this name is there.
select 1 from pg_database where datname = :name;
