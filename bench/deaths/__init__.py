"""Programs that really die: cause and line of each death, beside what others tell."""
