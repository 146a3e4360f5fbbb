"""The bench of `crashcart data`: damage that was made, clean files by many writers, speed beside others, a million files."""
