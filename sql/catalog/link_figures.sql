-- Figures of a link table that change when a row is added, removed or edited: sums of products, modulo two primes, over
-- all columns of a row, so that values that change places change them too.
-- Stand-in: link.
SELECT COUNT(*) AS ppdm_lines, SUM(ppdm_rows) AS ppdm_people,
    SUM(CAST((ppdm_key0 % 1000003 + 1) * (ppdm_part % 998244353 + 1) AS DECIMAL(38, 0))) AS ppdm_by_class,
    SUM(CAST((ppdm_key1 % 1000033 + 1) * (ppdm_person % 998244353 + 1) AS DECIMAL(38, 0))) AS ppdm_by_person,
    SUM(CAST((ppdm_key0 % 998244353 + 1) * (ppdm_key1 % 1000003 + ppdm_rows) AS DECIMAL(38, 0))) AS ppdm_by_key
FROM link
