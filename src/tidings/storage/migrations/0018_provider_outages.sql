-- A provider that cannot be used: since when, how often it was left alone, and who tries whether it is back.

alter table provider_pauses
    add column since     timestamptz,
    add column times     integer not null default 0,
    add column refused   boolean not null default false,
    add column rested_at timestamptz,
    add column tried_at  timestamptz;
