"""Long runs that are no part of CI: `make nightly`, or one part of it with python -m tests.nightly PART.

    tables   random tables x policies x methods, published and re-judged by tests/oracles from the published rows
    kills    SIGKILL while a release is published: the old release or the new one, nothing left over
    disk     a disk that is full after so many bytes
    agree    random tables on which checks/, verify/ and tests/oracles must say the same

Every part prints its progress, ends with a summary, and has a function run(options) -> Part.
docs/testing.md says how to start them and how to repeat one seed.
"""
