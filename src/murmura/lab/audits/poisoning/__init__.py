"""Attacks by clients who send what they like: what they make of everybody's recommendations."""
