-- Room on each page for the next version of its rows.

-- A row of the outbox is written twice (reserved with its mark, then its fact) and of a run three times; an execution at
-- least twice. With room on its own page an update adds nothing to the indexes. The tables become no larger for it: the
-- new versions took as much room before, on pages of their own. Only new pages are filled so.
alter table outbox set (fillfactor = 45);
alter table executions set (fillfactor = 50);
