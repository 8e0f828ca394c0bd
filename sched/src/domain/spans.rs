//! Each set of CPUs once, however many domains and groups span it.

use crate::cpumask::CpuMask;
use std::collections::HashMap;
use std::sync::Arc;

/// A mask of a [`Spans`] table. Equal sets have equal ids.
pub(super) type SpanId = u32;

/// The masks that the domains of one machine are made of.
pub(super) struct Spans {
    masks: Vec<Arc<CpuMask>>,
    weights: Vec<u32>,
    ids: HashMap<Arc<CpuMask>, SpanId>,
}

impl Spans {
    pub(super) fn new() -> Self {
        Spans { masks: Vec::new(), weights: Vec::new(), ids: HashMap::new() }
    }

    pub(super) fn intern(&mut self, mask: CpuMask) -> SpanId {
        if let Some(&id) = self.ids.get(&mask) {
            return id;
        }
        let id = self.masks.len() as SpanId;
        let mask = Arc::new(mask);
        self.weights.push(mask.weight());
        self.masks.push(mask.clone());
        self.ids.insert(mask, id);
        id
    }

    pub(super) fn mask(&self, id: SpanId) -> &Arc<CpuMask> {
        &self.masks[id as usize]
    }

    pub(super) fn weight(&self, id: SpanId) -> u32 {
        self.weights[id as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.masks.len()
    }
}
