-- name: database_time
-- The one place where the database's clock is read.
select clock_timestamp() as now;
