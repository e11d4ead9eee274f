//! Sessions as lanes: turns, the life of a remote tool call, approvals and what the model is sent.
