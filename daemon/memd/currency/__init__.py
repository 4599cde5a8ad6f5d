"""Whether what a hit names still holds: verdicts computed from git and the file system."""
