-- Work for a person: which contact an execution walks for, and which an item is meant for.

alter table executions add column contact_id uuid;
alter table outbox add column contact_id uuid;

-- None of these columns ever changes, so what moves an execution or an item still updates it in place.
create index executions_contact on executions (shard, contact_id, id) where contact_id is not null;
create index executions_enrolled on executions (shard, workflow_id, id) where contact_id is not null;
create index outbox_contact on outbox (shard, contact_id, id) where contact_id is not null;
