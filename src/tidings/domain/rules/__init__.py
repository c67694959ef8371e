"""Event rules: what is sent when something happens."""
