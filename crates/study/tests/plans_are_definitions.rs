//! Plans: every unit once, named by what defines it, what it starts from before it.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use backcut_study::runner::shard_of;
use backcut_study::{Definition, Plan, Study, StudyError, builtin};
use backcut_systems::{Catalogue, Clip};
use backcut_text::Hinted as _;
use common::{TINY, study, study_with};

/// A study file that comes with the project.
fn published(name: &str) -> (Study, Plan) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies").join(name);
    let study = Study::load(&file, &Catalogue::builtin()).unwrap();
    let plan = Plan::new(&study);
    (study, plan)
}

/// What ships' studies are is not known here: the paper's tests hold them.
const OF_SHIPS: [&str; 2] = ["b1-quick.toml", "b3-quick.toml"];

fn all_published() -> Vec<(Study, Plan)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<_> = files.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    let name = |file: &Path| file.file_name().unwrap().to_string_lossy().into_owned();
    let names = files.iter().map(|file| name(file));
    let (ships, names): (Vec<_>, Vec<_>) = names.partition(|n| OF_SHIPS.contains(&n.as_str()));
    assert_eq!(ships, OF_SHIPS);
    let studies: Vec<_> = names.iter().map(|name| published(name)).collect();
    assert!(studies.len() > 16, "the paper's, the template");
    studies
}

/// The studies of the second programme, by name.
fn second() -> BTreeMap<String, Study> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/second");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_study = |f: &PathBuf| {
        f.extension().is_some_and(|e| e == "toml") && !f.ends_with("configuration.toml")
    };
    let load = |f: PathBuf| Study::load(&f, &Catalogue::builtin()).unwrap();
    files.filter(is_study).map(load).map(|study| (study.name.clone(), study)).collect()
}

#[test]
fn the_second_programme_has_one_configuration_and_drawn_sources() {
    let studies = second();
    assert_eq!(studies.len(), 20);
    let mut known = BTreeSet::new();
    for (name, study) in &studies {
        if ["calibration", "multiverse"].contains(&name.as_str()) {
            continue;
        }
        // The flight looks at a source that C5's freeze drew.
        let is_open = name != "flight";
        assert!(study.grids.iter().all(|g| g.is_open() == is_open), "{name}: nothing is drawn yet");
        for arm in &study.arms {
            assert_eq!(arm.optimizer.clip, Clip::Norm(4311.62), "{name}: {}", arm.name);
            let policies = arm.systems.values().map(|choice| choice.settings["policy"].to_string());
            known.extend(policies);
        }
    }
    assert_eq!(known.len(), 1, "{known:?}");
    let c6 = &studies["c6"];
    let arm = c6.arms.iter().find(|arm| arm.name == "SEG-2").unwrap();
    assert_eq!((arm.conditions.len(), c6.grids[arm.grid].sources.len()), (3, 16));
    assert_eq!(c6.grids[arm.grid].drawn.as_ref().unwrap().study, "c5");
}

#[test]
fn a_calibration_cuts_nothing_and_universes_are_apart() {
    let studies = second();
    let arms = &studies["calibration"].arms;
    assert!(arms.iter().all(|arm| arm.cut == backcut_engine::Cut::FF));
    let multiverse = &studies["multiverse"];
    let of = |universe: &str| {
        let arm = multiverse.arms.iter().find(|a| a.name == format!("{universe}.FF")).unwrap();
        (arm.systems[&0].settings.to_string(), arm.optimizer.clip, arm.optimizer.rule)
    };
    let all: Vec<_> = (1..=24).map(|i| of(&format!("u{i:02}"))).collect();
    for (i, universe) in all.iter().enumerate() {
        assert!(!all[..i].contains(universe), "universe {} is another one", i + 1);
    }
    assert_eq!(all.iter().filter(|universe| universe.1 == Clip::Norm(4311.62)).count(), 12);
}

