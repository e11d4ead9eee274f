//! `rtc-headless doctor`: what keeps scripts in their place.

use rtc_tests::{Workplace, text};

#[test]
fn the_doctor_names_what_confines_scripts_and_all_that_the_kernel_offers_is_on() {
    let place = Workplace::empty();
    let output = place.command(&["doctor"]).output().expect("rtc-headless starts");
    let told = text(&output.stdout);
    assert_eq!(
        (output.status.code(), &*text(&output.stderr)),
        (Some(0), ""),
        "{told}"
    );
    let of = |name: &str| {
        let line = told.lines().find_map(|line| line.trim().strip_prefix(name));
        line.expect(name).trim().to_owned()
    };
    assert!(of("seccomp").starts_with("on ("), "{told}");
    // A kernel without it says so; one that has it has it on.
    let landlock = of("Landlock");
    assert!(
        landlock.starts_with("on (") || landlock.starts_with("not offered: "),
        "{told}"
    );
    assert!(!place.data().exists(), "nothing is opened for it");
}
