-- Enrollments: contacts on their way through a sequence.
select 1;
