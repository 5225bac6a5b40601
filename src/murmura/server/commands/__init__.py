"""The commands of whoever runs a federation, a file each."""
