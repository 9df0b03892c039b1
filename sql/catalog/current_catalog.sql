-- The database that is open: the first part of a name of three.
SELECT CURRENT_CATALOG AS ppdm_catalog
