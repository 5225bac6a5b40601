"""The commands of whoever owns a device, a file each."""
