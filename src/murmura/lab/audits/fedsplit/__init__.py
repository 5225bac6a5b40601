"""Attacks on the updates of FedSPLIT and its relatives."""
