-- Enrollments: contacts on their way through a sequence. Each is an execution with a contact, in the contact's bucket.

-- The id of a contact's n-th enrollment, as one call makes it: milliseconds, the version, the contact's bucket, the variant
-- and 60 bits of a hash; the same at each try of the call, which has a salt of its own. As enrollment_id in domain/flow/ids.py.
create function enrollment_id(milliseconds bigint, contact_id uuid, number text, salt text) returns uuid
    language sql immutable strict parallel safe
    return (lpad(to_hex(milliseconds), 12, '0') || '7' || substr(contact_id::text, 16, 3) || '8'
            || left(md5(contact_id::text || ':' || number || ':' || salt), 15))::uuid;

-- What a step did for everyone, newest first. A node never changes, so what moves an item still updates it in place.
create index outbox_step on outbox (shard, node, id) where contact_id is not null and node is not null;

alter table audit_log drop constraint audit_log_subject_kind_check, add constraint audit_log_subject_kind_check check (
    subject_kind in ('execution', 'run', 'job', 'item', 'workflow', 'api_key', 'function', 'dead_letter',
                     'contact', 'sequence', 'enrollment')
);

-- The planner's statistics before the first enrollment, as in 0002: many in one sequence, each of another contact. What is
-- there already stays, and counts for them.
create temporary table sample_enrollments on commit drop as
select number, (bucket % shard_count())::smallint as shard,
       (lpad(to_hex(number), 12, '0') || '7' || lpad(to_hex(bucket), 3, '0') || '8000' || lpad(to_hex(number), 12, '0'))::uuid as id,
       ('00000000-0000-7000-8000-' || lpad(to_hex(number % 10), 12, '0'))::uuid as sequence_id
  from (select number, (number * 37) % 4096 as bucket from generate_series(1, 2000) as number) as numbers;

insert into executions (shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, status, frontier,
                        input, created_at, contact_id)
select shard, id, 'default', 'default', case when odd then sequence_id else id end,
       case when odd then sequence_id else id end, id::text, 'enqueued', '{}', '{}', timestamptz '2026-01-01',
       case when odd then id end
  from (select *, number % 2 = 1 as odd from sample_enrollments) as halves;

insert into outbox (shard, id, tenant_id, workspace_id, execution_id, node, visit, run_id, job_id, ordinal, channel,
                    provider, recipient, status, idempotency_key, created_at, contact_id)
select shard, id, 'default', 'default', case when odd then id end, case when odd then sequence_id::text end,
       case when odd then 1 end, case when not odd then id end, case when not odd then id end, number, 'email', 'provider',
       number || '@example.com', 'queued', sha256(id::text::bytea), timestamptz '2026-01-01', case when odd then id end
  from (select *, number % 2 = 1 as odd from sample_enrollments) as halves;

analyze executions;
analyze outbox;

delete from executions e using sample_enrollments s where e.shard = s.shard and e.id = s.id;
delete from outbox o using sample_enrollments s where o.shard = s.shard and o.id = s.id;
