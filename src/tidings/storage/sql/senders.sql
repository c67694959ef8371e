-- part: sender_columns
s.id, s.name, s.display_name, s.addresses ->> 'email' as email, s.reply_to, s.addresses ->> 'sms' as sms,
       s.addresses ->> 'whatsapp' as whatsapp, s.addresses ->> 'voice' as voice,
       array(select d.channel from default_senders d
              where d.tenant_id = s.tenant_id and d.workspace_id = s.workspace_id and d.sender_id = s.id
              order by d.channel) as default_for,
       s.created_at, s.updated_at

-- name: insert_sender
-- Makes a sender unless its name is taken.
insert into senders (id, tenant_id, workspace_id, name, display_name, addresses, reply_to, created_at, updated_at)
values (:id, :tenant, :workspace, :name, :display_name, :addresses::jsonb, :reply_to, :now, :now)
    on conflict (tenant_id, workspace_id, name) do nothing
returning id;

-- name: change_sender
-- Writes a sender.
update senders
   set display_name = :display_name, addresses = :addresses::jsonb, reply_to = :reply_to, updated_at = :now
 where id = :id and tenant_id = :tenant and workspace_id = :workspace
returning id;

-- name: put_default_senders
-- Lets messages over channels be from a sender when they name nobody, whoever they were from before.
insert into default_senders (tenant_id, workspace_id, channel, sender_id)
select :tenant, :workspace, t.channel, :id
  from unnest(:channels::text[]) as t(channel)
    on conflict (tenant_id, workspace_id, channel) do update set sender_id = excluded.sender_id;

-- name: clear_default_senders
-- Takes other channels from a sender.
delete from default_senders
 where tenant_id = :tenant and workspace_id = :workspace and sender_id = :id and channel <> all(:channels::text[])
returning channel;

-- name: show_sender
-- One sender, by id or by name.
select {sender_columns}
  from senders s
 where s.tenant_id = :tenant and s.workspace_id = :workspace and (s.id = :id::uuid or s.name = :name::text);

-- name: list_senders
-- The senders of a workspace, newest first.
select {sender_columns}
  from senders s
 where s.tenant_id = :tenant and s.workspace_id = :workspace and s.id >= :since and s.id < :before
 order by s.id desc
 limit :limit;

-- name: delete_sender
-- Removes a sender; it is the default for nothing any more.
delete from senders where id = :id and tenant_id = :tenant and workspace_id = :workspace
returning id;

-- name: read_senders
-- The senders of workspaces as messages are written with them.
select s.tenant_id, s.workspace_id, s.name, s.display_name, s.addresses, s.reply_to,
       array(select d.channel from default_senders d
              where d.tenant_id = s.tenant_id and d.workspace_id = s.workspace_id and d.sender_id = s.id) as default_for
  from unnest(:tenants::text[], :workspaces::text[]) as t(tenant_id, workspace_id)
  join senders s on s.tenant_id = t.tenant_id and s.workspace_id = t.workspace_id;

-- name: find_sender_users
-- What names a sender: the newest version of each workflow and sequence, drafts of sequences, rules and campaigns.
select w.kind || ' ' || quote_literal(w.name) as named
  from workflows w
  join workflow_versions v on v.workflow_id = w.id
   and v.number = (select max(n.number) from workflow_versions n where n.workflow_id = w.id)
 where w.tenant_id = :tenant and w.workspace_id = :workspace and w.deleted_at is null
   and jsonb_path_exists(v.definition, '$.**.sender ? (@ == $name)', jsonb_build_object('name', :name::text))
 union all
select 'sequence ' || quote_literal(d.name)
  from (select distinct w.id, w.name
          from sequence_steps s
          join workflows w on w.id = s.sequence_id
         where s.tenant_id = :tenant and s.workspace_id = :workspace and w.deleted_at is null
           and jsonb_path_exists(s.content, '$.**.sender ? (@ == $name)', jsonb_build_object('name', :name::text))) d
 union all
select 'rule ' || quote_literal(r.trigger || '/' || r.channel || '/' || r.audience)
  from rules r
 where r.tenant_id = :tenant and r.workspace_id = :workspace
   and jsonb_path_exists(r.steps, '$.**.sender ? (@ == $name)', jsonb_build_object('name', :name::text))
 union all
select 'campaign ' || quote_literal(c.name)
  from campaigns c
 where c.tenant_id = :tenant and c.workspace_id = :workspace and c.deleted_at is null
   and jsonb_path_exists(c.content, '$.**.sender ? (@ == $name)', jsonb_build_object('name', :name::text))
 order by 1
 limit :limit;
