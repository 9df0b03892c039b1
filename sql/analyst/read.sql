-- Computing with the labels of a release: macros for any DuckDB client; nothing else is needed.
-- Tested with DuckDB 1.5 and 2.0.  For PostgreSQL there is read_postgres.sql, with the same names.
--
-- Load them once per database with `.read read.sql` (or run this text); loading again replaces them and touches nothing
-- else.  Every macro is an expression over a label as it is published:
--
--   67                       one value                 [65, 70)   from 65 on and below 70     [65, 69]  both included
--   < 30      >= 65          open on one side          (known)    any value                   *         suppressed
--   NULL                     missing in the source
--
--   2024-02   2024-Q1   2024   2020s   2000 to 2099     periods of CALENDAR, read by the macros for dates
--
-- Numbers come as DOUBLE, moments (ppdm_..._date) as TIMESTAMP in UTC.  Labels that are words ({a, b}, a hierarchy's
-- word) are read by none of these macros: they give NULL.  A column that was published AS RANGE needs no macro.
--
--   ppdm_lower(label)                 where the range starts; NULL: open, suppressed or missing
--   ppdm_upper(label)                 where it ends (the end is not in it, except of a value and of [65, 69])
--   ppdm_mid(label)                   the middle; of an open range its bounded end; NULL: suppressed or missing
--   ppdm_contains(label, value)       whether the value may be the one behind the label; * may be any, NULL is unknown
--   ppdm_overlaps(label, low, high)   whether a value from low on and below high may be behind it
--   ppdm_share(label, low, high)      which part of the range lies there, between 0 and 1; for spreading counts.
--                                     An open range counts at its bounded end; NULL: suppressed or missing
--   ppdm_share(label, low, high, lowest := 0, tail := 7.5)
--                                     the same, with open ranges spread: < 30 evenly from lowest on, and >= 65 over
--                                     values that lie tail above 65 on average, fewer and fewer of them (e^-x)
--
-- The same for dates and timestamps: ppdm_lower_date, ppdm_upper_date, ppdm_mid_date, ppdm_contains_date,
-- ppdm_overlaps_date, ppdm_share_date (without lowest and tail).  ppdm_period_start and ppdm_period_months are for these.
--
-- The share counts a whole number as the stretch up to the next one: half of [65, 70) is [65, 67.5).  A value by itself
-- lies in one stretch or in the other.
--
--   SELECT ppdm_lower('[65, 70)'), ppdm_mid('[65, 70)'), ppdm_share('[65, 75)', 60, 70);    -- 65.0  67.5  0.5


CREATE OR REPLACE MACRO ppdm_lower(label) AS
    TRY_CAST(CASE WHEN label LIKE '[%' THEN regexp_extract(label, '^\[([^\[,]+), ([^,]+)[\])]$', 1)
                  WHEN label LIKE '>= %' THEN label[4:]
                  WHEN label LIKE '< %' THEN NULL
                  ELSE label END AS DOUBLE);

CREATE OR REPLACE MACRO ppdm_upper(label) AS
    TRY_CAST(CASE WHEN label LIKE '[%' THEN regexp_extract(label, '^\[([^\[,]+), ([^,]+)[\])]$', 2)
                  WHEN label LIKE '>= %' THEN NULL
                  WHEN label LIKE '< %' THEN label[3:]
                  ELSE label END AS DOUBLE);

CREATE OR REPLACE MACRO ppdm_mid(label) AS
    CASE WHEN ppdm_lower(label) IS NULL THEN ppdm_upper(label)
         WHEN ppdm_upper(label) IS NULL THEN ppdm_lower(label)
         ELSE (ppdm_lower(label) + ppdm_upper(label)) / 2 END;

