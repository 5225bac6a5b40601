"""What happens between an algorithm and the server: consent, and the ledger of what left."""
