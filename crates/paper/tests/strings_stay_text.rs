//! Whatever a file says, it is shown and never obeyed.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::fs;

use backcut_page::report::{Format, Results};

/// Fills every field of a small study that may hold any text with a hostile string.
fn hostile(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    common::write_quick(folder.path());
    let study = folder.path().join("quick");
    let field = format!("\"{}\"", text.replace('"', "\"\""));
    let endpoints = fs::read_to_string(study.join("endpoints.csv")).unwrap();
    let endpoints = endpoints
        .replace("\n1,", &format!("\n{field},"))
        .replace(",\"\"\n", &format!(",{field}\n"));
    fs::write(study.join("endpoints.csv"), endpoints).unwrap();
    let unit = common::hash(&["hostile"]);
    fs::write(
        study.join("units.csv"),
        format!(
            "unit,what,arm,condition,source,from,to,state,updates,clipped,note\n\
             {unit},{field},{field},{field},{field},0,1,failed,1,1,{field}\n"
        ),
    )
    .unwrap();
    let not_computed = format!("\"not computed: {}\"", text.replace('"', "\"\""));
    fs::write(
        study.join("analysis.csv"),
        format!(
            "family,contrast,expression,direction,sources,mean,lower,upper,bound,level,size,exact_p,floor,agreeing,verdict,status,why\n{field},{field},{field},{field},4,1,0,2,two-sided,0.05,1,0.1,0.1,4,supported,descriptive,{field}\n{field},{field} again,{field},{field},,,,,two-sided,0.05,1,,,,{not_computed},descriptive,{field}\n"
        ),
    )
    .unwrap();
    let json = serde_json::json!({ text: text, "nested": { text: [text] } });
    fs::write(study.join("about.json"), json.to_string()).unwrap();
    let entry = serde_json::json!({ "hash": text });
    fs::write(folder.path().join("ledger.jsonl"), format!("{entry}\n")).unwrap();
    folder
}

#[test]
fn no_string_of_a_file_becomes_markup() {
    for text in common::HOSTILE {
        let folder = hostile(text);
        let results = common::open(folder.path());
        let html = results.page(Some(text)).unwrap();
        // One script, the page's own; no element that only a hostile string would open.
        assert_eq!(html.matches("<script").count(), 1, "{text:?}");
        assert_eq!(html.matches("</style").count(), 1, "{text:?}");
        assert!(!html.contains("<img") && !html.contains("\"onmouseover=\""), "{text:?}");
        assert!(!html.contains('\u{202E}') && !html.contains('\0'), "{text:?}");
        let svg = results.figure("memory-value").unwrap().svg();
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{text:?}");
        for name in ["units", "contrasts", "summary"] {
            let table = backcut_page::report::table(&results.results, name, None);
            let table = table.or_else(|_| results.table(name)).unwrap();
            let markdown = table.write(Format::Markdown);
            assert!(!markdown.contains('<'), "{name} {text:?}");
            let columns = |line: &str| line.replace("\\|", "").matches('|').count();
            let lines: Vec<usize> =
                markdown.lines().filter(|l| l.starts_with('|')).map(columns).collect();
            assert!(lines.iter().all(|count| *count == lines[0]), "{name} {text:?}: {markdown}");
            let latex = table.write(Format::Latex);
            assert!(!latex.contains("<script"), "{name} {text:?}");
        }
        assert!(!results.markdown().contains("<script"));
    }
}

/// Words that decide something are read or refused; the refusal itself obeys nothing.
#[test]
fn a_hostile_word_where_a_verdict_belongs_is_refused() {
    for text in common::HOSTILE {
        let field = format!("\"{}\"", text.replace('"', "\"\""));
        for (file, known) in [
            ("endpoints.csv", ",done,"),
            ("units.csv", ",done,"),
            ("analysis.csv", ",supported,"),
            ("analysis.csv", ",two-sided,"),
            ("analysis.csv", ",prespecified,"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            common::write_results(folder.path());
            let path = folder.path().join("c5").join(file);
            let table = fs::read_to_string(&path).unwrap();
            assert!(table.contains(known), "{file} holds {known}");
            fs::write(&path, table.replacen(known, &format!(",{field},"), 1)).unwrap();
            let error = Results::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains("in row 2: `"), "{error}");
            assert!(!error.contains(['\u{202E}', '\0', '\n']), "{error:?}");
        }
    }
}

#[test]
fn drawings_are_well_formed() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let results = common::open(folder.path()).with_design(common::design());
    for (name, _) in backcut_paper::FIGURES.iter() {
        let svg = results.figure(name).unwrap().svg();
        let mut open: Vec<&str> = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("{name}: an open tag"));
            let word = tag.split([' ', '/']).find(|w| !w.is_empty()).unwrap_or_default();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(word), "{name}");
            } else if !tag.ends_with('/') {
                open.push(word);
            }
            assert_eq!(tag.matches('"').count() % 2, 0, "{name}: {tag}");
        }
        assert!(open.is_empty(), "{name}: {open:?}");
    }
}
