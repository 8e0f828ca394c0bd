//! Global variables of an image by name, as a scheduler's loader sets them before it loads the object:
//! `cpu_ctxs[3].cap`.

use crate::image::{Image, Map, Variable};
use std::collections::BTreeSet;
use std::fmt;

/// Why a variable cannot be set or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableError {
    /// The object has no variable of this name, or that has no such member or element.
    Missing(String),
    /// Several static variables have this name.
    Ambiguous(String),
    /// The value does not fit.
    Size {
        /// The variable.
        name: String,
        /// How long it is, bytes.
        size: u32,
        /// The value.
        value: String,
    },
}

impl fmt::Display for VariableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariableError::Missing(name) => write!(f, "the object has no variable {name}"),
            VariableError::Ambiguous(name) => write!(f, "the object has several variables {name}"),
            VariableError::Size { name, size, value } => {
                write!(f, "{name} has {size} bytes, which cannot hold {value}")
            }
        }
    }
}

impl std::error::Error for VariableError {}

impl Variable {
    /// Where a part of the variable is, bytes from the beginning of its section, and its size. `rest` is what follows
    /// the variable's name: nothing, `[3]`, `.member`, `[3].member[1].other`.
    pub fn part(&self, rest: &str) -> Option<(u32, u32)> {
        let (mut offset, mut size, mut inside) = (u64::from(self.offset), self.size, rest);
        if let Some((index, after)) = split_index(rest) {
            let count = self.size.checked_div(self.element)?;
            if self.element == self.size && index > 0 || index >= count {
                return None;
            }
            offset += u64::from(index) * u64::from(self.element);
            (size, inside) = (self.element, after);
        }
        let inside = inside.strip_prefix('.').unwrap_or(inside);
        if inside.is_empty() {
            return Some((u32::try_from(offset).ok()?, size));
        }
        // The name with empty brackets, as the members have it, and the offsets of elements on its way.
        let find = |name: &str| self.members.iter().find(|(member, ..)| member == name);
        let (mut name, mut rest) = (String::new(), inside);
        while !rest.is_empty() {
            let bracket = rest.find('[').unwrap_or(rest.len());
            name.push_str(&rest[..bracket]);
            rest = &rest[bracket..];
            if let Some((index, after)) = split_index(rest) {
                let (_, _, whole) = if name.is_empty() { &(String::new(), 0, size) } else { find(&name)? };
                name.push_str("[]");
                let (_, _, element) = find(&name)?;
                if index >= whole.checked_div(*element)? {
                    return None;
                }
                offset += u64::from(index) * u64::from(*element);
                rest = after;
            } else if !rest.is_empty() {
                return None;
            }
        }
        let (_, at, size) = find(&name)?;
        Some((u32::try_from(offset + u64::from(*at)).ok()?, *size))
    }
}

/// Whether a number fits into so many bytes, as a signed or an unsigned one.
fn fits(size: u32, number: i128) -> bool {
    matches!(size, 1 | 2 | 4 | 8) && (-(1i128 << (8 * size - 1))..1i128 << (8 * size)).contains(&number)
}

/// `[3].more` as 3 and `.more`.
fn split_index(text: &str) -> Option<(u32, &str)> {
    let (index, after) = text.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, after))
}

impl Image {
    /// Where a variable or a part of it is: the map, the offset in its data and the size, bytes.
    pub fn variable(&self, name: &str) -> Result<(u32, u32, u32), VariableError> {
        let maps = || self.maps.iter().zip(0u32..);
        let all = || maps().flat_map(|(map, number)| map.variables.iter().map(move |variable| (number, variable)));
        // Static variables of functions have names with dots: `init.____fmt`.
        let ends = |at: &usize| matches!(name.as_bytes().get(*at), None | Some(b'.' | b'['));
        let mut ends: Vec<usize> = (1..=name.len()).filter(ends).collect();
        ends.reverse();
        for end in ends {
            let mut found = all().filter(|(_, variable)| variable.name == name[..end]);
            let Some((map, variable)) = found.next() else { continue };
            if found.next().is_some() {
                return Err(VariableError::Ambiguous(name.to_string()));
            }
            let part = variable.part(&name[end..]);
            let (offset, size) = part.ok_or_else(|| VariableError::Missing(name.to_string()))?;
            return Ok((map, offset, size));
        }
        Err(VariableError::Missing(name.to_string()))
    }

    /// Sets a variable to bytes, as many as it has.
    pub fn set_variable(&mut self, name: &str, bytes: &[u8]) -> Result<(), VariableError> {
        let (map, offset, size) = self.variable(name)?;
        let wrong = || VariableError::Size { name: name.to_string(), size, value: format!("{} bytes", bytes.len()) };
        let data = self.maps.get_mut(map as usize).map(|map: &mut Map| &mut map.data);
        let place = data.and_then(|data| data.get_mut(offset as usize..)?.get_mut(..size as usize));
        let place = place.filter(|place| place.len() == bytes.len()).ok_or_else(wrong)?;
        place.copy_from_slice(bytes);
        Ok(())
    }

