"""How fast it is: what ``sirl bench`` measures, section by section, and the tables it makes of it."""
