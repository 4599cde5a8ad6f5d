"""What the log of recalls shows: what agents recall, what they never do, and what they likely used."""
