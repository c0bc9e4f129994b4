"""Parts of a task that an agent does: prompt, worktree, output, completion."""
