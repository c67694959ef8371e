-- How many calls each worker may have in the air where all workers together have a limit.

-- One row to hold on to for each provider with such a limit.
create table limited_providers (
    provider text primary key
);

-- Who holds how many of a provider's slots, and until when. The unexpired slots of a provider never add up to more than
-- its limit, but for the time that it takes to make a limit smaller.
create table provider_shares (
    provider       text        not null,
    worker_id      uuid        not null,
    slots          integer     not null check (slots >= 0),
    wanted         integer     not null check (wanted >= 0),          -- calls it would make at once if it could; 0 is idle
    provider_limit integer     not null check (provider_limit > 0),   -- as it was told; the smallest is in force
    until          timestamptz not null,                              -- from then on its slots are free
    primary key (provider, worker_id)
);

-- Renews a worker's share. What it keeps (its calls, and those it may begin meanwhile) is never taken away; it grows up to
-- its fair part as far as there are free slots, and is told that part, so that it keeps to less next time.
--
-- A function and not a statement: after waiting for the provider's row, each statement below sees what the last holder of
-- that row has committed, while a single one would add up the shares as they were before it waited.
create function beat_share(
    provider text, worker_id uuid, provider_limit integer, kept integer, wanted integer, turn text, at timestamptz,
    lease_until timestamptz
) returns table (slots integer, fair integer, until timestamptz)
    language plpgsql volatile as
$$
#variable_conflict use_column
declare
    mine      record;
    one       record;
    in_force  integer;
    left_over integer;
    workers   integer;
    spare     integer;
    elsewhere integer;
    part      integer;
begin
    insert into limited_providers (provider) values (beat_share.provider) on conflict do nothing;
    perform 1 from limited_providers p where p.provider = beat_share.provider for update;

    delete from provider_shares s where s.provider = beat_share.provider and s.until <= beat_share.at;

    select s.slots, s.until into mine
      from provider_shares s
     where s.provider = beat_share.provider and s.worker_id = beat_share.worker_id;
    if mine.until > beat_share.lease_until then
        -- A beat that was long on its way: a later one has been answered, and the worker relies on that.
        return query select mine.slots, mine.slots, mine.until;
        return;
    end if;

    insert into provider_shares (provider, worker_id, slots, wanted, provider_limit, until)
    values (beat_share.provider, beat_share.worker_id, 0, beat_share.wanted, beat_share.provider_limit,
            beat_share.lease_until)
        on conflict (provider, worker_id) do update
       set wanted = excluded.wanted, provider_limit = excluded.provider_limit, until = excluded.until;

    -- The idle keep one slot each if that costs the others little or nothing.
    select min(s.provider_limit), count(*),
           coalesce(sum(s.slots) filter (where s.worker_id <> beat_share.worker_id), 0),
           case when count(*) filter (where s.wanted = 0) * 4 <= min(s.provider_limit)
                  or sum(greatest(s.wanted, 1)) <= min(s.provider_limit) then 1 else 0 end
      into in_force, workers, elsewhere, spare
      from provider_shares s
     where s.provider = beat_share.provider;

    -- Whoever wants little gets it, and the others share what is left; who of two equals gets the odd one goes by turns.
    left_over := in_force;
    for one in select s.worker_id, greatest(s.wanted, spare) as wanted
                 from provider_shares s
                where s.provider = beat_share.provider
                order by greatest(s.wanted, spare), md5(s.worker_id::text || beat_share.turn)
    loop
        part := least(one.wanted, left_over / workers);
        exit when one.worker_id = beat_share.worker_id;
        left_over := left_over - part;
        workers := workers - 1;
    end loop;

    return query
    update provider_shares s
       set slots = greatest(least(s.slots, beat_share.kept), least(part, in_force - elsewhere))
     where s.provider = beat_share.provider and s.worker_id = beat_share.worker_id
    returning s.slots, part, s.until;
end
$$;
