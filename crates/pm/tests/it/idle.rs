//! What the idle governors choose, on the states of a Sandy Bridge client.

use wakelab_kernel::Preset;
use wakelab_pm::idle::{
    Asking, Choice, IDLE_GOVERNORS, IdleGovernor, IdleState, IdleStateError, IdleStates, Menu, MenuRules, Typical,
    Woken, cpuidle_poll_time, get_typical_interval,
};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const TICK: u64 = 4 * MS;

fn state(name: &str, exit_us: u64, residency_us: u64, power_uw: u64) -> IdleState {
    let (exit_latency_ns, target_residency_ns) = (exit_us * US, residency_us * US);
    IdleState { name: name.into(), exit_latency_ns, target_residency_ns, power_uw, polling: false, disabled: false }
}

fn states() -> IdleStates {
    let deep =
        [state("C1", 2, 2, 900), state("C1E", 10, 20, 700), state("C3", 80, 211, 300), state("C6", 104, 345, 50)];
    IdleStates::new([vec![IdleState::poll(3000)], deep.to_vec()].concat()).unwrap()
}

/// The next timer is so far away; the tick at half its period.
fn asking(timer_ns: u64) -> Asking {
    Asking {
        now: 0,
        sleep_length_ns: timer_ns as i64,
        delta_tick_ns: timer_ns.min(TICK / 2) as i64,
        tick_stopped: false,
        tick_ns: TICK,
        latency_req_ns: i64::MAX,
        nr_iowaiters: 0,
        cpu_util: 0,
        capacity: 1024,
    }
}

/// Goes idle so often; each time something else than the timer wakes the CPU after `sleep` ns.
fn history(governor: &mut dyn IdleGovernor, timer_ns: u64, sleep: u64, times: u32) {
    let states = states();
    for _ in 0..times {
        let Choice { index, .. } = governor.select(&states, &asking(timer_ns));
        let residency_ns = sleep + states[index].exit_latency_ns;
        governor.reflect(&Woken { now: residency_ns, index, residency_ns, by_tick: false, poll_time_limit: false });
    }
}

fn chosen(governor: &mut dyn IdleGovernor, asking: &Asking) -> (String, bool) {
    let states = states();
    let Choice { index, stop_tick } = governor.select(&states, asking);
    (states[index].name.clone(), stop_tick)
}

/// Every governor that looks at what it is told.
fn every_form() -> Vec<(String, Box<dyn IdleGovernor>)> {
    let of_preset = |preset: &&'static Preset| {
        let looks = IDLE_GOVERNORS.iter().filter(|about| about.name != "shallow");
        let made = looks.map(|about| (about.name, (about.make)(&preset.cpuidle)));
        made.filter_map(|(name, governor)| Some((format!("{name} {}", preset.name), governor?))).collect::<Vec<_>>()
    };
    Preset::all().iter().flat_map(of_preset).collect()
}

#[test]
fn long_sleeps_end_in_the_deepest_state_with_the_tick_stopped() {
    for (name, mut governor) in every_form() {
        history(&mut *governor, 60 * MS, 60 * MS, 50);
        assert_eq!(chosen(&mut *governor, &asking(60 * MS)), ("C6".into(), true), "{name}");
    }
}

#[test]
fn early_wake_ups_end_in_a_shallow_state_with_the_tick_running() {
    for (name, mut governor) in every_form() {
        history(&mut *governor, 60 * MS, 100 * US, 50);
        assert_eq!(chosen(&mut *governor, &asking(60 * MS)), ("C1E".into(), false), "{name}");
    }
}

#[test]
fn the_latency_that_is_allowed_bounds_the_state() {
    for (name, mut governor) in every_form() {
        history(&mut *governor, 60 * MS, 60 * MS, 50);
        let demand = Asking { latency_req_ns: 85 * US as i64, ..asking(60 * MS) };
        assert_eq!(chosen(&mut *governor, &demand).0, "C3", "{name}");
    }
}

#[test]
fn menu_of_6_1_polls_until_it_has_a_history_and_6_12_goes_by_the_timer() {
    let first = |rules| chosen(&mut Menu::new(rules), &asking(60 * MS)).0;
    assert_eq!((first(MenuRules::V6_1), first(MenuRules::V6_12)), ("POLL".into(), "C6".into()));
}

