//! Domain flags: as recorded, in hexadecimal, beside the names the same kernel printed.
use wakelab_kernel::Preset;

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
        let names = Preset::of_release(release).expect("a preset").sd_flags.names;
        let set: Vec<&str> = (0..16).filter(|bit| bits >> bit & 1 != 0).map(|bit| names[bit]).collect();
        assert_eq!(set.join(" "), format!("{start} {end}"), "{release} {bits:#x}");
    }
}

#[test]
fn every_preset_names_its_levels() {
    let level = |version| Preset::of_release(version).expect("a preset").package_level();
    assert_eq!(["5.15", "6.1", "6.6", "6.8", "6.12"].map(level), ["DIE", "DIE", "PKG", "PKG", "PKG"]);
    for preset in Preset::all() {
        let names = preset.sd_flags.names;
        assert!(names.len() >= 13 && names.contains(&"SD_NUMA"), "{}", preset.name);
        // The flag was renamed after the level, which stable 6.6.y has renamed, too.
        assert!(!names.contains(&"SD_SHARE_LLC") || preset.package_level() == "PKG", "{}", preset.name);
    }
}
