-- The recoding of a growing release.  Parameter: $growth.
SELECT recoding FROM ppdm.growth WHERE growth_id = $growth
