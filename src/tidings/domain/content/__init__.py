"""What is said: templates, what they need, and files that go with a message."""
