"""Runs told to an experiment tracker, from what their folders hold: `--log mlflow:URI`."""
