"""What brings work in: define, trigger, enroll, event."""
