"""The paper's own results: its six printed trees, as policies that ``sirl.load("paper:…")`` gives."""
