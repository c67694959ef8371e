-- Starting work from SQL: any language, inside the caller's own transaction.

-- Whether data has a dotted path; a null at its end counts. As _has_path in domain/content/template.py.
create function has_path(data jsonb, path text) returns boolean
    language plpgsql immutable strict parallel safe as
$$
declare
    reached jsonb := data;
    name text;
begin
    foreach name in array regexp_split_to_array(path, '[.]') loop
        if jsonb_typeof(reached) <> 'object' or not reached ? name then
            return false;
        end if;
        reached := reached -> name;
    end loop;
    return true;
end
$$;

-- An id as domain/flow/ids.py makes one: milliseconds, the version, the bucket, the variant and 62 random bits.
create function new_id(bucket integer, moment timestamptz) returns uuid
    language sql volatile strict parallel safe
    return (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || '7'
            || lpad(to_hex(bucket), 3, '0') || substr(gen_random_uuid()::text, 20))::uuid;

-- A time as Python writes it into JSON.
create function iso_format(moment timestamptz) returns text
    language sql stable strict parallel safe
    return replace(to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '.000000', '') || '+00:00';

-- Refuses what could not be stored, or what no worker could read again. As _check_key and _check_data in
-- kernel/start/trigger.py; what jsonb refuses by itself is not looked for.
create function check_trigger(data jsonb, idempotency_key text) returns void
    language plpgsql stable parallel safe as
$$
begin
    if coalesce(length(idempotency_key), 0) not between 1 and 500 then
        raise exception using errcode = 'TD422',
            message = format('idempotency_key %L: use 1 to 500 characters', left(idempotency_key, 50)),
            hint = 'Name what must happen once: the number of an order, say.';
    end if;
    if data is null or jsonb_typeof(data) <> 'object' then
        raise exception using errcode = 'TD422', message = 'data is not an object',
            hint = 'Give jsonb_build_object(''name'', value, …), or ''{}'' if the workflow needs nothing.';
    end if;
    if jsonb_path_exists(data, 'strict $.**{100 to last} ? (@.type() == "object" || @.type() == "array")') then
        raise exception using errcode = 'TD422', message = 'data is nested too deeply: use at most 100 levels';
    end if;
    if jsonb_path_exists(data, 'strict $.** ? (@.type() == "number" && (@ > 1e308 || @ < -1e308))') then
        raise exception using errcode = 'TD422', message = 'data has a number beyond 1e308', hint = 'Give it as a text.';
    end if;
end
$$;

-- Starts one execution and gives its id: committed with the caller's transaction, or never there. The same key again
-- gives the same execution, even if the workflow was deactivated since or the data lacks something now. It does what
-- kernel/start/trigger.py does, with its owner's rights: whoever may execute it can start work, and read or write nothing else.
create function trigger(
    workflow text, data jsonb, idempotency_key text, workspace text default 'default', tenant text default 'default'
) returns uuid
    language plpgsql volatile security definer
    set search_path = tidings, pg_temp as
$$
#variable_conflict use_column
declare
    moment timestamptz := clock_timestamp();
    its_bucket integer := bucket_of(trigger.tenant, trigger.workspace, trigger.idempotency_key);
    its_shard smallint := its_bucket % shard_count();
    its_id uuid := new_id(its_bucket, moment);
    version record;
    missing text;
    due timestamptz;
    existing uuid;
begin
    perform check_trigger(trigger.data, trigger.idempotency_key);

    select w.id as workflow_id, w.active, v.id, v.entry, v.entry_wait, v.lane, v.required
      into version
      from workflows w
      join workflow_versions v on v.workflow_id = w.id
     where w.tenant_id = trigger.tenant and w.workspace_id = trigger.workspace and w.name = trigger.workflow
       and w.deleted_at is null
     order by v.number desc
     limit 1;
    if not found then
        raise exception using errcode = 'TD404',
            message = format('there is no workflow %L in workspace %L', trigger.workflow, trigger.workspace),
            hint = 'Define it first, or name its workspace and tenant.';
    end if;

    select string_agg(t.path, ', ' order by t.path collate "C")
      into missing
      from jsonb_array_elements_text(version.required) as t(path)
     where not has_path(trigger.data, t.path);

    if version.active and missing is null then
        -- Added in UTC: where clocks are changed for the summer, a day is not always 24 hours.
        due := (moment at time zone 'UTC' + coalesce(version.entry_wait, interval '0')) at time zone 'UTC';
        -- The unique index decides who was first. A transaction that holds the key and has not ended is waited for.
        insert into executions (
            shard, id, tenant_id, workspace_id, workflow_id, version_id, idempotency_key, status, frontier, cursor,
            input, triggered_by, created_at
        ) values (
            its_shard, its_id, trigger.tenant, trigger.workspace, version.workflow_id, version.id,
            trigger.idempotency_key, 'enqueued',
            jsonb_build_object(
                'ready', jsonb_build_array(jsonb_build_array(version.entry, iso_format(due))),
                'arrived', '[]'::jsonb, 'dead', '[]'::jsonb
            ),
            version.entry, trigger.data, 'sql', moment
        )
        on conflict (shard, tenant_id, workspace_id, workflow_id, idempotency_key) do nothing;
        if found then
            insert into queue (shard, id, kind, lane, due_at)
            values (its_shard, its_id, 'execution', version.lane, due);
            -- Heard when the caller commits. Such commits wait for each other, so a caller can do without.
            if current_setting('tidings.notify', true) is distinct from 'off' then
                perform pg_notify('tidings', its_shard || ':' || version.lane);
            end if;
            return its_id;
        end if;
    end if;

    select e.id
      into existing
      from executions e
     where e.shard = its_shard and e.tenant_id = trigger.tenant and e.workspace_id = trigger.workspace
       and e.workflow_id = version.workflow_id and e.idempotency_key = trigger.idempotency_key;
    if found then
        return existing;
    end if;
    if not version.active then
        raise exception using errcode = 'TD409',
            message = format('workflow %L is not active, so it cannot be triggered', trigger.workflow),
            hint = 'Activate it first.';
    end if;
    raise exception using errcode = 'TD422',
        message = format('Missing required fields or template variables: %s', missing),
        detail = format('Workflow %L needs them, and data does not have them.', trigger.workflow),
        hint = 'Give each of them; null will do. A name with a dot is a path: {"order": {"id": 7}} has order.id.';
end
$$;
revoke all on function trigger from public;
