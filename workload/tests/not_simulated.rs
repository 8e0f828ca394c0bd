//! Steps that the simulator does not run are refused before anything is run.
#![cfg(not(feature = "calls"))]

use std::fs;
use wakelab_workload::describe;

#[test]
fn a_step_that_is_not_simulated_is_refused_at_its_line() {
    let text = "[workload]\nbenchmark = \"b\"\ncase = \"c\"\nmetric = \"throughput\"\nunit = \"u\"\nbetter = \"higher\"\n\
                [[program]]\nname = \"p\"\nops = [\n  \"begin\", {run = \"1us\"},\n  STEP, \"done\",\n]\n\
                [[task]]\nname = \"t\"\nprogram = \"p\"\n[[mutex]]\nname = \"m\"\n";
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    for step in ["\"yield\"", "{lock = \"m\"}", "{timer = \"t\", period = \"1ms\"}", "{nice = 5}"] {
        fs::write(file.path(), text.replace("STEP", step)).unwrap();
        let error = describe(file.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with(".toml:11: program.ops: step 2 is not simulated yet"), "{step}: {error}");
    }
}
