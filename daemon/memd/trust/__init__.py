"""What the user decided about the trust of lines."""
