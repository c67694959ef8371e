-- Sequences: drafts, their steps, and what publishing freezes.
select 1;
