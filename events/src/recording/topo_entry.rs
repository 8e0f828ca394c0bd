//! A domain of a topo file: in full, or as another CPU has it.

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use std::fmt;

/// What stands for a domain.
pub(super) enum JsonEntry {
    /// A CPU before this one: its domain at the same level, with the groups from this CPU's on.
    Like(u32),
    /// The domain.
    Full(JsonDomain),
}

/// Values that the file says twice are checked against each other.
#[derive(Deserialize)]
pub(super) struct JsonDomain {
    pub(super) name: String,
    pub(super) flags: String,
    pub(super) imbalance_pct: u32,
    #[serde(default)]
    pub(super) imb_numa_nr: u32,
    pub(super) span: String,
    pub(super) span_weight: Option<u32>,
    pub(super) groups: Vec<JsonGroup>,
}

#[derive(Deserialize)]
pub(super) struct JsonGroup {
    pub(super) mask: String,
    pub(super) weight: Option<u32>,
    pub(super) capacity: u64,
    pub(super) flags: String,
}

/// By the first key: serde's own way to tell two forms apart does not say which key of a domain is missing.
impl<'de> Deserialize<'de> for JsonEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Entry)
    }
}

struct Entry;

impl<'de> Visitor<'de> for Entry {
    type Value = JsonEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a domain")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonEntry, A::Error> {
        let first: Option<String> = map.next_key()?;
        if first.as_deref() != Some("like") {
            let whole = Again { first: first.map(String::into_deserializer), rest: map };
            return JsonDomain::deserialize(MapAccessDeserializer::new(whole)).map(JsonEntry::Full);
        }
        let like = map.next_value()?;
        match map.next_key::<String>()? {
            None => Ok(JsonEntry::Like(like)),
            Some(more) => Err(A::Error::custom(format_args!("expected nothing beside `like`, found `{more}`"))),
        }
    }
}

/// A map whose first key was taken already.
struct Again<A, E> {
    first: Option<StringDeserializer<E>>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Again<A, A::Error> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}
