//! The tools there are, by name.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::{Description, ToolHandle};

/// Tools by name, in the order in which they were registered; the model sees them in this order.
#[derive(Default, Clone)]
pub struct Registry(IndexMap<String, Arc<dyn ToolHandle>>);

impl Registry {
    /// Adds a tool. One of the same name is replaced in its place and given back.
    pub fn register(&mut self, tool: Arc<dyn ToolHandle>) -> Option<Arc<dyn ToolHandle>> {
        self.0.insert(tool.describe().name.clone(), tool)
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ToolHandle>> {
        self.0.get(name)
    }

    /// All tools.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn ToolHandle>> {
        self.0.values()
    }

    /// What a model is told of them.
    pub fn describe(&self) -> Vec<Description> {
        self.iter().map(|tool| tool.describe().clone()).collect()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
