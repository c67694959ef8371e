"""A workspace's own ways out: which vendors there are, what each must be told, and who may use which."""
