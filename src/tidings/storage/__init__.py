"""The only folder with SQL: named statements in sql/*.sql, and one function for each in the module of the same name."""
