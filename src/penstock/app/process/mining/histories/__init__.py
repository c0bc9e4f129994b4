"""Cases that are looked at: instances that have ended, logs that were brought, and the maps of both."""
