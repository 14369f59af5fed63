//! How an exchange calls the symbols.

use crate::market::{Instrument, Market, SymbolId};
use std::collections::HashMap;

/// Names in the order of the market's symbols, and back.
#[derive(Clone, Debug)]
pub struct Names {
    names: Vec<String>,
    by_name: HashMap<String, SymbolId>,
}

impl Names {
    /// By a rule that names an instrument.
    pub fn new(market: &Market, name: impl Fn(&Instrument) -> String) -> Self {
        let names: Vec<String> = market
            .symbols()
            .iter()
            .map(|symbol| name(&symbol.instrument))
            .collect();
        let by_name = names.iter().cloned().zip(market.ids()).collect();
        Self { names, by_name }
    }

    /// The name of a symbol.
    pub fn of(&self, id: SymbolId) -> &str {
        &self.names[id.0 as usize]
    }

    /// The symbol of a name, spelled exactly so.
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.by_name.get(name).copied()
    }

    /// All names with their symbols.
    pub fn all(&self) -> impl Iterator<Item = (SymbolId, &str)> {
        self.names
            .iter()
            .enumerate()
            .map(|(index, name)| (SymbolId(index as u32), name.as_str()))
    }
}
