"""From verdict to key: policies, the gate in front of every key, checks, answers, and what is logged of them."""
