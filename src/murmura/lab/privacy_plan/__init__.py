"""What noise would leave, before anybody is asked."""
