"""The web server: routes over the state machines of the servers, and nothing that decides anything."""
