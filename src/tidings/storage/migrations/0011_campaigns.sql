-- Campaigns and segments, and runs whose people are contacts.
select 1;
