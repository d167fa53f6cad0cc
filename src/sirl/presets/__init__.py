"""Names and settings of tasks, one TOML file each; read by :mod:`sirl.config`."""
