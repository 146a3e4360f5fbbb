"""Words for a report: the terminal (`text`), other programs (`json`), one page for people (`html`).

Covers: wording and layout of what a report and its evidence already say; making untrusted text harmless.
Does not cover: judging (rules) or deciding where the words go (`cli/`, `jupyter/`).
"""
