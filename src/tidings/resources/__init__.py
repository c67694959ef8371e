"""What is special to one product: defining, listing and controlling, on top of the kernel."""
