-- Computing with the labels of a release in PostgreSQL: the functions of read.sql, which says what each of them gives.
-- Tested with PostgreSQL 15 and 16.
--
-- Load them once per database with `psql -f read_postgres.sql`; loading again replaces them and touches nothing else.
-- Numbers come as DOUBLE PRECISION, moments (ppdm_..._date) as TIMESTAMP in UTC.
--
--   SELECT ppdm_lower('[65, 70)'), ppdm_mid('[65, 70)'), ppdm_share('[65, 75)', 60, 70);    -- 65  67.5  0.5


CREATE OR REPLACE FUNCTION ppdm_end(label TEXT, part INTEGER) RETURNS TEXT LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN label LIKE '[%' THEN (regexp_match(label, '^\[([^\[,]+), ([^,]+)[\])]$'))[part]
                WHEN label LIKE '>= %' THEN CASE WHEN part = 1 THEN substr(label, 4) END
                WHEN label LIKE '< %' THEN CASE WHEN part = 2 THEN substr(label, 3) END
                ELSE label END
$$;

CREATE OR REPLACE FUNCTION ppdm_number(text_of TEXT) RETURNS DOUBLE PRECISION LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN text_of ~* '^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)$'
                THEN text_of::DOUBLE PRECISION END
$$;

CREATE OR REPLACE FUNCTION ppdm_moment(text_of TEXT) RETURNS TIMESTAMP LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN text_of ~ '^[0-9]{4,}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?)?([+]00)?$'
                THEN replace(text_of, '+00', '')::TIMESTAMP END
$$;

CREATE OR REPLACE FUNCTION ppdm_lower(label TEXT) RETURNS DOUBLE PRECISION LANGUAGE SQL IMMUTABLE AS $$
    SELECT ppdm_number(ppdm_end(label, 1))
$$;

CREATE OR REPLACE FUNCTION ppdm_upper(label TEXT) RETURNS DOUBLE PRECISION LANGUAGE SQL IMMUTABLE AS $$
    SELECT ppdm_number(ppdm_end(label, 2))
$$;

CREATE OR REPLACE FUNCTION ppdm_mid(label TEXT) RETURNS DOUBLE PRECISION LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN ppdm_lower(label) IS NULL THEN ppdm_upper(label)
                WHEN ppdm_upper(label) IS NULL THEN ppdm_lower(label)
                ELSE (ppdm_lower(label) + ppdm_upper(label)) / 2 END
$$;

CREATE OR REPLACE FUNCTION ppdm_contains(label TEXT, value DOUBLE PRECISION) RETURNS BOOLEAN LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN label IS NULL OR value IS NULL THEN NULL
                WHEN label ~ '^[*]+$' OR label = '(known)' THEN true
                WHEN label LIKE '< %' THEN value < ppdm_upper(label)
                WHEN label LIKE '>= %' THEN value >= ppdm_lower(label)
                WHEN label LIKE '[%)' THEN value >= ppdm_lower(label) AND value < ppdm_upper(label)
                ELSE value >= ppdm_lower(label) AND value <= ppdm_upper(label) END
$$;

CREATE OR REPLACE FUNCTION ppdm_overlaps(label TEXT, low DOUBLE PRECISION, high DOUBLE PRECISION)
RETURNS BOOLEAN LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN label IS NULL OR low IS NULL OR high IS NULL THEN NULL
                WHEN low >= high THEN false
                WHEN label ~ '^[*]+$' OR label = '(known)' THEN true
                WHEN label LIKE '< %' THEN low < ppdm_upper(label)
                WHEN label LIKE '>= %' THEN high > ppdm_lower(label)
                WHEN label LIKE '[%)' THEN high > ppdm_lower(label) AND low < ppdm_upper(label)
                ELSE high > ppdm_lower(label) AND low <= ppdm_upper(label) END
$$;

DROP FUNCTION IF EXISTS ppdm_share(TEXT, DOUBLE PRECISION, DOUBLE PRECISION);  -- of earlier versions

CREATE OR REPLACE FUNCTION ppdm_share(label TEXT, low DOUBLE PRECISION, high DOUBLE PRECISION,
                                      lowest DOUBLE PRECISION DEFAULT NULL, tail DOUBLE PRECISION DEFAULT NULL)
RETURNS DOUBLE PRECISION LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN low IS NULL OR high IS NULL OR ppdm_mid(label) IS NULL THEN NULL
                WHEN low >= high THEN 0
                WHEN label LIKE '< %' AND lowest < ppdm_upper(label)
                    THEN greatest(0, least(high, ppdm_upper(label)) - greatest(low, lowest)) / (ppdm_upper(label) - lowest)
                WHEN label LIKE '>= %' AND tail > 0
                    THEN exp(-least(700, greatest(0, low - ppdm_lower(label)) / tail))
                         - exp(-least(700, greatest(0, high - ppdm_lower(label)) / tail))
                WHEN label LIKE '< %' THEN (low < ppdm_upper(label) AND ppdm_upper(label) <= high)::INTEGER
                WHEN label LIKE '>= %' OR ppdm_lower(label) = ppdm_upper(label)
                    THEN (low <= ppdm_lower(label) AND ppdm_lower(label) < high)::INTEGER
                ELSE greatest(0, least(high, ppdm_upper(label)) - greatest(low, ppdm_lower(label)))
                     / (ppdm_upper(label) - ppdm_lower(label)) END
