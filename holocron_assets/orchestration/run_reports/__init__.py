"""How runs went, as plain JSON values for programs: one run, lists of runs, numbers over all of them."""
