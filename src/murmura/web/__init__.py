"""The web server: routes over the state machines of `runtimes.http`, and nothing that decides anything."""
