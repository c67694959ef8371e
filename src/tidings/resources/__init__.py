"""What is particular to each product: defining, listing and controlling it, on top of the kernel."""
