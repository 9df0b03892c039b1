-- How many people have rows in several cohorts, and for how many of them these cohorts have fewer than $least values of
-- a sensitive column in common: an attacker who knows that the value stays the same for a person can rule the others out.
-- Stand-ins: people (ppdm_person, ppdm_cohort of the rows that are out, of those who could have several), grown
-- (ppdm_cohort and ppdm_value, the sensitive one, of all rows that are out).  Parameters: $nobody, $least.
WITH ppdm_places AS (
    SELECT DISTINCT ppdm_person, ppdm_cohort FROM people WHERE ppdm_person <> $nobody
), ppdm_several AS (
    SELECT ppdm_person, COUNT(*) AS ppdm_cohorts FROM ppdm_places GROUP BY ppdm_person HAVING COUNT(*) > 1
), ppdm_theirs AS (
    SELECT p.ppdm_person, p.ppdm_cohort, s.ppdm_cohorts
    FROM ppdm_several AS s
    JOIN ppdm_places AS p ON p.ppdm_person = s.ppdm_person
), ppdm_held AS (
    SELECT DISTINCT g.ppdm_cohort, g.ppdm_value
    FROM grown AS g
    JOIN (SELECT DISTINCT ppdm_cohort FROM ppdm_theirs) AS t ON t.ppdm_cohort = g.ppdm_cohort
    WHERE g.ppdm_value IS NOT NULL
), ppdm_common AS (
    SELECT t.ppdm_person, h.ppdm_value, COUNT(*) AS ppdm_times, MAX(t.ppdm_cohorts) AS ppdm_cohorts
    FROM ppdm_theirs AS t
    JOIN ppdm_held AS h ON h.ppdm_cohort = t.ppdm_cohort
    GROUP BY t.ppdm_person, h.ppdm_value
), ppdm_left AS (
    SELECT ppdm_person, COUNT(*) AS ppdm_values
    FROM ppdm_common
    WHERE ppdm_times = ppdm_cohorts
    GROUP BY ppdm_person
)
SELECT
    (SELECT COUNT(*) FROM ppdm_several) AS ppdm_people,
    (SELECT COUNT(*) FROM ppdm_left WHERE ppdm_values < $least) AS ppdm_narrowed
