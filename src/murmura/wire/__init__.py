"""What the machines of a federation say to each other: messages, manifests, signatures, and how they travel."""
