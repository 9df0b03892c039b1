-- The table of the demo: 20,000 hospital stays of one made-up year.  Nobody in it exists.
--
-- Every number comes from the SHA-256 of the seed, a person and a stay, so the table is the same to the last
-- row on every machine and every version of DuckDB (random() and hash() would not promise that).  Another
-- seed gives another hospital of the same kind.
--
-- The table is made to be worth protecting.  Age, sex, zip and ward together point to one person more
-- often than not.  Age, sex and diagnosis belong together, so hiding one does not hide the other.  More
-- than a third of the stays are of people who came twice or more, so rows are not people.  Some zips, wards
-- and diagnoses are unknown.  Whether a patient comes back depends on diagnosis, age, length of stay and ward,
-- so there is something to learn that should survive.
CREATE TABLE patients AS
WITH seed AS (
    SELECT 'hospital 7' AS seed

-- Who falls ill: permille of the patients per age group.
), ages (low, high, youngest, years) AS (
    VALUES (0, 60, 0, 5), (60, 120, 5, 13), (120, 240, 18, 12), (240, 410, 30, 15), (410, 600, 45, 15),
           (600, 750, 60, 10), (750, 890, 70, 10), (890, 980, 80, 10), (980, 1000, 90, 9)

-- Where they live: permille per area, and into how many zips the area is cut.  60 zips in 8 areas.
), areas (low, high, area, zips) AS (
    VALUES (0, 260, '841', 10), (260, 400, '842', 8), (400, 510, '843', 7), (510, 600, '846', 6),
           (600, 750, '850', 9), (750, 860, '852', 8), (860, 940, '856', 6), (940, 1000, '859', 6)

-- What they have: weight per stage of life, how much of it for women and men (percent), the usual days
-- of a stay, how many come back (permille, for the middle of life), and the wards they lie in, most frequent first.
), illnesses (diagnosis, child, young, middle, old, women, men, days, again, ward_1, ward_2, ward_3) AS (
    VALUES
    ('Appendicitis',           130,  70,  25,  10, 100, 100,  4,  15, 'General surgery', 'Gastroenterology', 'General medicine'),
    ('Asthma or COPD',         130,  45,  90, 120, 100, 100,  6, 330, 'Pulmonology',     'General medicine', 'Intensive care'),
    ('Bowel cancer',             0,   8,  55,  70,  85, 115,  9, 260, 'General surgery', 'Oncology',         'Gastroenterology'),
    ('Breast cancer',            0,  18,  60,  45, 100,   1,  6, 190, 'Oncology',        'Gynaecology',      'General surgery'),
    ('Childbirth',               0, 190,   0,   0, 100,   0,  3,  10, 'Maternity',       'Gynaecology',      'General surgery'),
    ('Coronary heart disease',   0,  15, 130, 140,  60, 140,  6, 170, 'Cardiology',      'Intensive care',   'General medicine'),
    ('Depression',              30,  90,  70,  25, 120,  80, 14, 290, 'Psychiatry',      'General medicine', 'Neurology'),
    ('Diabetes',                25,  40,  80,  70, 100, 100,  6, 220, 'General medicine', 'Gastroenterology', 'Cardiology'),
    ('Fracture',               170,  90,  70, 120, 100, 100,  6,  30, 'Trauma surgery',  'Orthopaedics',     'General surgery'),
    ('Gallstones',               2,  60,  80,  45, 150,  70,  4,  20, 'General surgery', 'Gastroenterology', 'General medicine'),
    ('Head injury',            120,  60,  30,  35,  75, 125,  3,  20, 'Neurology',       'Trauma surgery',   'Stroke unit'),
    ('Heart failure',            2,   8,  70, 190,  90, 110,  8, 430, 'Cardiology',      'General medicine', 'Intensive care'),
    ('Pneumonia',              180,  40,  60, 110,  95, 105,  7, 140, 'Pulmonology',     'General medicine', 'Intensive care'),
    ('Pregnancy complication',   0, 120,   0,   0, 100,   0,  4,  40, 'Maternity',       'Gynaecology',      'General medicine'),
    ('Stroke',                   1,   8,  50, 120, 100, 100, 10, 200, 'Stroke unit',     'Neurology',        'Intensive care')

-- The same weights, one line per stage of life, sex and illness, laid end to end on a line of the length total.
), shares AS (
    SELECT stage, sex, diagnosis, total, high - weight AS low, high
    FROM (
        SELECT stage, sex, diagnosis, weight,
               CAST(SUM(weight) OVER (PARTITION BY stage, sex ORDER BY diagnosis) AS BIGINT) AS high,
               CAST(SUM(weight) OVER (PARTITION BY stage, sex) AS BIGINT) AS total
        FROM (
            SELECT stage, sex, diagnosis,
                   CASE stage WHEN 'child' THEN child WHEN 'young' THEN young WHEN 'middle' THEN middle ELSE old END
                   * CASE sex WHEN 'female' THEN women ELSE men END AS weight
            FROM illnesses,
                 (VALUES ('child'), ('young'), ('middle'), ('old')) AS stages (stage),
                 (VALUES ('female'), ('male')) AS sexes (sex)
        ) AS weighted
    ) AS summed

-- Ten dice of 0 .. 65535 per person, cut from one hash.
), people AS (
    SELECT person,
           CAST('0x' || substr(digest, 1, 4) AS BIGINT) AS age_die,
           CAST('0x' || substr(digest, 5, 4) AS BIGINT) AS sex_die,
           CAST('0x' || substr(digest, 9, 4) AS BIGINT) AS area_die,
           CAST('0x' || substr(digest, 13, 4) AS BIGINT) AS zip_die,
           CAST('0x' || substr(digest, 17, 4) AS BIGINT) AS given_die,
           CAST('0x' || substr(digest, 21, 4) AS BIGINT) AS family_die,
           CAST('0x' || substr(digest, 25, 4) AS BIGINT) AS illness_die,
           CAST('0x' || substr(digest, 29, 4) AS BIGINT) AS stays_die,
           CAST('0x' || substr(digest, 33, 4) AS BIGINT) AS birthday_die,
           CAST('0x' || substr(digest, 37, 4) AS BIGINT) AS insurance_die
    FROM (
        SELECT person, sha256(seed || '/person ' || CAST(person AS VARCHAR)) AS digest
        FROM seed, range(1, 20001) AS numbers (person)
    ) AS digests

), aged AS (
    SELECT people.*, youngest + (age_die // 1000) % years AS years_old
    FROM people JOIN ages ON age_die % 1000 >= low AND age_die % 1000 < high

-- Born on or before the year's first day, so that nobody is admitted unborn.
), persons AS (
    SELECT person, years_old, illness_die,
           DATE '2024-01-01' - CAST(years_old * 365 + years_old // 4 + birthday_die % 365 AS INTEGER) AS born,
           CASE WHEN sex_die % 1000 < CASE WHEN years_old BETWEEN 18 AND 44 THEN 560
                                           WHEN years_old >= 80 THEN 620 ELSE 505 END
                THEN 'female' ELSE 'male' END AS sex,
           -- Zips of an area end in 01, 04, 07, 11, 14 ...; the square makes the first ones more crowded.
           area || CAST((zips * zip_die * zip_die // 4294967296) // 3 AS VARCHAR)
                || CAST(1 + 3 * ((zips * zip_die * zip_die // 4294967296) % 3) AS VARCHAR) AS zip,
           CASE WHEN years_old >= 65 AND insurance_die % 10 < 8 THEN 'public'
                WHEN insurance_die % 100 < 62 THEN 'public'
                WHEN insurance_die % 100 < 93 THEN 'private' ELSE 'none' END AS insurance,
           given_die, family_die,
           1 + CAST(stays_die % 100 < CASE WHEN years_old >= 65 THEN 28 ELSE 15 END AS INTEGER)
             + CAST(stays_die % 100 < CASE WHEN years_old >= 65 THEN 11 ELSE 4 END AS INTEGER)
             + CAST(stays_die % 100 < CASE WHEN years_old >= 65 THEN 4 ELSE 1 END AS INTEGER) AS stays
    FROM aged JOIN areas ON area_die % 1000 >= low AND area_die % 1000 < high

-- Names put together from common given names and invented syllables.
), named AS (
    SELECT persons.*,
           'P' || lpad(CAST((person * 48271) % 999983 AS VARCHAR), 6, '0') AS patient_id,
           CASE sex
               WHEN 'female' THEN ['Ada', 'Bea', 'Carla', 'Dora', 'Ella', 'Flora', 'Greta', 'Hanna', 'Ida', 'Jana', 'Klara',
                                   'Lena', 'Mara', 'Nora', 'Olga', 'Paula', 'Rita', 'Sara', 'Tilda', 'Vera'][1 + given_die % 20]
               ELSE ['Adam', 'Bruno', 'Carl', 'David', 'Emil', 'Felix', 'Georg', 'Hugo', 'Ivan', 'Jonas', 'Kurt',
                     'Leo', 'Max', 'Noah', 'Oskar', 'Paul', 'Ralf', 'Simon', 'Theo', 'Viktor'][1 + given_die % 20]
           END
           || ' ' || chr(CAST(65 + (given_die // 20) % 26 AS INTEGER)) || '. '
           || ['Bar', 'Cor', 'Del', 'Fen', 'Gal', 'Hol', 'Jor', 'Kel', 'Lam', 'Mor', 'Nor', 'Pel', 'Ros', 'Sar', 'Tol',
               'Vel'][1 + family_die % 16]
           || ['ban', 'den', 'dorn', 'fix', 'ley', 'mer', 'nik', 'quist', 'rin', 'sted', 'tal', 'vik'][1 + (family_die // 16) % 12]
               AS name
    FROM persons

-- One row per stay, the first 20,000 of them, each with dice of its own.
), stays AS (
    SELECT named.*, number, sha256(seed || '/stay ' || CAST(person AS VARCHAR) || '.' || CAST(number AS VARCHAR)) AS digest
    FROM seed, named JOIN range(1, 5) AS numbers (number) ON number <= stays
    ORDER BY person, number
    LIMIT 20000
), rolled AS (
    SELECT stays.*,
           CAST('0x' || substr(digest, 1, 4) AS BIGINT) AS day_die,
           CAST('0x' || substr(digest, 5, 4) AS BIGINT) AS own_illness_die,
           CAST('0x' || substr(digest, 9, 4) AS BIGINT) AS ward_die,
           CAST('0x' || substr(digest, 13, 4) AS BIGINT) AS length_die,
           CAST('0x' || substr(digest, 17, 4) AS BIGINT) AS luck_die,
           CAST('0x' || substr(digest, 21, 4) AS BIGINT) AS again_die,
           CAST('0x' || substr(digest, 25, 4) AS BIGINT) AS zip_unknown_die,
           CAST('0x' || substr(digest, 29, 4) AS BIGINT) AS lodger_die,
           CAST('0x' || substr(digest, 33, 4) AS BIGINT) AS same_illness_die,
           CAST('0x' || substr(digest, 37, 4) AS BIGINT) AS ward_unknown_die,
           CAST('0x' || substr(digest, 41, 4) AS BIGINT) AS diagnosis_unknown_die
    FROM stays
), admitted AS (
    SELECT rolled.*,
           -- The stays of a person are spread over the year, one after the other.
           DATE '2024-01-01' + CAST((number - 1) * (366 // stays) + day_die % (366 // stays) AS INTEGER) AS admitted,
           -- A later stay is mostly for what brought the person in before; births do not repeat within a year.
           CASE WHEN years_old < 18 THEN 'child' WHEN years_old < 45 AND number = 1 THEN 'young'
                WHEN years_old < 65 THEN 'middle' ELSE 'old' END AS stage,
           CASE WHEN number = 1 OR same_illness_die % 10 < 6 THEN illness_die ELSE own_illness_die END AS picked
    FROM rolled
), ill AS (
    SELECT admitted.*, diagnosis, days, again,
           CAST(((admitted - born) * 4) // 1461 AS INTEGER) AS age,
           CASE -- where there is a free bed, at times anywhere
               WHEN lodger_die % 100 < 12
                   THEN ['Cardiology', 'Gastroenterology', 'General medicine', 'General surgery', 'Gynaecology', 'Intensive care',
                         'Neurology', 'Oncology', 'Orthopaedics', 'Pulmonology', 'Stroke unit', 'Trauma surgery']
                        [1 + (lodger_die // 100) % 12]
               WHEN years_old < 16 AND ward_die % 100 < 80 THEN 'Paediatrics'
               WHEN ward_die % 100 < 60 THEN ward_1
               WHEN ward_die % 100 < 85 THEN ward_2
               ELSE ward_3
           END AS ward
    FROM admitted
    JOIN shares USING (stage, sex)
    JOIN illnesses USING (diagnosis)
    WHERE picked * total // 65536 >= low AND picked * total // 65536 < high
), treated AS (
    SELECT ill.*,
           -- Two dice multiplied: many short stays, a few long ones; the old stay longer.
           CAST(1 + 4 * days * length_die * luck_die // 4294967296 + age // 30 AS INTEGER) AS stay_days
    FROM ill
)
SELECT
    patient_id,
    name,
    age,
    sex,
    CASE WHEN zip_unknown_die % 1000 >= 30 THEN zip END AS zip,
    CASE WHEN ward_unknown_die % 1000 >= 20 THEN ward END AS ward,
    admitted,
    stay_days,
    CASE WHEN diagnosis_unknown_die % 1000 >= 25 THEN diagnosis END AS diagnosis,
    -- Chronic illness brings the old back, the young seldom; a long stay or intensive care shows how ill a patient was.
    CASE WHEN again_die % 1000 < again * CASE WHEN age >= 80 THEN 20 WHEN age >= 65 THEN 15 WHEN age >= 45 THEN 10 ELSE 3 END // 10
                               + CASE WHEN stay_days >= 14 THEN 250 WHEN stay_days >= 8 THEN 60 ELSE 0 END
                               + CASE WHEN ward = 'Intensive care' THEN 150 ELSE 0 END
                               + CASE WHEN insurance = 'none' THEN 40 ELSE 0 END
         THEN 'yes' ELSE 'no' END AS readmitted,
    insurance
FROM treated
ORDER BY admitted, patient_id, number;
