"""What starts work: define, trigger, enroll, event."""
