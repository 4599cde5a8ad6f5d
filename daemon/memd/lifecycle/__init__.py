"""An agent's life: the tools it is given, what it is told at its start, what it writes down, and what it recalls."""
