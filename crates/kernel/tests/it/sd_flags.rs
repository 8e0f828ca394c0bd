//! Domain flags: as recorded, in hexadecimal, beside the names the same kernel printed.
use wakelab_kernel::{Preset, decode_sd_flags, package_level, sd_flag_names};

#[test]
fn recorded_flags_decode_to_the_recorded_names() {
    let start = "SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE";
    let recorded = [
        ("6.1.176", 0x997, "SD_SHARE_CPUCAPACITY SD_SHARE_PKG_RESOURCES SD_PREFER_SIBLING"),
        ("6.1.176", 0x917, "SD_SHARE_PKG_RESOURCES SD_PREFER_SIBLING"),
        ("6.1.176", 0x3217, "SD_SERIALIZE SD_OVERLAP SD_NUMA"),
        ("6.12.107", 0x1297, "SD_SHARE_CPUCAPACITY SD_SHARE_LLC SD_PREFER_SIBLING"),
        ("6.12.107", 0x1217, "SD_SHARE_LLC SD_PREFER_SIBLING"),
        ("6.12.107", 0x6417, "SD_SERIALIZE SD_OVERLAP SD_NUMA"),
        ("7.2.12", 0x1297, "SD_SHARE_CPUCAPACITY SD_SHARE_LLC SD_PREFER_SIBLING"),
        ("7.2.12", 0x1217, "SD_SHARE_LLC SD_PREFER_SIBLING"),
    ];
    for (release, bits, end) in recorded {
        let (names, unknown) = decode_sd_flags(sd_flag_names(release), bits);
        assert_eq!((names.join(" "), unknown), (format!("{start} {end}"), 0), "{release} {bits:#x}");
    }
}

#[test]
fn unknown_bits_are_returned() {
    assert_eq!(decode_sd_flags(sd_flag_names("6.1"), 1 << 4 | 1 << 40), (vec!["SD_WAKE_AFFINE"], 1 << 40));
    assert_eq!(decode_sd_flags(sd_flag_names("6.13"), 3), (vec![], 3));
}

#[test]
fn every_preset_names_its_levels() {
    assert_eq!(
        (package_level("6.6"), package_level("6.8"), package_level("5.15")),
        (Some("PKG"), Some("PKG"), Some("DIE"))
    );
    assert_eq!((package_level("6.1"), package_level("6.12"), package_level("6.13")), (Some("DIE"), Some("PKG"), None));
    for preset in Preset::all() {
        let names = preset.sd_flags.names;
        assert!(names.len() >= 13 && names.contains(&"SD_NUMA"), "{}", preset.name);
        // The flag was renamed after the level, which stable 6.6.y has renamed, too.
        assert!(!names.contains(&"SD_SHARE_LLC") || preset.package_level() == "PKG", "{}", preset.name);
    }
}
