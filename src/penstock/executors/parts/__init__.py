"""What several executors share; an executor never imports another executor."""
