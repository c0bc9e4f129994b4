"""Learned autonomy: from what became of agents' drafts, proposals to raise or lower an agent's mode (P-4.2, P-X.40)."""