#[test]
fn menu_allows_less_latency_while_tasks_wait_for_io_up_to_6_1() {
    let with_io = |rules| {
        let mut menu = Menu::new(rules);
        history(&mut menu, 900 * US, 900 * US, 50);
        let asking = Asking { nr_iowaiters: 1, ..asking(900 * US) };
        chosen(&mut menu, &asking).0
    };
    assert_eq!((with_io(MenuRules::V6_1), with_io(MenuRules::V6_12)), ("C3".into(), "C6".into()));
}

#[test]
fn the_typical_interval_leaves_outliers_out() {
    use Typical::{BelowPrediction, BothSides, Upwards};
    let up = [100, 101, 99, 100, 100, 102, 5000, 100];
    for form in [BelowPrediction, Upwards, BothSides] {
        assert_eq!(get_typical_interval(&up, 10_000, form), 100, "{form:?}");
    }
    let down = [1000, 1001, 999, 1000, 1000, 1002, 5, 1000];
    assert_eq!(get_typical_interval(&down, 10_000, BelowPrediction), u32::MAX, "the low one stays");
    assert_eq!(get_typical_interval(&down, 10_000, BothSides), 1000);
    assert_eq!(get_typical_interval(&up, 99, BelowPrediction), u32::MAX, "the timer comes before");
    assert_eq!(get_typical_interval(&[0; 8], 10_000, BelowPrediction), 0);
    assert_eq!(get_typical_interval(&[0; 8], 10_000, Upwards), u32::MAX);
}

/// Sums of squares that wrap: what 7.2's own get_typical_interval() returns, compiled by itself.
#[test]
fn the_longest_times_wrap_as_in_the_kernel() {
    let long = u32::MAX - 1;
    for (intervals, typical) in
        [([long; 8], u32::MAX), ([long, long, 5, 5, 5, 5, 5, 5], 5), ([long, 5, 5, 5, 5, 5, 5, 5], 5)]
    {
        assert_eq!(get_typical_interval(&intervals, u32::MAX, Typical::BothSides), typical, "{intervals:?}");
    }
}

#[test]
fn polling_ends_where_a_state_would_have_been_worth_it() {
    assert_eq!(cpuidle_poll_time(&states(), TICK), 20 * US);
    let shallow = IdleStates::new(vec![IdleState::poll(1), state("C1", 2, 2, 1)]).unwrap();
    assert_eq!(cpuidle_poll_time(&shallow, TICK), TICK / 16);
}

#[test]
fn states_that_cannot_be_are_refused() {
    assert_eq!(IdleStates::new(vec![]).unwrap_err(), IdleStateError::Count(0));
    let swapped = IdleStates::new(vec![state("C6", 104, 345, 50), state("C1", 2, 2, 40)]).unwrap_err();
    assert!(matches!(&swapped, IdleStateError::NotDeeper { name, key: "exit_latency_ns" } if name == "C1"));
    let rises = IdleStates::new(vec![state("C1", 2, 2, 40), state("C6", 104, 345, 50)]).unwrap_err();
    assert_eq!(rises, IdleStateError::PowerRises { name: "C6".into() });
}

/// The states of a phone: WFI and one more.
fn two_states() -> IdleStates {
    IdleStates::new(vec![state("WFI", 1, 1, 500), state("C2", 100, 300, 50)]).unwrap()
}

fn governor_of(name: &str, kernel: &str) -> Option<Box<dyn IdleGovernor>> {
    let about = IDLE_GOVERNORS.iter().find(|about| about.name == name).unwrap();
    (about.make)(&Preset::get(kernel).unwrap().cpuidle)
}

/// `util_threshold = arch_scale_cpu_capacity(cpu) >> 6`, and strictly above it.
#[test]
fn teo_util_keeps_a_utilized_cpu_of_two_states_in_the_first() {
    let chosen = |name: &str, cpu_util: u64, timer: u64| {
        let mut governor = governor_of(name, "v6.1").unwrap();
        governor.select(&two_states(), &Asking { cpu_util, capacity: 640, ..asking(timer) }).index
    };
    assert_eq!([chosen("teo", 10, 60 * MS), chosen("teo", 11, 60 * MS)], [1, 1]);
    assert_eq!([chosen("teo_util", 10, 60 * MS), chosen("teo_util", 11, 60 * MS)], [1, 0]);
    // A near timer comes before.
    assert_eq!([chosen("teo_util", 10, 200 * US), chosen("teo_util", 11, 200 * US)], [0, 0]);
    // The state that polls is not taken.
    let states = IdleStates::new(vec![IdleState::poll(3000), state("C1", 2, 2, 900)]).unwrap();
    let mut governor = governor_of("teo_util", "v6.1").unwrap();
    assert_eq!(governor.select(&states, &Asking { cpu_util: 1024, ..asking(60 * MS) }).index, 1);
}

