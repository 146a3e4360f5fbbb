"""What the guard costs a program that has memory enough, beside tools that also sit between a program and malloc."""