CREATE OR REPLACE MACRO ppdm_contains(label, value) AS
    CASE WHEN label IS NULL OR value IS NULL THEN NULL
         WHEN regexp_matches(label, '^\*+$') OR label = '(known)' THEN true
         WHEN label LIKE '< %' THEN value < ppdm_upper(label)
         WHEN label LIKE '>= %' THEN value >= ppdm_lower(label)
         WHEN label LIKE '[%)' THEN value >= ppdm_lower(label) AND value < ppdm_upper(label)
         ELSE value >= ppdm_lower(label) AND value <= ppdm_upper(label) END;

CREATE OR REPLACE MACRO ppdm_overlaps(label, low, high) AS
    CASE WHEN label IS NULL OR low IS NULL OR high IS NULL THEN NULL
         WHEN low >= high THEN false
         WHEN regexp_matches(label, '^\*+$') OR label = '(known)' THEN true
         WHEN label LIKE '< %' THEN low < ppdm_upper(label)
         WHEN label LIKE '>= %' THEN high > ppdm_lower(label)
         WHEN label LIKE '[%)' THEN high > ppdm_lower(label) AND low < ppdm_upper(label)
         ELSE high > ppdm_lower(label) AND low <= ppdm_upper(label) END;

CREATE OR REPLACE MACRO ppdm_share(label, low, high, lowest := NULL, tail := NULL) AS
    CASE WHEN low IS NULL OR high IS NULL OR ppdm_mid(label) IS NULL THEN NULL
         WHEN low >= high THEN 0.0::DOUBLE
         WHEN label LIKE '< %' AND lowest < ppdm_upper(label)
             THEN greatest(0, least(high, ppdm_upper(label)) - greatest(low, lowest))::DOUBLE
                  / (ppdm_upper(label) - lowest)
         WHEN label LIKE '>= %' AND tail > 0
             THEN exp(-least(700, greatest(0, low - ppdm_lower(label)) / tail::DOUBLE))
                  - exp(-least(700, greatest(0, high - ppdm_lower(label)) / tail::DOUBLE))
         WHEN label LIKE '< %' THEN CASE WHEN low < ppdm_upper(label) AND ppdm_upper(label) <= high THEN 1.0 ELSE 0.0 END::DOUBLE
         WHEN label LIKE '>= %' OR ppdm_lower(label) = ppdm_upper(label)
             THEN CASE WHEN low <= ppdm_lower(label) AND ppdm_lower(label) < high THEN 1.0 ELSE 0.0 END::DOUBLE
         ELSE greatest(0, least(high, ppdm_upper(label)) - greatest(low, ppdm_lower(label)))::DOUBLE
              / (ppdm_upper(label) - ppdm_lower(label)) END;


CREATE OR REPLACE MACRO ppdm_period_start(label) AS
    TRY_CAST(CASE WHEN regexp_matches(label, '^\d{4}(s| to \d{4})?$') THEN label[:4] || '-01-01'
                  WHEN regexp_matches(label, '^\d{4}-Q[1-4]$')
                      THEN label[:5] || lpad((3 * TRY_CAST(label[7:] AS INTEGER) - 2)::VARCHAR, 2, '0') || '-01'
                  WHEN regexp_matches(label, '^\d{4}-\d\d$') THEN label || '-01' END AS TIMESTAMP);

CREATE OR REPLACE MACRO ppdm_period_months(label) AS
    CASE WHEN ppdm_period_start(label) IS NULL THEN NULL
         WHEN label LIKE '%to%' THEN 1200
         WHEN label LIKE '%s' THEN 120
         WHEN label LIKE '%Q%' THEN 3
         WHEN label LIKE '%-%' THEN 1
         ELSE 12 END;

CREATE OR REPLACE MACRO ppdm_lower_date(label) AS
    coalesce(ppdm_period_start(label),
             TRY_CAST(replace(CASE WHEN label LIKE '[%' THEN regexp_extract(label, '^\[([^\[,]+), ([^,]+)[\])]$', 1)
                                   WHEN label LIKE '>= %' THEN label[4:]
                                   WHEN label LIKE '< %' THEN NULL
                                   ELSE label END, '+00', '') AS TIMESTAMP));

