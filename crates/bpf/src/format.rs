//! Texts with conversions, as `bpf_bprintf_prepare()` and `bstr_printf()` make them.

use crate::fault::Fault;
use crate::machine::Machine;
use crate::memory::BadAccess;

/// The longest text that an argument adds, bytes (`MAX_BPRINTF_BUF`).
const MAX_TEXT: u32 = 1024;

/// The most arguments (`MAX_BPRINTF_VARARGS`).
const MAX_BPRINTF_VARARGS: u32 = 12;

/// The longest format, and the longest text that is made of one, bytes: a page. What follows is left out.
const MAX_FORMATTED: usize = 4096;

impl Machine {
    /// A text as `bpf_snprintf()`, `scx_bpf_error_bstr()` and their kin make it: the address of the format, and of
    /// `len` bytes with its arguments, 8 each.
    pub fn bprintf(&mut self, format: u64, data: u64, len: u32) -> Result<String, Fault> {
        if !len.is_multiple_of(8) || len > MAX_BPRINTF_VARARGS * 8 {
            return Err(Fault::argument("printf", format!("up to {MAX_BPRINTF_VARARGS} arguments of 8 bytes each")));
        }
        let args = self.words(data, u64::from(len))?;
        self.format(format, MAX_TEXT, &args)
    }

    /// A text of a format of at most `max` bytes.
    pub(crate) fn format(&mut self, format: u64, max: u32, args: &[u64]) -> Result<String, Fault> {
        let region = self.memory.region_len(format).saturating_sub(format & 0xffff_ffff);
        let max = max.min(u32::try_from(region).unwrap_or(max)).clamp(1, MAX_FORMATTED as u32);
        let format = self.memory.c_str(format, max)?.to_vec();
        self.work(format.len() as u64)?;
        let mut args = args.iter().copied();
        let mut text = String::new();
        let mut rest = format.as_slice();
        while let Some(at) = rest.iter().position(|&byte| byte == b'%').filter(|_| text.len() < MAX_FORMATTED) {
            text.push_str(&String::from_utf8_lossy(&rest[..at]));
            rest = &rest[at + 1..];
            if let [b'%', after @ ..] = rest {
                text.push('%');
                rest = after;
                continue;
            }
            let (spec, after) = Spec::read(rest);
            rest = after;
            match spec.conversion {
                Some(conversion) => {
                    let arg = args.next().unwrap_or_default();
                    let piece = spec.show(conversion, arg, |addr| self.memory.read_str(addr, MAX_TEXT))?;
                    self.work(piece.len() as u64)?;
                    text.push_str(&piece);
                }
                None => return Err(Fault::argument("printf", "a conversion after %")),
            }
        }
        if text.len() < MAX_FORMATTED {
            text.push_str(&String::from_utf8_lossy(rest));
        }
        text.truncate((0..=text.len().min(MAX_FORMATTED)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        Ok(text)
    }
}

/// The conversion that follows a `%`.
#[derive(Clone, Copy, Debug, Default)]
struct Spec {
    left: bool,
    zeros: bool,
    sign: bool,
    prefix: bool,
    width: usize,
    precision: Option<usize>,
    /// The bytes of the argument.
    size: u32,
    conversion: Option<u8>,
}

impl Spec {
    /// Reads flags, width, size and conversion: them, and what follows.
    fn read(mut rest: &[u8]) -> (Self, &[u8]) {
        let mut spec = Spec { size: 4, ..Spec::default() };
        let mut longs = 0;
        let mut shorts = 0;
        while let [byte, after @ ..] = rest {
            match byte {
                b'-' => spec.left = true,
                b'0' if spec.width == 0 => spec.zeros = true,
                b'+' => spec.sign = true,
                b'#' => spec.prefix = true,
                b' ' => {}
                b'0'..=b'9' => spec.width = (spec.width * 10 + usize::from(byte - b'0')).min(1024),
                b'.' => {
                    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    let number =
                        after[..digits].iter().fold(0, |sum, digit| (sum * 10 + usize::from(digit - b'0')).min(1024));
                    spec.precision = Some(number);
                    rest = &after[digits..];
                    continue;
                }
                b'l' => longs += 1,
                b'z' | b'j' | b't' => longs = 1,
                b'h' => shorts += 1,
                b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'c' | b's' | b'p' => {
                    spec.conversion = Some(*byte);
                    spec.size = match (longs, shorts) {
                        (1.., _) => 8,
                        (_, 1) => 2,
                        (_, 2..) => 1,
                        _ => 4,
                    };
                    rest = after;
                    if *byte == b'p' {
                        // %pks and %pus are texts, %pK and %px addresses.
                        match rest {
                            [b'k' | b'u', b's', after @ ..] => {
                                spec.conversion = Some(b's');
                                rest = after;
                            }
                            [b'K' | b'x' | b'B' | b's' | b'S', after @ ..] => rest = after,
                            _ => {}
                        }
                    }
                    break;
                }
                _ => break,
            }
            rest = after;
        }
        (spec, rest)
    }

    fn show(
        self,
        conversion: u8,
        arg: u64,
        text: impl Fn(u64) -> Result<String, BadAccess>,
    ) -> Result<String, BadAccess> {
        let unsigned = match self.size {
            1 => u64::from(arg as u8),
            2 => u64::from(arg as u16),
            4 => u64::from(arg as u32),
            _ => arg,
        };
        let (sign, digits) = match conversion {
            b'd' | b'i' => {
                let signed = match self.size {
                    1 => i64::from(arg as i8),
                    2 => i64::from(arg as i16),
                    4 => i64::from(arg as i32),
                    _ => arg as i64,
                };
                (
                    if signed < 0 {
                        "-"
                    } else if self.sign {
                        "+"
                    } else {
                        ""
                    },
                    signed.unsigned_abs().to_string(),
                )
            }
            b'u' => ("", unsigned.to_string()),
            b'x' => (if self.prefix { "0x" } else { "" }, format!("{unsigned:x}")),
            b'X' => (if self.prefix { "0X" } else { "" }, format!("{unsigned:X}")),
            b'o' => (if self.prefix { "0" } else { "" }, format!("{unsigned:o}")),
            b'p' => ("", format!("{arg:016x}")),
            b'c' => ("", char::from(arg as u8).to_string()),
            // A text that cannot be read is empty, as strncpy_from_kernel_nofault() leaves it.
            _ => {
                let text = if arg < 4096 { String::new() } else { text(arg).unwrap_or_default() };
                ("", text.chars().take(self.precision.unwrap_or(usize::MAX)).collect())
            }
        };
        let len = sign.len() + digits.chars().count();
        let pad = self.width.saturating_sub(len);
        let numeric = !matches!(conversion, b's' | b'c');
        Ok(match (self.left, self.zeros && numeric) {
            (true, _) => format!("{sign}{digits}{}", " ".repeat(pad)),
            (false, true) => format!("{sign}{}{digits}", "0".repeat(pad)),
            (false, false) => format!("{}{sign}{digits}", " ".repeat(pad)),
        })
    }
}
