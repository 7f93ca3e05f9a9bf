"""The protocol: requests, routing, authentication, bodies, conditions, lists and answers, without any operation."""
