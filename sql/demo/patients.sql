-- The policy of the demo: publish the stays of the table `patients` (made by hospital.sql) so that an analyst
-- can study who comes back, and nobody can find a person in it.
--
--     ppdm demo          makes a database with the table, and runs this file on it
--     ppdm plan / run    with this file: what it would do, and do it
--
-- A policy is SQL.  Statements like CREATE VIEW or INSERT may stand in the same file and reach the database
-- unchanged.  Only WITH ANONYMIZATION, after the SELECT, is new: it says who may learn what.

CREATE OR REPLACE TABLE patients_open AS
SELECT patient_id, name, age, sex, zip, ward, stay_days, diagnosis, readmitted
FROM patients
WITH ANONYMIZATION (
    -- Mondrian divides the patients into smaller and smaller classes as long as every class meets the
    -- requirements, and publishes what the people of a class have in common: an age range, an area, a department.
    ALGORITHM mondrian

    -- k: each class has at least 10 different people.  simple_l: no diagnosis has more than half of a
    -- class, so finding a person's class does not reveal the diagnosis.  Nothing is published before both
    -- were measured on the finished table.
    REQUIRE k = 10, simple_l = 2

    -- Names a person directly: checked for, then left out.
    IDENTIFIER (name)

    -- Rows are stays, not people: k counts different patients.  The number itself is left out as well.
    ENTITY (patient_id)

    -- What a neighbour, a colleague or another table may know about a person.  These are generalized.
    -- PREFIX cuts a zip to its first 4, 3 or 2 digits: 84114 -> 8411* -> 841** -> 84***.
    -- ward.csv, next to this file, puts each ward under its department.
    QUASI IDENTIFIER (
        age,
        sex,
        zip  HIERARCHY PREFIX (4, 3, 2),
        ward HIERARCHY 'ward.csv'
    )

    -- What must not become known about a person.
    SENSITIVE (diagnosis)

    -- What the analyst wants to predict.
    TARGET (readmitted)

    -- Published unchanged.  Right only for what no outsider knows; in doubt make it a quasi-identifier.
    -- A column without any role is an error, never a leak: so admitted and insurance, which nobody asked
    -- for, are not in the SELECT.
    INSENSITIVE (stay_days)

    -- The same data, seed and version give the same release.
    SEED 7
);

-- Measure it once more, from the published table alone.
VERIFY patients_open;
