"""One file per arrow of the flow."""
