"""What the machines of a federation say to each other: messages, manifests, signatures, refusals, addresses."""
