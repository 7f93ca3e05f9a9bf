"""What really happened, as a scenario: histories of Azure Batch, logs of clusters, and workflows."""
