//! `cargo xtask bench pgo`: a release build with a profile of branches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::programs::{find, program, root, run as run_program, said};

const NAME: &str = "cargo xtask bench pgo";

/// Makes a release build of wakelab for which the compiler knows which branches are taken
///
/// It builds an instrumented wakelab, runs what takes most time of users, and builds again with that profile. Prints
/// the path of the program, FOLDER/release/wakelab.
///
/// The simulator's hot code is larger than the first-level instruction cache and mispredicts often, so that this makes
/// it faster by a sixth to a half; docs/benchmarks.md has both. Results are the same to the byte, and are compared
/// here. It needs llvm-profdata of LLVM 19 or newer: rustup component add llvm-tools, or Debian's llvm-19.
#[derive(clap::Args)]
pub struct Arguments {
    /// Where it is built
    #[arg(default_value = "target/pgo")]
    folder: PathBuf,
}

/// Short runs of what the benchmarks and the documentation run: both states of netperf, small and large machines,
/// forks, unequal CPUs, governors. What is rare here is taken for cold.
const RUNS: [&str; 8] = [
    "--machine intel-1s56c112t --kernel v5.19-rc1 --workload netperf:TCP_RR --load 50%,200% --base SIS_PROP \
     --with SIS_UTIL --settle 20ms --time 60ms",
    "--machine amd-zen3-2s128c256t-nps4 --kernel v6.1 --workload tbench:loopback --load 50% --base SIS_UTIL \
     --with SIS_SHORT --settle 5ms --time 20ms",
    "--machine intel-1s56c112t --kernel v6.12 --workload hackbench:process-pipe --load 2 --base SIS_UTIL \
     --with NO_SIS_UTIL --settle 0ms --time 60ms",
    "--machine intel-1s56c112t --kernel v7.2 --workload schbench:normal --load 4 --base SIS_UTIL --with NO_SIS_UTIL \
     --settle 20ms --time 200ms",
    "--machine test-8c --kernel v6.1 --workload netperf:TCP_RR --load 25%..200%/25% --base SIS_UTIL \
     --with NO_SIS_UTIL --settle 10ms --time 40ms",
    "--machine i7-2600k --kernel v5.3 --workload gitsource:suite --load 2 --base governor=schedutil \
     --with governor=performance --settle 0ms --time 1s",
    "--machine pixel6 --kernel v6.1 --workload jankbench:mean --load 1 --base NO_RUNNABLE_BOOST \
     --with RUNNABLE_BOOST --settle 0ms --time 6s",
    "--machine bench-1024 --kernel v6.1 --workload netperf:TCP_RR --load 50% --base SIS_UTIL --with NO_SIS_UTIL \
     --settle 20ms --time 10ms",
];

/// Builds, runs, builds again, and compares.
pub fn run(arguments: Arguments) -> Result<u8> {
    let Some(profdata) = profdata()? else {
        eprintln!("{NAME}: llvm-profdata is missing; expected rustup's component llvm-tools, or Debian's llvm-19");
        return Ok(2);
    };
    let folder = root().join(arguments.folder);
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let work = tempfile::tempdir()?;
    let raw = work.path().join("raw");

    eprintln!("{NAME}: builds with counters");
    let flags = format!("-Cprofile-generate={}", raw.display());
    if run_program(&mut build(&folder.join("counted"), &flags))? != 0 {
        return Ok(1);
    }
    eprintln!("{NAME}: counts");
    let counted = train(&folder.join("counted/release/wakelab"))?;
    let profile = work.path().join("profile");
    if run_program(Command::new(profdata).arg("merge").arg("-o").arg(&profile).args(profiles(&raw)?))? != 0 {
        return Ok(1);
    }
    // Cargo builds anew if the flags change, and the name of the profile is one of them.
    let sum = said(program("sha256sum").arg(&profile))?;
    let name = folder.join(sum.get(..16).context("sha256sum printed no sum")?).with_extension("profdata");
    for old in profiles(&folder)? {
        fs::remove_file(old)?;
    }
    fs::copy(&profile, &name)?;
    eprintln!("{NAME}: builds with the profile");
    if run_program(&mut build(&folder, &format!("-Cprofile-use={}", name.display())))? != 0 {
        return Ok(1);
    }
    let wakelab = folder.join("release/wakelab");
    if train(&wakelab)? != counted {
        eprintln!("{NAME}: the two builds simulate different things");
        return Ok(1);
    }
    println!("{}", wakelab.display());
    Ok(0)
}

/// LLVM's program for profiles, of rustup or of Debian.
fn profdata() -> Result<Option<PathBuf>> {
    let libraries = Path::new(&said(program("rustc").args(["--print", "sysroot"]))?).join("lib/rustlib");
    let of_toolchain = fs::read_dir(libraries).into_iter().flatten().flatten();
    let mut of_toolchain =
        of_toolchain.map(|target| target.path().join("bin/llvm-profdata")).filter(|path| path.exists());
    let of_debian = || (19..=23).rev().find_map(|version| find(&format!("llvm-profdata-{version}")));
    Ok(of_toolchain.next().or_else(of_debian))
}

/// A release build of wakelab in a folder, by these flags.
fn build(folder: &Path, flags: &str) -> Command {
    let mut build = program("cargo");
    build.args(["build", "--quiet", "--locked", "--release", "--target-dir"]).arg(folder);
    build.env("RUSTFLAGS", flags);
    build
}

/// What a wakelab prints of all runs.
fn train(wakelab: &Path) -> Result<String> {
    let results = RUNS.map(|words| {
        let mut compare = program(wakelab);
        compare.args(["compare", "--quiet", "--no-cache", "--jobs", "1", "--format", "json"]);
        said(compare.args(words.split_whitespace()).stdin(Stdio::null()))
    });
    Ok(results.into_iter().collect::<Result<Vec<_>>>()?.join("\n"))
}

/// The profiles in a folder: raw ones, and those of earlier builds.
fn profiles(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "profraw" || end == "profdata") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
