-- Delta-presence: of the people of the population with the same labels, a share between two bounds is in the release.
-- Labels of which nobody is in the release count, too: their share is 0.
-- One row for every pair of numbers that occurs; ppdm_breach = 1 marks the shares outside of the bounds.
-- Figure: the share (ppdm_over / ppdm_under), at worst the greatest.
-- Stand-ins: source, quasi, population (quasi and ppdm_people: how many have these labels).
-- Parameters: $least_numerator, $least_denominator, $most_numerator, $most_denominator.
WITH ppdm_everybody AS (
    SELECT quasi, 1 AS ppdm_here, 0 AS ppdm_there FROM source
    UNION ALL
    SELECT quasi, 0 AS ppdm_here, ppdm_people AS ppdm_there FROM population
), ppdm_class AS (
    SELECT
        quasi,
        CAST(SUM(ppdm_here) AS DECIMAL(38, 0)) AS ppdm_size,
        CAST(SUM(ppdm_there) AS DECIMAL(38, 0)) AS ppdm_held
    FROM ppdm_everybody
    GROUP BY quasi
)
SELECT
    CASE
        WHEN
            ppdm_size * $most_denominator > ppdm_held * $most_numerator
            OR ppdm_size * $least_denominator < ppdm_held * $least_numerator
            THEN 1
        ELSE 0
    END AS ppdm_breach,
    ppdm_size AS ppdm_over,
    ppdm_held AS ppdm_under,
    COUNT(*) AS ppdm_classes,
    SUM(ppdm_size) AS ppdm_rows
FROM ppdm_class
GROUP BY ppdm_size, ppdm_held
