"""The only folder with SQL: named statements in sql/*.sql, one function for each in the module of the same name."""
