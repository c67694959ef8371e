-- Event rules, and the events that they route.
select 1;
