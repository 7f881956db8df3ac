//! Time stamps from the command line, against an authority that `openssl` plays in a temporary folder.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;
use std::process::Command;

use common::study::{StudyFolder, family, tiny};

const CONFIG: &str = "
[req]
distinguished_name = dn
[dn]
[ca]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
[tsa]
extendedKeyUsage = critical,timeStamping
[tsa_config]
serial = serial
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
signer_digest = sha256
accuracy = secs:1
tsa_name = yes
";

#[track_caller]
fn openssl(desk: &StudyFolder, arguments: &str) {
    let mut command = Command::new("openssl");
    command.current_dir(desk.path("")).env("OPENSSL_CONF", desk.path("config"));
    let output = command.args(arguments.split(' ')).output().expect("openssl is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments}: {said}");
}

/// An authority `NAME.pem`, vouched for by `NAME-root.pem`.
fn authority(desk: &StudyFolder, name: &str) {
    desk.write("config", CONFIG).write("serial", "01");
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(
        desk,
        &format!(
            "req -x509 {key} -keyout root.key -out {name}-root.pem -days 30 -subj /CN=Root -config config -extensions ca"
        ),
    );
    openssl(
        desk,
        &format!("req {key} -keyout {name}.key -out tsa.csr -subj /CN={name} -config config"),
    );
    openssl(
        desk,
        &format!(
            "x509 -req -in tsa.csr -CA {name}-root.pem -CAkey root.key -CAcreateserial -days 30 -out {name}.pem -extfile config -extensions tsa"
        ),
    );
}

fn reply(desk: &StudyFolder, name: &str) {
    openssl(
        desk,
        &format!(
            "ts -reply -queryfile head.tsq -config config -section tsa_config -signer {name}.pem -inkey {name}.key -out head.tsr"
        ),
    );
}

#[test]
fn a_head_is_stamped_stored_and_verified_offline() {
    let desk = StudyFolder::new();
    authority(&desk, "clock");
    desk.write("s.toml", &tiny("s", 10, &family("confirmatory")));
    let said = desk.ends(2, "study freeze --timestamp-request head.tsq --out out");
    assert!(
        said.contains("the ledger is empty") && said.contains("hint: freeze a study"),
        "{said}"
    );
    let said = desk.fine("study freeze s.toml --out out --timestamp-request head.tsq");
    assert!(said.contains("query   head.tsq for head "), "{said}");
    reply(&desk, "clock");
    let said =
        desk.fine("study freeze --out out --timestamp-response head.tsr --trust clock-root.pem");
    assert!(said.contains("stamped the head at 20") && said.contains("by clock"), "{said}");
    desk.fine("study run s.toml --out out --jobs 2");
    let said = desk.fine("study verify out --trust clock-root.pem");
    assert!(said.contains("2 ledger entries") && said.contains("sound"), "{said}");

    // The stamp is one of the head at that time, not of what came later.
    let said =
        desk.ends(2, "study freeze --out out --timestamp-response head.tsr --trust clock-root.pem");
    assert!(
        said.contains("head.tsr: ") && said.contains("hint: ask the authority again"),
        "{said}"
    );
}

#[test]
fn a_stamp_of_an_authority_that_is_not_trusted_is_refused() {
    let desk = StudyFolder::new();
    authority(&desk, "clock");
    authority(&desk, "stranger");
    desk.write("s.toml", &tiny("s", 10, &family("confirmatory")));
    desk.fine("study freeze s.toml --out out --timestamp-request head.tsq");
    reply(&desk, "stranger");
    let before = fs::read(desk.path("out/ledger.jsonl")).unwrap();
    let line = "study freeze --out out --timestamp-response head.tsr --trust clock-root.pem";
    let said = desk.ends(2, line);
    assert!(said.contains("error: head.tsr: "), "{said}");
    let mut bytes = fs::read(desk.path("head.tsr")).unwrap();
    bytes.truncate(40);
    fs::write(desk.path("head.tsr"), bytes).unwrap();
    desk.ends(2, line);
    assert_eq!(fs::read(desk.path("out/ledger.jsonl")).unwrap(), before, "nothing was stored");
    // Trusted by one reader, not by another.
    reply(&desk, "stranger");
    desk.fine("study freeze --out out --timestamp-response head.tsr --trust stranger-root.pem");
    let said = desk.ends(1, "study verify out --trust clock-root.pem");
    assert!(said.contains("problem: ") && said.contains("line 2"), "{said}");
}

#[test]
fn sources_may_be_drawn_from_the_stamp_too() {
    let desk = StudyFolder::new();
    authority(&desk, "clock");
    let text = tiny("s", 10, &family("confirmatory"));
    desk.write("s.toml", &text.replace("first = 1\ncount = 4", "draw = 4\nstamped = true"));
    desk.fine("study freeze s.toml --out out --timestamp-request head.tsq");
    let said = desk.ends(2, "study run s.toml --out out");
    assert!(
        said.contains("drawn from the time stamp of entry 0, which is not there yet"),
        "{said}"
    );
    reply(&desk, "clock");
    desk.fine("study freeze --out out --timestamp-response head.tsr --trust clock-root.pem");
    desk.fine("study run s.toml --out out --jobs 2");
    desk.backcut("study collect s.toml --out out");
    let rows = desk.rows("out", "s", "analysis.csv");
    assert_eq!(rows[0].get("status"), "confirmatory by construction", "{}", rows[0].get("why"));
    let ledger = backcut_ledger::Ledger::open(desk.path("out/ledger.jsonl")).unwrap();
    let token = backcut_ledger::Hash::of(&fs::read(desk.path("head.tsr")).unwrap());
    let text = format!("{} {token} source 1", ledger.entries()[0].hash);
    let hash = backcut_ledger::Hash::of(text.as_bytes()).to_string();
    let seed = u64::from_str_radix(&hash[..12], 16).unwrap().to_string();
    let sources = desk.rows("out", "s", "endpoints.csv");
    assert!(sources.iter().any(|row| row.get("source") == seed), "{seed}");
    assert!(desk.fine("study verify out --trust clock-root.pem").contains("sound"));
}
