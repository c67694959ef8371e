-- Two retries of a run at once: one has its turn, the other is told so and leaves no empty run.

alter table runs add column retried_by uuid;
