"""Many machines, one list: what the sessions of each do, one queue, one policy, over NATS JetStream or ssh."""
