"""Which task may call a provider now, and the call itself."""
