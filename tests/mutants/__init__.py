"""Mutation testing of what a release is judged, joined, published and quoted by: `make mutants`.

    targets   which files are changed, and by which tests a change must be noticed
    python    one change in a Python file, by the operators of cosmic-ray
    sql       one change in a statement of sql/, token by token
    swap      a change put into a process that has loaded the file already
    baseline  which test runs which line, reads which statement and starts which process
    worker    a copy of the project with its tests loaded; it forks for every change
    run       draws the changes, tries each and sums up

python -m tests.mutants --mutants 300 --seed 1 draws the changes, tries each, and lists the survivors.
"""
