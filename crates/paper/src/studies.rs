//! The paper's study files, embedded, so that `backcut reproduce` needs nothing else.

/// Name and text of every study file, in the order in which they are run.
pub const STUDIES: &[(&str, &str)] = &[
    ("c1-hidden.toml", include_str!("../studies/c1-hidden.toml")),
    ("c1-first.toml", include_str!("../studies/c1-first.toml")),
    ("a4.toml", include_str!("../studies/a4.toml")),
    ("c2.toml", include_str!("../studies/c2.toml")),
    ("a6.toml", include_str!("../studies/a6.toml")),
    ("c4.toml", include_str!("../studies/c4.toml")),
    ("c5.toml", include_str!("../studies/c5.toml")),
    ("c5-check.toml", include_str!("../studies/c5-check.toml")),
    ("c6.toml", include_str!("../studies/c6.toml")),
    ("c3.toml", include_str!("../studies/c3.toml")),
    ("c7.toml", include_str!("../studies/c7.toml")),
    ("e1.toml", include_str!("../studies/e1.toml")),
    ("e2.toml", include_str!("../studies/e2.toml")),
    ("e3.toml", include_str!("../studies/e3.toml")),
    ("e4.toml", include_str!("../studies/e4.toml")),
    ("quick.toml", include_str!("../studies/quick.toml")),
    ("flight-quick.toml", include_str!("../studies/flight-quick.toml")),
    ("b1-quick.toml", include_str!("../studies/b1-quick.toml")),
    ("b3-quick.toml", include_str!("../studies/b3-quick.toml")),
];

/// Names of the quadrotor's studies at the paper's budget.
pub fn quadrotor() -> impl Iterator<Item = &'static str> {
    let names = STUDIES.iter().map(|(file, _)| file.trim_end_matches(".toml"));
    names.filter(|name| !name.ends_with("quick") && !name.starts_with('b'))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::*;
    use backcut_study::Study;
    use backcut_systems::Catalogue;
    use backcut_vessel::system::VesselConfig;

    #[test]
    fn every_study_file_is_embedded_and_loads_from_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name());
        let mut files: Vec<String> = files.map(|f| f.into_string().unwrap()).collect();
        let is_study = |file: &String| file.strip_suffix(".toml").is_some_and(|n| n != "template");
        files.retain(is_study);
        let mut embedded: Vec<&str> = STUDIES.iter().map(|(file, _)| *file).collect();
        files.sort();
        embedded.sort_unstable();
        assert_eq!(files, embedded);
        let catalogue = Catalogue::builtin().with::<VesselConfig>();
        let read = |path: &Path| {
            let text = STUDIES.iter().find(|(file, _)| path.ends_with(file)).map(|(_, text)| *text);
            text.map(str::to_owned).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        for (file, _) in STUDIES {
            let study = Study::load_with(Path::new(file), &catalogue, &read).unwrap();
            assert_eq!(format!("{}.toml", study.name), *file);
        }
    }
}
