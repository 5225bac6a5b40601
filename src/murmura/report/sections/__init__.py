"""The sections of a page: each has its tables and pictures, and says when it applies."""
