"""The operator's side: one queue for what a person has to answer, and the endpoint where agents ask."""
