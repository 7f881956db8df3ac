//! Time stamps against an authority that `openssl` plays in a temporary folder.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use backcut_ledger::{
    Body, Draw, Hash, Ledger, LedgerError, Level, NotDrawn, RuleError, Stamp, TimestampError, Utc,
};
use backcut_ledger::{timestamp, verify};
use common::{study, three_entries, utc};
use tempfile::TempDir;

const CONFIG: &str = "
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
ordering = yes
tsa_name = yes
[strict]
serial = serial
default_policy = 1.2.3.4.1
digests = sha512
signer_digest = sha256
";

/// A certificate authority and a time-stamping authority that it vouches for.
struct Authority(TempDir);

impl Authority {
    fn new() -> Self {
        let authority = Self(tempfile::tempdir().unwrap());
        fs::write(authority.file("config"), CONFIG).unwrap();
        fs::write(authority.file("serial"), "01").unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        for command in [
            format!("req -x509 {key} -keyout ca.key -out ca.pem -days 30 -subj /CN=Test_root -config config -extensions ca"),
            format!("req {key} -keyout tsa.key -out tsa.csr -subj /O=Test/CN=Test_authority -config config"),
            "x509 -req -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out tsa.pem -extfile config -extensions tsa".into(),
        ] {
            authority.openssl(&command);
        }
        authority
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn trust(&self) -> PathBuf {
        self.file("ca.pem")
    }

    #[track_caller]
    fn openssl(&self, arguments: &str) -> bool {
        let mut command = Command::new("openssl");
        // `req` wants a section for names even when all are given.
        fs::write(self.file("empty"), "[req]\ndistinguished_name = dn\n[dn]\n").unwrap();
        command.current_dir(self.0.path()).env("OPENSSL_CONF", self.file("empty"));
        let output = command.args(arguments.split(' ')).output().expect("openssl is installed");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {arguments}: {said}");
        true
    }

    fn reply(&self, head: Hash, section: &str) -> Vec<u8> {
        fs::write(self.file("query"), timestamp::request(head)).unwrap();
        self.openssl(&format!(
            "ts -reply -queryfile query -config config -section {section} -signer tsa.pem -inkey tsa.key -out reply"
        ));
        fs::read(self.file("reply")).unwrap()
    }

    fn stamp(&self, head: Hash) -> Vec<u8> {
        self.reply(head, "tsa_config")
    }
}

fn head() -> Hash {
    Hash::of(b"an entry")
}

#[test]
fn the_query_is_the_one_that_openssl_writes() {
    let authority = Authority::new();
    let digest = head();
    authority.openssl(&format!("ts -query -digest {digest} -sha256 -no_nonce -cert -out theirs"));
    assert_eq!(fs::read(authority.file("theirs")).unwrap(), timestamp::request(digest));
}

#[test]
fn a_good_stamp_verifies_and_tells_its_time_and_authority() {
    let authority = Authority::new();
    let token = authority.stamp(head());
    let read = timestamp::verify(head(), &token, &authority.trust()).unwrap();
    assert_eq!(read.authority, "Test, Test_authority");
    assert_eq!(read.stamped, head());
    // The time is openssl's reading of the same token.
    let output = Command::new("openssl")
        .args(["ts", "-reply", "-text", "-in"])
        .arg(authority.file("reply"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Time stamp: ")).unwrap();
    let clock = line.split_whitespace().nth(2).unwrap();
    assert_eq!(read.time.to_string()[11..19], *clock, "{line}");
}

#[test]
fn the_stamped_document_is_the_entry_without_its_hash() {
    let authority = Authority::new();
    let ledger = three_entries(&authority.file("ledger.jsonl"));
    let entry = ledger.entries().last().unwrap();
    authority.stamp(entry.hash);
    fs::write(authority.file("document"), entry.sealed_text().unwrap()).unwrap();
    authority.openssl("ts -verify -data document -in reply -CAfile ca.pem");
}

#[test]
fn a_stamp_of_another_head_is_refused() {
    let authority = Authority::new();
    let token = authority.stamp(Hash::of(b"another entry"));
    let error = timestamp::verify(head(), &token, &authority.trust()).unwrap_err();
    assert!(matches!(error, TimestampError::OtherHead { .. }), "{error}");
}

/// A time as a token holds it: `YYYYMMDDhhmmss`, tagged, without fractions or the closing `Z`.
fn generalized(time: Utc) -> [u8; 16] {
    let digits: String = time.to_string().chars().filter(char::is_ascii_digit).collect();
    [&[0x18, 0x0f], &digits.as_bytes()[..14]].concat().try_into().unwrap()
}

/// A forger who writes the head into a stamp of something else breaks its signature.
#[test]
fn a_forged_imprint_or_time_or_signature_is_refused() {
    let authority = Authority::new();
    let other = Hash::of(b"another entry");
    let token = authority.stamp(other);
    let find =
        |token: &[u8], part: &[u8]| token.windows(part.len()).position(|w| w == part).unwrap();
    let mut imprint = token.clone();
    let at = find(&token, other.bytes());
    imprint[at..at + 32].copy_from_slice(head().bytes());

    let good = authority.stamp(head());
    let (mut time, mut signature) = (good.clone(), good.clone());
    let read = timestamp::read(&good).unwrap();
    // A second later: a second earlier, or another year, and the certificate itself might not hold.
    let at = find(&good, &generalized(read.time));
    let later = Utc::from_unix(read.time.unix() as u64 + 1).unwrap();
    time[at..at + 16].copy_from_slice(&generalized(later));
    let end = signature.len() - 1;
    signature[end] ^= 1;
    for (what, token) in [("imprint", imprint), ("time", time), ("signature", signature)] {
        let error = timestamp::verify(head(), &token, &authority.trust()).unwrap_err();
        assert!(matches!(error, TimestampError::Signature(_)), "{what}: {error}");
    }
    timestamp::verify(head(), &good, &authority.trust()).unwrap();
}

#[test]
fn an_authority_that_nobody_vouches_for_is_refused() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let token = authority.stamp(head());
    let error = timestamp::verify(head(), &token, &stranger.trust()).unwrap_err();
    assert!(matches!(error, TimestampError::Untrusted { .. }), "{error}");
    let nowhere = Path::new("no/such/file.pem");
    let error = timestamp::verify(head(), &token, nowhere).unwrap_err();
    assert!(matches!(error, TimestampError::Trust { .. }), "{error}");
}

#[test]
fn a_refusal_and_a_text_that_is_no_response_are_told_apart() {
    let authority = Authority::new();
    let refusal = authority.reply(head(), "strict");
    let error = timestamp::read(&refusal).unwrap_err();
    assert!(matches!(error, TimestampError::Refused { status: 2, .. }), "{error}");
    let token = authority.stamp(head());
    for length in 0..token.len() {
        // Whatever is cut off, it is an error and never a panic.
        assert!(matches!(timestamp::read(&token[..length]), Err(TimestampError::Unreadable(_))));
    }
    let longer = [&token[..], b"\n"].concat();
    assert!(matches!(timestamp::read(&longer), Err(TimestampError::Unreadable(_))));
    for page in
        [&b"<html>not found</html>"[..], &[0x30, 0x80, 0, 0], &[0x30, 0x84, 255, 255, 255, 255]]
    {
        assert!(matches!(timestamp::read(page), Err(TimestampError::Unreadable(_))));
    }
}

#[test]
fn a_ledger_keeps_stamps_and_verifies_them() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let path = authority.file("ledger.jsonl");
    let mut ledger = three_entries(&path);
    let stamped = ledger.head();
    let body = Stamp::of_response(&authority.stamp(stamped)).unwrap();
    ledger.append(utc(3), body.clone()).unwrap();

    let report = verify(&path, Some(&authority.trust())).unwrap();
    assert!(report.is_sound() && report.stamps == 1, "{:?}", report.findings);
    let report = verify(&path, None).unwrap();
    assert!(report.is_sound() && report.stamps == 0);
    assert!(report.findings.iter().any(|f| f.what.contains("not checked")));
    let report = verify(&path, Some(&stranger.trust())).unwrap();
    let fault = report.findings.iter().find(|f| f.level == Level::Fault).unwrap();
    assert!(fault.line == 4 && fault.what.contains("not vouched for"), "{fault:?}");

    // An entry's time that is later than the authority's is noted.
    let ahead =
        ledger.append("2999-01-01T00:00:00Z".parse().unwrap(), Body::Freeze(study("D", &[], &[])));
    let body = Stamp::of_response(&authority.stamp(ahead.unwrap())).unwrap();
    ledger.append(utc(4), body).unwrap();
    let report = verify(&path, Some(&authority.trust())).unwrap();
    assert!(report.is_sound() && report.stamps == 2);
    assert!(
        report.findings.iter().any(|f| f.line == 6 && f.what.contains("the authority saw entry 4"))
    );
}

#[test]
fn a_ledger_takes_no_stamp_of_something_else_and_no_misquoted_one() {
    let authority = Authority::new();
    let mut ledger = three_entries(&authority.file("ledger.jsonl"));
    let stray = Stamp::of_response(&authority.stamp(head())).unwrap();
    let error = ledger.append(utc(3), stray.clone()).unwrap_err();
    assert!(matches!(error, LedgerError::Rule(RuleError::StampOfNothing(_))), "{error}");
    let Body::Timestamp(mut stamp) = stray else { panic!() };
    stamp.of = ledger.head();
    let error = ledger.append(utc(3), Body::Timestamp(stamp)).unwrap_err();
    assert!(matches!(error, LedgerError::Rule(RuleError::Stamp { .. })), "{error}");
    let good = Stamp::of_response(&authority.stamp(ledger.head())).unwrap();
    let Body::Timestamp(mut stamp) = good else { panic!() };
    stamp.time = utc(0);
    let error = ledger.append(utc(3), Body::Timestamp(stamp)).unwrap_err();
    assert!(matches!(error, LedgerError::Rule(RuleError::Misquoted { .. })), "{error}");
    assert_eq!(Ledger::open(ledger.path()).unwrap().entries().len(), 3);
}

/// By the rule that the documentation spells out; the stamps of other entries do not count, nor do later
/// ones of the same.
#[test]
fn sources_are_drawn_from_the_first_token_that_stamps_the_entry() {
    let authority = Authority::new();
    let mut ledger = Ledger::open(authority.file("ledger.jsonl")).unwrap();
    let other = ledger.append(utc(0), Body::Freeze(study("other", &["a"], &[]))).unwrap();
    let mut frozen = study("drawn", &["b"], &[]);
    frozen.draw = Some(Draw { sources: 1, stamped: true });
    let entry = ledger.append(utc(1), Body::Freeze(frozen)).unwrap();
    let stray = Stamp::of_response(&authority.stamp(other)).unwrap();
    ledger.append(utc(2), stray).unwrap();
    assert_eq!(ledger.drawn("drawn", 1), Err(NotDrawn::Unstamped(1)));
    let token = authority.stamp(entry);
    ledger.append(utc(3), Stamp::of_response(&token).unwrap()).unwrap();
    let again = Stamp::of_response(&authority.stamp(entry)).unwrap();
    ledger.append(utc(4), again).unwrap();
    let digest = Hash::of(format!("{entry} {} source 1", Hash::of(&token)).as_bytes());
    let seed = u64::from_str_radix(&digest.to_string()[..12], 16).unwrap();
    assert_eq!(ledger.drawn("drawn", 1), Ok(vec![seed]));
}
