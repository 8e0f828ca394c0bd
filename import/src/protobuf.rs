//! The fields of a protocol buffer one after the other, so that a message of many parts need not be in memory as a whole.

/// Goes over the fields that have a length, with their numbers, until `each` says no; false where the bytes are no message.
pub(crate) fn fields<'a, E>(
    mut bytes: &'a [u8],
    mut each: impl FnMut(u64, &'a [u8]) -> Result<(), E>,
) -> Result<bool, E> {
    while !bytes.is_empty() {
        let Some(key) = varint(&mut bytes) else { return Ok(false) };
        let length = match key & 7 {
            0 => varint(&mut bytes).map(|_| 0),
            1 => Some(8),
            2 => varint(&mut bytes).and_then(|length| usize::try_from(length).ok()),
            5 => Some(4),
            // Groups are not used.
            _ => None,
        };
        let Some((field, rest)) = length.and_then(|length| bytes.split_at_checked(length)) else { return Ok(false) };
        bytes = rest;
        if key & 7 == 2 {
            each(key >> 3, field)?;
        }
    }
    Ok(true)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> (bool, Vec<(u64, &[u8])>) {
        let mut found = Vec::new();
        let whole = fields(bytes, |number, field| -> Result<(), ()> {
            found.push((number, field));
            Ok(())
        });
        (whole.expect("nobody says no"), found)
    }

    #[test]
    fn fields_with_a_length_are_found_between_others() {
        let bytes = [
            0x08, 0x96, 0x01, 0x12, 2, b'a', b'b', 0x0d, 1, 2, 3, 4, 0x9a, 0x06, 1, b'c', 0x11, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(all(&bytes), (true, vec![(2, &b"ab"[..]), (99, &b"c"[..])]));
    }

    #[test]
    fn what_is_no_message_is_told() {
        for bytes in [&[0x12, 3, b'a'][..], &[0x80], &[0x0b], &[0x0d, 1], &[0xff; 11]] {
            assert!(!all(bytes).0, "{bytes:?}");
        }
    }
}
