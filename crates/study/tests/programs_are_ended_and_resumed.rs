//! Programs that are stopped, run into a limit, or come out otherwise than before.
#![cfg(unix)]

mod common;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use backcut_study::Plan;
use backcut_study::replay::CameOut;
use backcut_study::runner::{Event, RunOptions};
use common::program::{Place, SCRIPT, STUDY, replayed};

/// The script stops half way and is told to end; the next run goes on from its checkpoint.
#[test]
fn a_stopped_program_goes_on_from_its_checkpoint() {
    let script = format!(
        r#"
folder=$(sed -n 's/.*"checkpoint": "\([^"]*\).*/\1/p' "$BACKCUT_UNIT")
progress=$(sed -n 's/.*"progress": "\([^"]*\).*/\1/p' "$BACKCUT_UNIT")
if [ ! -e "$folder/half" ]; then
    echo 10 > "$progress"
    sleep 1000 &
    echo $! > "$folder/child"
    touch "$folder/half"
    wait
fi
{SCRIPT}"#
    );
    let place = Place::new(STUDY, &script);
    let stop = AtomicBool::new(false);
    let seen = AtomicU64::new(0);
    let options = RunOptions::default();
    let (tally, _, plan) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let work = place.path("results/work");
            let half = || {
                fs::read_dir(&work)
                    .ok()?
                    .flatten()
                    .find(|d| d.path().join("checkpoint/half").exists())
            };
            // Until its progress is told; a minute is never, on any machine.
            let told = || seen.load(Ordering::Relaxed) > 0;
            for _ in 0..12_000 {
                if half().is_some() && told() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let mut listen = |event: Event| {
            if let Event::Progress { update, .. } = event {
                seen.store(update, Ordering::Relaxed);
            }
        };
        place.run_with(&options, &stop, &mut listen).unwrap()
    });
    assert_eq!((tally.computed, tally.failed, tally.left), (0, 0, 8));
    assert_eq!(seen.into_inner(), 10);
    let folder = place.store().work(&plan.units[0].id).path().join("checkpoint");
    let child = fs::read_to_string(folder.join("child")).unwrap();
    assert!(!lives(child.trim()), "the whole group was ended");
    for unit in &plan.units {
        let folder = place.store().work(&unit.id).path().join("checkpoint");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("half"), "").unwrap();
    }
    assert_eq!(place.run().unwrap().0.computed, 8);
}

fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
}

#[test]
fn a_limit_ends_the_group_and_keeps_what_it_saved() {
    let text = STUDY.replace("count = 4", "count = 1").replace("error =", "timeout = 0.3\nerror =");
    let script = r#"
folder=$(sed -n 's/.*"checkpoint": "\([^"]*\).*/\1/p' "$BACKCUT_UNIT")
sleep 1000 & echo $! > "$folder/child"
wait"#;
    let place = Place::new(&text, script);
    let (what, hint) = place.failure();
    assert_eq!(what, "no result after 0.3 s");
    assert!(hint.contains("raise `timeout`"), "{hint}");
    let plan = Plan::new(&place.load().unwrap());
    let folder = place.store().work(&plan.units[0].id).path().join("checkpoint");
    assert!(!lives(fs::read_to_string(folder.join("child")).unwrap().trim()));
}

#[test]
fn a_replay_is_as_exact_as_was_declared() {
    // A counter outside of everything that is declared makes every run another one.
    let counted = |start: &str| {
        format!(
            "n=$(cat counter 2>/dev/null || echo 0); echo $((n + 1)) > counter\n{}",
            SCRIPT.replace("\"$detach\" \"$seed\"", &format!("{start} \"000000$n\""))
        )
    };
    let with = |replay: &str| {
        let text = STUDY.replace("count = 4", "count = 1");
        let place = Place::new(
            &text.replace("error =", &format!("replay = {replay}\nerror =")),
            &counted("1"),
        );
        let (_, _, plan) = place.run().unwrap();
        replayed(&place, &plan)
    };
    let bitwise = with("\"bitwise\"").unwrap_err();
    assert!(bitwise.contains("it differs by 2.0"), "{bitwise}");
    assert!(matches!(with("{ tolerance = 1e-5 }"), Ok(CameOut::Within(by)) if by > 0.0));
    let far = with("{ tolerance = 1e-9 }").unwrap_err();
    assert!(far.contains("declared was 1.000e-9"), "{far}");
    assert_eq!(with("\"impossible\""), Ok(CameOut::Impossible));
}
