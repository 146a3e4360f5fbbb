"""What pipelines really hold, beside what `crashcart pipeline` says before they run."""
