"""Process mining: what runs and imported logs show of a process, and the models that are proposed from them."""
