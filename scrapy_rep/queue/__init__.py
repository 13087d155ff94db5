"""The queue: it stores waiting requests and decides which request is handed out next."""