    /// Sets a variable of 1, 2, 4 or 8 bytes to a number, which fits if it does as a signed or an unsigned one.
    pub fn set_number(&mut self, name: &str, number: i128) -> Result<(), VariableError> {
        let (_, _, size) = self.variable(name)?;
        if !fits(size, number) {
            return Err(VariableError::Size { name: name.to_string(), size, value: number.to_string() });
        }
        self.set_variable(name, &number.to_le_bytes()[..size as usize])
    }

    /// Sets all variables for which there is a value to it, as [`set_number`](Self::set_number) does each.
    pub fn set_numbers(&mut self, value: &dyn Fn(&str) -> Option<u64>) -> Result<(), VariableError> {
        let mut names = BTreeSet::new();
        for Map { variables, data, .. } in &mut self.maps {
            for variable in variables.iter() {
                let Some(number) = value(&variable.name) else { continue };
                if !names.insert(variable.name.as_str()) {
                    return Err(VariableError::Ambiguous(variable.name.clone()));
                }
                let Variable { name, offset, size, .. } = variable;
                let wrong = || VariableError::Size { name: name.clone(), size: *size, value: number.to_string() };
                let place = data.get_mut(*offset as usize..).and_then(|data| data.get_mut(..*size as usize));
                let place = place.filter(|_| fits(*size, i128::from(number))).ok_or_else(wrong)?;
                place.copy_from_slice(&number.to_le_bytes()[..*size as usize]);
            }
        }
        Ok(())
    }

    /// Sets the first elements of an array to numbers, as [`set_number`](Self::set_number) does each.
    pub fn set_array(&mut self, name: &str, numbers: &[i128]) -> Result<(), VariableError> {
        let missing = || VariableError::Missing(format!("{name}[{}]", numbers.len().saturating_sub(1)));
        let (map, whole, len) = self.variable(name)?;
        let (_, first, size) = self.variable(&format!("{name}[0]"))?;
        let (begin, size) = (first as usize, size as usize);
        if first != whole || size * numbers.len() > len as usize {
            return Err(missing());
        }
        let data = self.maps.get_mut(map as usize).map(|map: &mut Map| &mut map.data);
        let place = data.and_then(|data| data.get_mut(begin..begin + size * numbers.len())).ok_or_else(missing)?;
        for ((at, bytes), number) in place.chunks_exact_mut(size).enumerate().zip(numbers) {
            if !fits(size as u32, *number) {
                let name = format!("{name}[{at}]");
                return Err(VariableError::Size { name, size: size as u32, value: number.to_string() });
            }
            bytes.copy_from_slice(&number.to_le_bytes()[..size]);
        }
        Ok(())
    }

    /// Makes a section of global data as long as `bytes`, and its last variable, an array, as long as that takes.
    /// Loaders do so if arrays of an object depend on the machine (`bpf_map__set_value_size()`). What is added is zero.
    pub fn resize(&mut self, section: &str, bytes: u32) -> Result<(), VariableError> {
        let map = self.maps.iter_mut().find(|map| map.name == section && !map.data.is_empty());
        let map = map.ok_or_else(|| VariableError::Missing(section.to_string()))?;
        let size = map.value_size;
        let wrong = || VariableError::Size { name: section.to_string(), size, value: format!("{bytes} bytes") };
        let last = map.variables.last_mut().filter(|last| last.offset < bytes && last.element > 0).ok_or_else(wrong)?;
        let is_array = last.element < last.size || last.size == size;
        if !is_array || !(bytes - last.offset).is_multiple_of(last.element) {
            return Err(wrong());
        }
        last.size = bytes - last.offset;
        map.data.resize(bytes as usize, 0);
        map.value_size = bytes;
        Ok(())
    }

    /// The bytes of a variable.
    pub fn bytes_of(&self, name: &str) -> Result<&[u8], VariableError> {
        let (map, offset, size) = self.variable(name)?;
        let data = self.maps.get(map as usize).and_then(|map| map.data.get(offset as usize..)?.get(..size as usize));
        data.ok_or_else(|| VariableError::Missing(name.to_string()))
    }

    /// A variable of up to 8 bytes as an unsigned number.
    pub fn number_of(&self, name: &str) -> Result<u64, VariableError> {
        let bytes = self.bytes_of(name)?;
        if bytes.len() > 8 {
            let value = "a number".to_string();
            return Err(VariableError::Size { name: name.to_string(), size: bytes.len() as u32, value });
        }
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}
