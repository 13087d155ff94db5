"""Rules and preferences of pages: read from responses on demand, and obeyed if settings say so."""