#[test]
fn every_unit_of_every_published_study_is_named_by_its_definition() {
    let mut names = BTreeSet::new();
    for (study, plan) in all_published() {
        assert!(names.insert(study.name.clone()), "two studies named {}", study.name);
        assert!(!plan.units.is_empty());
        let mut ids = BTreeSet::new();
        for (index, unit) in plan.units.iter().enumerate() {
            let definition = plan.definition(&study, index as u32);
            let words = plan.words(&study, index as u32);
            assert_eq!(definition.id(), unit.id, "{}: {words}", study.name);
            assert!(ids.insert(unit.id), "{}: {words} is planned twice", study.name);
            assert_eq!(definition.work(), plan.work(&study, index as u32));
            // What it needs comes before it, and is kept there.
            let needs: Vec<_> = definition.needs().collect();
            let needed: Vec<_> = plan.needed(&study, index as u32).collect();
            assert_eq!(needs.len(), needed.len(), "{words}");
            for (state, (need, update)) in needs.iter().zip(needed) {
                assert!((need as usize) < index, "{words}");
                assert_eq!((state.unit, state.update), (plan.units[need as usize].id, update));
                assert!(plan.keep(need).contains(&update), "{words}");
            }
        }
        // Definitions survive being written down.
        let definition = plan.definition(&study, 0);
        let again: Definition = serde_json::from_str(&definition.canonical()).unwrap();
        assert_eq!(again, definition);
    }
}

#[test]
fn the_template_loads_and_plans() {
    let study = study(builtin::TEMPLATE).unwrap();
    let plan = Plan::new(&study);
    assert_eq!((plan.units.len(), plan.places.len()), (64, 64));
}

#[test]
fn the_schema_for_editors_is_current() {
    let there = include_str!("../../../studies/study.schema.json");
    let hint = "run `backcut study schema > studies/study.schema.json`";
    assert_eq!(there, backcut_study::file::schema(), "{hint}");
    assert!(builtin::TEMPLATE.starts_with("#:schema study.schema.json\n"));
}

/// Ids are what results on disk are found by: they may change only with the numerics, or with what
/// a definition says. Whoever changes one makes every result on disk unknown.
#[test]
fn ids_are_pinned() {
    let study = study(TINY).unwrap();
    let plan = Plan::new(&study);
    let ids: Vec<String> = plan.units.iter().map(|unit| unit.id.short()).collect();
    assert_eq!(ids, PINNED, "NUMERICS_VERSION {}", backcut_kernels::NUMERICS_VERSION);
}

const PINNED: [&str; 6] = [
    "cfcc1a2c2422", // FF, source 1
    "2e9015cb0dd4", // F_SG
    "960e570a3bb5", // masking
    "7627a6ad25fc",
    "c7b5d87ec4d9",
    "b549ca5a6d2c",
];

#[test]
fn a_warm_start_is_planned_once_however_many_arms_branch_from_it() {
    let more = "[arms.again]\ncut = \"FF\"\nupdates = 40\nkeep = [10]\n\
        [arms.KD]\nfrom = \"again\"\nat = 20\ncut = \"KD\"\nupdates = 40\n";
    let study =
        study(&TINY.replace("[[measurements]]", &format!("{more}[[measurements]]"))).unwrap();
    let plan = Plan::new(&study);
    // `again` is FF under another name: two sources of FF, F_SG, KD and the measurement.
    assert_eq!((plan.units.len(), plan.places.len()), (8, 10));
    for arm in ["FF", "again"] {
        let index = study.arms.iter().position(|a| a.name == arm).unwrap() as u32;
        let place = plan.places.iter().find(|p| p.arm == index && p.measured.is_none()).unwrap();
        let mut keep = plan.keep(place.unit).to_vec();
        keep.sort_unstable();
        keep.dedup();
        assert_eq!(keep, [10, 20, 40], "what either arm needs is kept");
    }
}

