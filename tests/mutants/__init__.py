"""Mutation testing of what a release is judged, joined, published and quoted by: `make mutants`.

    targets   which files are changed, and by which tests a change must be noticed
    python    one change in a Python file, by the operators of cosmic-ray
    sql       one change in a statement of sql/, token by token
    run       draws the changes, tries each and sums up
    trial     one changed copy of the project, and whether its tests fail

python -m tests.mutants --mutants 300 --seed 1 draws the changes, tries each, and lists the survivors.
"""
