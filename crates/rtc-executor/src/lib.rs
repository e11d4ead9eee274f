//! Runs a remote tool call by its id: marks, recovery and the permission of each opened path.
