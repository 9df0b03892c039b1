"""python -m ppdm_sql: the command line."""

from ppdm_sql.commands import main

if __name__ == "__main__":
    main()
