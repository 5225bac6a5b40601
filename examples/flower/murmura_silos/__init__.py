"""Murmura's apps, under a name that Flower finds in this folder."""
