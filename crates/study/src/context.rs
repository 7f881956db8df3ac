//! What computing a unit needs around it, and how it ends.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::error::StudyError;
use crate::parent::Parent;
use crate::program::Surroundings;
use crate::record::Record;
use crate::store::Store;
use crate::tools::Tools;
use crate::unit::StateOf;

/// What computing a unit needs to know of its surroundings.
pub struct Context<'a> {
    /// The results folder.
    pub store: &'a Store,
    /// Where the states that it starts from are; usually the same.
    pub states: &'a Store,
    /// Systems, and what runs them.
    pub tools: Tools<'a>,
    /// The ledger's head as the unit begins.
    pub head: String,
    /// Save the state of a long unit this often.
    pub save_after: Duration,
    /// Save and stop as soon as this is set.
    pub stop: &'a AtomicBool,
    /// Where a program runs and how long, for a unit that one computes.
    pub surroundings: Option<Surroundings>,
}

impl Context<'_> {
    pub(crate) fn parent(&self, of: StateOf) -> Result<Parent, StudyError> {
        Parent::load(self.states, self.tools.catalogue, of)
    }
}

/// How computing a unit ended.
#[derive(Debug)]
pub enum Ended {
    /// With a record, for the caller to put into the store.
    Recorded(Box<Record>),
    /// It was stopped; its state is saved.
    Stopped,
}