/// v3 and v4: `utilized && idx == 1` goes to state 0. The merged form took the next shallower one from any.
#[test]
fn teo_util_goes_from_the_second_of_three_states_to_the_first() {
    let three = || vec![state("C1", 2, 2, 900), state("C1E", 10, 20, 700), state("C6", 104, 345, 50)];
    let chosen = |states: Vec<IdleState>, cpu_util: u64, timer: u64| {
        let mut governor = governor_of("teo_util", "v6.1").unwrap();
        governor.select(&IdleStates::new(states).unwrap(), &Asking { cpu_util, ..asking(timer) }).index
    };
    assert_eq!([chosen(three(), 16, 100 * US), chosen(three(), 17, 100 * US)], [1, 0]);
    assert_eq!([chosen(three(), 16, MS), chosen(three(), 17, MS)], [2, 2]);
    let polls = || [vec![IdleState::poll(3000)], three()[1..].to_vec()].concat();
    assert_eq!(chosen(polls(), 1024, 100 * US), 1);
    let disabled = || {
        let mut states = three();
        states[0].disabled = true;
        states
    };
    assert_eq!(chosen(disabled(), 1024, 100 * US), 1);
}

#[test]
fn teo_util_is_of_the_teo_of_its_time() {
    let kernels = Preset::all().iter().filter(|preset| governor_of("teo_util", preset.name).is_some());
    let teo = Preset::all().iter().filter(|preset| preset.cpuidle.teo == Some(wakelab_kernel::Teo::Recent));
    assert!(kernels.map(|preset| preset.name).eq(teo.map(|preset| preset.name)));
}

#[test]
fn shallow_stays_in_the_first_state_however_far_the_timer_is() {
    let mut governor = governor_of("shallow", "v5.18-eas").unwrap();
    for timer in [50 * US, 900 * MS] {
        let choice = governor.select(&two_states(), &asking(timer));
        assert_eq!(choice, Choice { index: 0, stop_tick: true });
        governor.reflect(&Woken { now: timer, index: 0, residency_ns: timer, by_tick: false, poll_time_limit: false });
    }
}

/// menu of 6.6 and 6.8 (`menu_select()`, 6.6.87), on its way from 6.1's to 6.12's.
#[test]
fn menu_of_6_6_takes_a_short_interval_unread_and_still_counts_iowaiters() {
    let of = |kernel: &str| Menu::new(Preset::get(kernel).unwrap().cpuidle.menu);
    // Sleeps of 5 us, whatever the timer says: without reading it, and so with the tick's half for the next event.
    for (kernel, unread) in [("v6.1", false), ("v6.6", true), ("v6.8", true), ("v6.12", true)] {
        let mut menu = of(kernel);
        history(&mut menu, 60 * MS, 5 * US, 20);
        let far = chosen(&mut menu, &asking(60 * MS));
        // A timer that is due at once changes what 6.1 chooses.
        let near = chosen(&mut menu, &asking(US));
        assert_eq!(far == near, unread, "{kernel}: {far:?} and {near:?}");
    }
    // Sleeps of 300 us: with ten tasks that wait for I/O the latency may be 300/101 us.
    for (kernel, counts) in [("v6.1", true), ("v6.6", true), ("v6.8", true), ("v6.12", false)] {
        let mut menu = of(kernel);
        history(&mut menu, 60 * MS, 300 * US, 20);
        let waits = Asking { nr_iowaiters: 10, ..asking(300 * US) };
        let (alone, beside) = (chosen(&mut menu.clone(), &asking(300 * US)), chosen(&mut menu, &waits));
        assert_eq!(alone != beside, counts, "{kernel}: {alone:?} and {beside:?}");
    }
    // With the tick stopped, a short interval becomes the time to the timer: in 6.6 to one that was not read.
    for (kernel, index) in [("v6.6", "C6"), ("v6.12", "C1E")] {
        let mut menu = of(kernel);
        history(&mut menu, 60 * MS, 5 * US, 20);
        let stopped = Asking { tick_stopped: true, ..asking(30 * US) };
        assert_eq!(chosen(&mut menu, &stopped).0, index, "{kernel}");
    }
}