CREATE OR REPLACE MACRO ppdm_upper_date(label) AS
    coalesce(ppdm_period_start(label) + to_months(ppdm_period_months(label)),
             TRY_CAST(replace(CASE WHEN label LIKE '[%' THEN regexp_extract(label, '^\[([^\[,]+), ([^,]+)[\])]$', 2)
                                   WHEN label LIKE '>= %' THEN NULL
                                   WHEN label LIKE '< %' THEN label[3:]
                                   ELSE label END, '+00', '') AS TIMESTAMP));

CREATE OR REPLACE MACRO ppdm_mid_date(label) AS
    CASE WHEN ppdm_lower_date(label) IS NULL THEN ppdm_upper_date(label)
         WHEN ppdm_upper_date(label) IS NULL THEN ppdm_lower_date(label)
         ELSE make_timestamp((epoch_us(ppdm_lower_date(label)) + epoch_us(ppdm_upper_date(label))) // 2) END;

CREATE OR REPLACE MACRO ppdm_contains_date(label, value) AS
    CASE WHEN label IS NULL OR value IS NULL THEN NULL
         WHEN regexp_matches(label, '^\*+$') OR label = '(known)' THEN true
         WHEN label LIKE '< %' THEN value::TIMESTAMP < ppdm_upper_date(label)
         WHEN label LIKE '>= %' THEN value::TIMESTAMP >= ppdm_lower_date(label)
         WHEN label LIKE '[%)' OR ppdm_period_months(label) > 0
             THEN value::TIMESTAMP >= ppdm_lower_date(label) AND value::TIMESTAMP < ppdm_upper_date(label)
         ELSE value::TIMESTAMP >= ppdm_lower_date(label) AND value::TIMESTAMP <= ppdm_upper_date(label) END;

CREATE OR REPLACE MACRO ppdm_overlaps_date(label, low, high) AS
    CASE WHEN label IS NULL OR low IS NULL OR high IS NULL THEN NULL
         WHEN low::TIMESTAMP >= high::TIMESTAMP THEN false
         WHEN regexp_matches(label, '^\*+$') OR label = '(known)' THEN true
         WHEN label LIKE '< %' THEN low::TIMESTAMP < ppdm_upper_date(label)
         WHEN label LIKE '>= %' THEN high::TIMESTAMP > ppdm_lower_date(label)
         WHEN label LIKE '[%)' OR ppdm_period_months(label) > 0
             THEN high::TIMESTAMP > ppdm_lower_date(label) AND low::TIMESTAMP < ppdm_upper_date(label)
         ELSE high::TIMESTAMP > ppdm_lower_date(label) AND low::TIMESTAMP <= ppdm_upper_date(label) END;

CREATE OR REPLACE MACRO ppdm_share_date(label, low, high) AS
    CASE WHEN low IS NULL OR high IS NULL OR ppdm_mid_date(label) IS NULL THEN NULL
         WHEN label LIKE '< %' THEN CASE WHEN low::TIMESTAMP < ppdm_upper_date(label)
                                          AND ppdm_upper_date(label) <= high::TIMESTAMP THEN 1.0 ELSE 0.0 END::DOUBLE
         WHEN label LIKE '>= %' THEN CASE WHEN low::TIMESTAMP <= ppdm_lower_date(label)
                                           AND ppdm_lower_date(label) < high::TIMESTAMP THEN 1.0 ELSE 0.0 END::DOUBLE
         WHEN ppdm_lower_date(label) = ppdm_upper_date(label)
             THEN CASE WHEN low::TIMESTAMP <= ppdm_lower_date(label) AND ppdm_lower_date(label) < high::TIMESTAMP
                       THEN 1.0 ELSE 0.0 END::DOUBLE
         ELSE greatest(0, epoch_us(least(high::TIMESTAMP, ppdm_upper_date(label)))
                          - epoch_us(greatest(low::TIMESTAMP, ppdm_lower_date(label))))::DOUBLE
              / (epoch_us(ppdm_upper_date(label)) - epoch_us(ppdm_lower_date(label))) END;
