//! The flags of clang that a build script may add. Others are refused: clang loads programs (`-fplugin`), reads and
//! writes any file (`--config`, `-ftime-trace=`), and passes flags on to other programs by many more names.

use wakelab_input::{printable, shortened};

/// Flags as they are.
const WHOLE: [&str; 25] = [
    "-g",
    "-w",
    "-O",
    "-mlittle-endian",
    "-fno-stack-protector",
    "-fno-builtin",
    "-ffreestanding",
    "-fms-extensions",
    "-fno-strict-aliasing",
    "-fstrict-aliasing",
    "-fno-common",
    "-fcommon",
    "-fwrapv",
    "-fno-jump-tables",
    "-fno-inline",
    "-fno-inline-functions",
    "-finline-functions",
    "-funroll-loops",
    "-fno-unroll-loops",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fshort-enums",
    "-fno-delete-null-pointer-checks",
    "-fno-ident",
    "-fno-asynchronous-unwind-tables",
];

/// The prefixes of flags that end in a word, as `-std=gnu11` does.
const PREFIXES: [&str; 6] = ["-O", "-gdwarf-", "-mcpu=", "-std=", "-W", "-falign-functions="];

/// Options of LLVM that are flags in a word of their own after `-mllvm`.
const LLVM: [&str; 3] = ["-disable-ldsx", "-disable-gotox", "-bpf-expand-memcpy-in-order"];

/// Checks the flags of `add_cflag()` calls, in order.
///
/// # Errors
/// Fails with the place of the first one that is not known to do nothing but compile, and what is wrong with it.
pub fn allowed(flags: &[(usize, String)]) -> Result<(), (usize, String)> {
    let mut flags = flags.iter();
    while let Some((line, flag)) = flags.next() {
        let known = match flag.as_str() {
            // Both have what they define in the same word, or in the next.
            "-D" | "-U" => flags.next().is_some_and(|(_, next)| !next.starts_with(['-', '@'])),
            "-mllvm" => flags.next().is_some_and(|(_, next)| is_llvm(next)),
            flag => is_known(flag),
        };
        if !known {
            let flag = printable(flag).into_owned();
            let expected = "expected a flag that only affects compiling: -D, -U, -W, -O, -g, -std=, -mcpu= or some of \
                 -f and -mllvm";
            return Err((
                *line,
                format!("add_cflag({:?}), which is not passed to clang; {expected}", shortened(&flag)),
            ));
        }
    }
    Ok(())
}

fn is_known(flag: &str) -> bool {
    // -Wl, -Wa, and -Wp, pass flags on: a warning has no comma.
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '=' | '+' | '.');
    WHOLE.contains(&flag)
        || flag.starts_with("-D")
        || flag.starts_with("-U")
        || PREFIXES.iter().any(|prefix| flag.strip_prefix(prefix).is_some_and(|rest| rest.chars().all(word)))
}

fn is_llvm(option: &str) -> bool {
    let stack = option.strip_prefix("-bpf-stack-size=");
    LLVM.contains(&option) || stack.is_some_and(|size| size.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(all: &[&str]) -> Result<(), (usize, String)> {
        allowed(&all.iter().enumerate().map(|(line, flag)| (line + 1, (*flag).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn what_only_compiles_is_passed() {
        let all = [
            "-DX",
            "-DX=1",
            "-D",
            "Y=\"a b\"",
            "-UX",
            "-g",
            "-O3",
            "-Wall",
            "-Wno-error=unused",
            "-Werror",
            "-std=gnu11",
            "-mcpu=v3",
            "-mllvm",
            "-bpf-stack-size=2048",
            "-mllvm",
            "-disable-ldsx",
            "-ffreestanding",
            "-gdwarf-5",
        ];
        assert_eq!(flags(&all), Ok(()));
    }

    /// Each of these loads a program, reads or writes a file of its own, or passes flags on.
    #[test]
    fn what_does_more_is_refused_by_name() {
        for flag in [
            "-fplugin=./evil.so",
            "-fpass-plugin=./evil.so",
            "-Xclang",
            "-load",
            "-mllvm",
            "--config=/etc/passwd",
            "-ftime-trace=/tmp/x",
            "-o",
            "-ox",
            "-MF",
            "-MD",
            "-MFx",
            "-save-temps",
            "-save-temps=obj",
            "@file",
            "-B.",
            "-specs=x",
            "--specs=x",
            "-include",
            "-includex",
            "-imacrosx",
            "-I",
            "-I/etc",
            "-isystem/",
            "-idirafter/",
            "-Wp,-MD,x",
            "-Wa,-I/",
            "-Wl,-o",
            "-fno-integrated-as",
            "-fmodules",
            "-fmodule-file=x",
            "-fprofile-use=x",
            "-fdump-record-layouts",
            "-fcrash-diagnostics-dir=x",
            "-emit-llvm",
            "-serialize-diagnostics",
            "-resource-dir=x",
            "--sysroot=/",
            "-isysroot",
            "-ivfsoverlay",
            "-E",
            "-c",
            "-target",
            "--target=x",
            "-x",
            "main.c",
            "-gsplit-dwarf",
            "-ccc-install-dir",
            "-fuse-ld=x",
            "-foptimization-record-file=x",
            "-fsave-optimization-record",
            "-cc1",
            "",
            "-dependency-file",
            "--analyze",
            "-fproc-stat-report=x",
            "-fsanitize-ignorelist=x",
            "-finstrument-functions",
            "-fdiagnostics-add-output=x",
            "-print-file-name=x",
            "-v",
            "-###",
            "--",
            "-",
            "-dM",
            "-gembed-source",
            "-W,x",
        ] {
            let (line, error) = flags(&["-DX", flag]).unwrap_err();
            assert!(
                line == 2 && error.contains(&format!("add_cflag({flag:?}), which is not passed to clang")),
                "{flag}: {error}"
            );
        }
        for pair in
            [["-mllvm", "-load=./evil.so"], ["-mllvm", "-info-output-file=x"], ["-D", "@file"], ["-U", "-fplugin=x"]]
        {
            assert_eq!(flags(&pair).unwrap_err().0, 1, "{pair:?}");
        }
    }
}
