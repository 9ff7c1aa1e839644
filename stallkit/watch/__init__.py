"""From a verdict to an act: policy, dismissal, events, and the check that joins them."""