#[test]
fn what_two_studies_share_has_one_name() {
    let plan_of =
        |name: &str| published(name).1.units.iter().map(|u| u.id).collect::<BTreeSet<_>>();
    let (c5, c6) = (plan_of("c5.toml"), plan_of("c6.toml"));
    // C6 takes FF, F_SG, w1 and w2 under three conditions of sixteen sources from C5.
    assert_eq!(c5.intersection(&c6).count(), 4 * 3 * 16);
    // The study's own name, and the label of a condition, define nothing.
    let other =
        TINY.replace("name = \"tiny\"", "name = \"other\"").replace("\"0.20\"", "\"noisy\"");
    let other = other.replace("@0.20", "@noisy");
    let ids = |text: &str| {
        Plan::new(&study(text).unwrap()).units.iter().map(|u| u.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(TINY), ids(&other));
    // What is kept does not either; what is evaluated does.
    assert_eq!(ids(TINY), ids(&TINY.replace("keep = [40]", "keep = [5]")));
    assert_ne!(ids(TINY), ids(&TINY.replace("evaluate_every = 20", "evaluate_every = 10")));
}

/// However single edges are written, one cut is one unit: known results stay known.
#[test]
fn one_cut_has_one_id_however_its_edges_are_written() {
    let ids = |cut: &str| {
        let study = study(&changed("cut = \"F_SG\"", &format!("cut = \"{cut}\""))).unwrap();
        Plan::new(&study).units.iter().map(|unit| unit.id).collect::<Vec<_>>()
    };
    for [one, other] in [
        ["FF:keys=D", "FD:values=F"],
        ["FF:keys=D", "FF:block0.keys=D"],
        ["FF:keys=SG:values=SG", "F_SG"],
        ["FF:block0=A1", "FF"],
        ["F_SG:observation=A0", "F_SG:observation=D"],
        ["FF:state=D", "FF:position=D:attitude=D:velocity=D:rates=D"],
        ["FF:keys=SEG-1:values=SEG-99999", "FF:keys=SG"],
    ] {
        assert_eq!(ids(one), ids(other), "{one} and {other}");
    }
    assert_ne!(ids("FF:keys=D"), ids("FF:values=D"));
    assert_ne!(ids("FD:observation=D"), ids("FD"));
}

#[test]
fn shards_divide_the_units_and_keep_branches_with_their_start() {
    for (study, plan) in all_published() {
        for unit in 0..plan.units.len() as u32 {
            let shard = shard_of(&plan, unit, 7);
            assert!(shard < 7);
            if let Some(start) = plan.units[unit as usize].needs[0] {
                assert_eq!(shard, shard_of(&plan, start, 7), "{}", plan.words(&study, unit));
            }
        }
    }
}

#[track_caller]
fn refused(text: &str, what: &str, hint: &str) {
    let error = study(text).unwrap_err();
    let (said, hinted) = (error.to_string(), error.hint().into_owned());
    assert!(matches!(error, StudyError::Invalid { .. }), "{said}");
    assert_eq!((said.as_str(), hinted.as_str()), (what, hint));
}

/// One line of the tiny study changed.
#[track_caller]
fn changed(from: &str, to: &str) -> String {
    assert!(TINY.contains(from), "{from}");
    TINY.replacen(from, to, 1)
}

#[test]
fn what_makes_no_sense_is_refused_with_one_clear_error() {
    // What is changed, into what; what is said of it.
    let cases = [
        (
            "cut = \"F_SG\"",
            "cut = \"F_SQ\"",
            "s.toml: arm `F_SG`: `F_SQ` is not a cut: `_SQ` is no memory credit",
            "a cut is F, K or K<k> (physical credit), then F, D, _SG, _SEG-<L> or _A<alpha> \
             (memory credit): FF FD KF KD F_SG K_SG SEG-8 K_SEG-8 K4F F_A0.5; drawn for every \
             update: RSEG-8 RT-0.1 URT-0.1; edges apart: FF:keys=D F_SG:block1=F",
        ),
        (
            "updates = 40\nkeep",
            "updats = 40\nkeep",
            "s.toml, line 15: unknown field `updats`, expected one of `cut`, `settings`, `window`, \
             `from`, `at`, `updates`, `optimizer`, `shared`, `stream`, `evaluate`, `keep`, \
             `conditions`",
            "did you mean `updates`?",
        ),
        (
            "from = \"FF\"",
            "from = \"FE\"",
            "s.toml: arm `F_SG`: there is no arm `FE` to branch from",
            "did you mean `FF`?",
        ),
        (
            "at = 20",
            "at = 50",
            "s.toml: arm `F_SG`: at = 50, but `FF` has updates 1 to 40",
            "branch at an update that exists",
        ),
        (
            "first = 1\ncount = 2",
            "seeds = [1, 2, 1]",
            "s.toml: sources: seed 1 twice",
            "list each seed once",
        ),
        (
            "first = 1\ncount = 2",
            "seeds = []",
            "s.toml: sources: no seed",
            "write `first` and `count`, or `seeds`, or `draw`",
        ),
        (
            "first = 1\ncount = 2",
            "first = 1",
            "s.toml: sources are not clear",
            "write `first` and `count`, or `seeds`, or `draw`",
        ),
        ("keep = [40]", "keep = [41]", "s.toml: arm `FF`: keep = [41]", "list updates of this arm"),
        (
            "keep = [40]",
            "evaluate = [30, 20]",
            "s.toml: arm `FF`: evaluate = [30, 20]",
            "list updates of this arm once each, in order",
        ),
        (
            "[F_SG@0.20] -",
            "[F_SG@0.2] -",
            "s.toml: family `cost`: there is no cell [F_SG@0.2]",
            "did you mean [F_SG@0.20]?",
        ),
        (
            "[F_SG@0.20] -",
            "[FSG@0.20] -",
            "s.toml: family `cost`: there is no cell [FSG@0.20]",
            "did you mean [F_SG@0.20]?",
        ),
        (
            "asks = \"confirmatory\"",
            "asks = \"certain\"",
            "s.toml: family `cost`: asks = \"certain\"",
            "statuses: confirmatory, prespecified, descriptive, post hoc",
        ),
        (
            "> 0\"]",
            "> 0\", \"R = [FF@0.20] < 0\"]",
            "s.toml: family `cost`: two contrasts named `R`",
            "write NAME = before one of them",
        ),
        (
            "asks = \"confirmatory\"",
            "asks = \"confirmatory\"\nat = 10",
            "s.toml: family `cost`: `F_SG` is not evaluated at update 10",
            "it is evaluated at [40]: choose with `at`",
        ),
        (
            "asks = \"confirmatory\"",
            "asks = \"confirmatory\"\nquantity = \"x\"",
            "s.toml: family `cost`: `FF` is not measured at update 40",
            "add it to [[measurements]]",
        ),
        (
            "kind = \"masking\"",
            "kind = \"maskin\"",
            "s.toml, line 22: unknown variant `maskin`, expected one of `gradient`, `update`, \
             `windows`, `scores`, `chain`, `masking`, `donor`, `probe`, `attention`, `track`, \
             `reference`, `input-weight`",
            "did you mean `masking`?",
        ),
        (
            "windows = [1, 2]",
            "windws = [1, 2]",
            "s.toml, line 22: unknown field `windws`, expected `windows`",
            "did you mean `windows`?",
        ),
        (
            "of = [\"F_SG\"]",
            "of = [\"KD\"]",
            "s.toml: measurement of no arm `KD`",
            "measure an arm of this study, or a reused one",
        ),
        (
            "of = [\"F_SG\"]",
            "of = [\"F_SG\"]\nat = [10]",
            "s.toml: measurement of `F_SG` at update 10",
            "the arm has updates 21 to 40",
        ),
        (
            "of = [\"F_SG\"]",
            "of = [\"F_SG\"]\nreference = \"GG\"",
            "s.toml: reference = \"GG\"",
            "name an arm of the same sources",
        ),
        (
            "name = \"quadrotor\"",
            "name = \"quadroter\"",
            "s.toml: condition `0.20`: the system `quadroter` is not known",
            "systems: quadrotor, cart-pole, delayed-cue",
        ),
        (
            "name = \"tiny\"",
            "name = \"ti/ny\"",
            "s.toml: name = \"ti/ny\"",
            "use letters, digits, `-` and `_`",
        ),
        (
            "heads = 2",
            "heads = 3",
            "s.toml: condition `0.20`: the quadrotor's settings: `policy.heads` is 3",
            "the number of heads must divide the policy's width",
        ),
        (
            "[arms.FF]",
            "[arms.\"F@F\"]",
            "s.toml: arm label \"F@F\"",
            "use letters, digits and - _ . +",
        ),
        (
            "updates = 40\nkeep",
            "conditions = [\"0.3\"]\nupdates = 40\nkeep",
            "s.toml: arm `FF`: no condition `0.3` where it runs",
            "conditions there: 0.20",
        ),
        (
            "updates = 40\nkeep",
            "conditions = [\"0.20\", \"0.20\"]\nupdates = 40\nkeep",
            "s.toml: arm `FF`: conditions = [\"0.20\", \"0.20\"]",
            "list each condition once",
        ),
        (
            "[sources]",
            "[optimizer]\nrate = -1.0\n[sources]",
            "s.toml: optimizer.adamw.rate = -1, not a positive number",
            "correct [optimizer]",
        ),
    ];
    for (from, to, what, hint) in cases {
        refused(&changed(from, to), what, hint);
    }
}

#[test]
fn a_reference_must_run_where_it_is_needed() {
    let text = changed("\"0.20\" =", "hidden = { velocity = \"hidden\" }\n\"0.20\" =")
        .replace(
            "[[measurements]]",
            "[arms.KD]\ncut = \"KD\"\nupdates = 40\nconditions = [\"0.20\"]\n[[measurements]]",
        )
        .replace("of = [\"F_SG\"]", "of = [\"F_SG\"]\nreference = \"KD\"");
    refused(
        &text,
        "s.toml: reference = \"KD\" does not run under condition `hidden`",
        "`F_SG` does, and is measured there",
    );
}

#[test]
fn an_arm_comes_from_one_study_only() {
    let reuse = "[[reuse]]\nstudy = \"a.toml\"\narms = [\"FF\"]\n[[reuse]]\nstudy = \
                 \"b.toml\"\narms = [\"FF\"]\n";
    let text = changed("[arms.FF]\ncut = \"FF\"\nupdates = 40\nkeep = [40]\n", reuse);
    let [one, other] = ["one", "other"].map(|name| TINY.replace("\"tiny\"", &format!("{name:?}")));
    let error = study_with(&text, &[("a.toml", &one), ("b.toml", &other)]).unwrap_err();
    let said = "s.toml: reuse: arm `FF` comes from two studies onto the same sources";
    assert_eq!(error.to_string(), said);
}

#[test]
fn studies_that_reuse_themselves_or_each_other_end() {
    let text = changed("[arms.FF]", "[[reuse]]\nstudy = \"s.toml\"\narms = [\"FF\"]\n[arms.FF]");
    let error = study(&text).unwrap_err();
    assert_eq!(error.hint(), "a study can not reuse itself");
    let missing =
        changed("[arms.FF]", "[[reuse]]\nstudy = \"gone.toml\"\narms = [\"FF\"]\n[arms.FF]");
    let error = study_with(&missing, &[]).unwrap_err();
    assert!(error.to_string().contains("gone.toml"), "{error}");
}

#[test]
fn every_setting_of_an_optimizer_is_part_of_a_definition() {
    let ids = |text: &str| {
        Plan::new(&study(text).unwrap()).units.iter().map(|u| u.id).collect::<Vec<_>>()
    };
    let with = |table: &str| changed("[sources]", &format!("[optimizer]\n{table}\n[sources]"));
    let tables = [
        "kind = \"sgd\"",
        "kind = \"sgd\"\nmomentum = 0.9",
        "kind = \"sgd\"\nmomentum = 0.9\ndecay = 0.1",
        "kind = \"adam\"",
        "kind = \"adam\"\ndecay = 0.1",
        "kind = \"adam\"\nbeta2 = 0.9",
        "clip = \"none\"",
        "clip = 3.0",
        "groups = [{ parameters = \"*.bias\", decay = 0.0 }]",
        "groups = [{ parameters = \"*.bias\", decay = 0.0, rate = 0.5 }]",
        "groups = [{ parameters = \"head.*\", decay = 0.0 }]",
    ];
    let mut seen = vec![ids(TINY)];
    for table in tables {
        let found = ids(&with(table));
        assert!(!seen.contains(&found), "{table}");
        seen.push(found);
    }
    // What is said and is so anyway changes nothing.
    assert_eq!(ids(&with("kind = \"adamw\"")), seen[0]);
    for (table, what) in [
        ("momentum = 0.9", "adamw has no `momentum`"),
        ("kind = \"sgd\"\nbeta1 = 0.9", "sgd has no `beta1`"),
        ("kind = \"sgd\"\nmomentum = 1.0", "optimizer.sgd.momentum = 1, not in [0, 1)"),
        ("clip = \"off\"", "clip"),
        ("groups = [{ parameters = \"nothing*\", decay = 0.0 }]", "no parameter is left"),
        ("groups = [{ parameters = \"*.bias\" }]", "changes neither rate nor decay"),
        ("groups = [{ parameters = \"*.bias\", decay = -1.0 }]", "decay = -1"),
    ] {
        let error = study(&with(table)).unwrap_err();
        assert!(error.to_string().contains(what), "{table}: {error}");
        assert!(!error.hint().is_empty());
    }
}
