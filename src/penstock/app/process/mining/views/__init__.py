"""What is shown of mining: maps, pictures, and the evidence for a model that waits."""
