"""What ends the demo early."""


class DemoFailed(Exception):
    """Something did not happen as it should; the message says what."""
