"""What pages say of themselves: read from responses, on demand, and obeyed if the user says so."""
