"""The requests that wait, and which of them is handed out next."""
