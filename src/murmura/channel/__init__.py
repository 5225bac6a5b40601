"""What happens between an algorithm and the server: consent, the stages of a sum, the ledgers of what left."""
