"""What is counted of executions: metrics and alarms, usage per tenant and day, the first look."""
