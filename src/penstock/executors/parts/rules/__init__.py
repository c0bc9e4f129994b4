"""Rule packs: read and check one, compile it once, judge data with it. Decision tables and DMN are forms of a pack."""