$$;

CREATE OR REPLACE FUNCTION ppdm_period_start(label TEXT) RETURNS TIMESTAMP LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN label ~ '^[0-9]{4}(s| to [0-9]{4})?$' THEN ppdm_moment(left(label, 4) || '-01-01')
                WHEN label ~ '^[0-9]{4}-Q[1-4]$'
                    THEN ppdm_moment(left(label, 5) || lpad((3 * ascii(substr(label, 7)) - 146)::TEXT, 2, '0') || '-01')
                WHEN label ~ '^[0-9]{4}-(0[1-9]|1[0-2])$' THEN ppdm_moment(label || '-01') END
$$;

CREATE OR REPLACE FUNCTION ppdm_period_months(label TEXT) RETURNS INTEGER LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN ppdm_period_start(label) IS NULL THEN NULL
                WHEN label LIKE '%to%' THEN 1200
                WHEN label LIKE '%s' THEN 120
                WHEN label LIKE '%Q%' THEN 3
                WHEN label LIKE '%-%' THEN 1
                ELSE 12 END
$$;

CREATE OR REPLACE FUNCTION ppdm_lower_date(label TEXT) RETURNS TIMESTAMP LANGUAGE SQL IMMUTABLE AS $$
    SELECT coalesce(ppdm_period_start(label), ppdm_moment(ppdm_end(label, 1)))
$$;

CREATE OR REPLACE FUNCTION ppdm_upper_date(label TEXT) RETURNS TIMESTAMP LANGUAGE SQL IMMUTABLE AS $$
    SELECT coalesce(ppdm_period_start(label) + make_interval(months => ppdm_period_months(label)),
                    ppdm_moment(ppdm_end(label, 2)))
$$;

CREATE OR REPLACE FUNCTION ppdm_mid_date(label TEXT) RETURNS TIMESTAMP LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN ppdm_lower_date(label) IS NULL THEN ppdm_upper_date(label)
                WHEN ppdm_upper_date(label) IS NULL THEN ppdm_lower_date(label)
                ELSE ppdm_lower_date(label) + (ppdm_upper_date(label) - ppdm_lower_date(label)) / 2 END
$$;

CREATE OR REPLACE FUNCTION ppdm_contains_date(label TEXT, value TIMESTAMP) RETURNS BOOLEAN LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN label IS NULL OR value IS NULL THEN NULL
                WHEN label ~ '^[*]+$' OR label = '(known)' THEN true
                WHEN label LIKE '< %' THEN value < ppdm_upper_date(label)
                WHEN label LIKE '>= %' THEN value >= ppdm_lower_date(label)
                WHEN label LIKE '[%)' OR ppdm_period_months(label) > 0
                    THEN value >= ppdm_lower_date(label) AND value < ppdm_upper_date(label)
                ELSE value >= ppdm_lower_date(label) AND value <= ppdm_upper_date(label) END
$$;

CREATE OR REPLACE FUNCTION ppdm_overlaps_date(label TEXT, low TIMESTAMP, high TIMESTAMP)
RETURNS BOOLEAN LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN label IS NULL OR low IS NULL OR high IS NULL THEN NULL
                WHEN low >= high THEN false
                WHEN label ~ '^[*]+$' OR label = '(known)' THEN true
                WHEN label LIKE '< %' THEN low < ppdm_upper_date(label)
                WHEN label LIKE '>= %' THEN high > ppdm_lower_date(label)
                WHEN label LIKE '[%)' OR ppdm_period_months(label) > 0
                    THEN high > ppdm_lower_date(label) AND low < ppdm_upper_date(label)
                ELSE high > ppdm_lower_date(label) AND low <= ppdm_upper_date(label) END
$$;

CREATE OR REPLACE FUNCTION ppdm_share_date(label TEXT, low TIMESTAMP, high TIMESTAMP)
RETURNS DOUBLE PRECISION LANGUAGE SQL IMMUTABLE AS $$
    SELECT CASE WHEN low IS NULL OR high IS NULL OR ppdm_mid_date(label) IS NULL THEN NULL
                WHEN label LIKE '< %' THEN (low < ppdm_upper_date(label) AND ppdm_upper_date(label) <= high)::INTEGER
                WHEN label LIKE '>= %' OR ppdm_lower_date(label) = ppdm_upper_date(label)
                    THEN (low <= ppdm_lower_date(label) AND ppdm_lower_date(label) < high)::INTEGER
                ELSE greatest(0, extract(epoch FROM least(high, ppdm_upper_date(label))) - extract(epoch FROM greatest(low, ppdm_lower_date(label))))
                     / (extract(epoch FROM ppdm_upper_date(label)) - extract(epoch FROM ppdm_lower_date(label))) END
$$;
