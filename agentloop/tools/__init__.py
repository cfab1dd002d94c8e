"""Tools: what a model may ask for, how a call is checked, decided, executed and told."""
