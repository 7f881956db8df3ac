//! RFC 3161 time stamps: an authority's signed word that an entry existed at a time.
//!
//! The clock in an entry is its writer's own. A stamp makes the time checkable by others: it holds the
//! hash of an entry as its *message imprint* (SHA-256), so the entry, and by the chain every one before
//! it, is not younger than the stamp. The imprint is the entry's hash itself, not a hash of it: the
//! stamped document is the entry's text without its `hash` field ([`crate::Entry::sealed_text`]), and
//! `openssl ts -verify -data` accepts exactly that.
//!
//! [`request`] makes the query to send (as `application/timestamp-query`, by `curl --data-binary` or
//! any other means: this crate opens no connection), [`read`] reads a response, [`verify`] checks it
//! offline.
//!
//! **Signatures are checked by the `openssl` program.** The crates that could do it (`cms`, `x509-tsp`)
//! read these structures but leave it to the caller to build the chain of certificates, to check the
//! purpose of each and to bind the signer's certificate to the signature; a check of one's own making is
//! worse than none. The chain is judged at the stamp's own time, so that a verdict does not change when
//! a certificate runs out, and no clock is read. Revocation is not looked up.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::entry::{Body, Stamp};
use crate::hash::{Hash, hex, unhex};
use crate::response::{self, Response};
use crate::utc::Utc;

/// What is wrong with a time stamp.
#[derive(Debug, thiserror::Error)]
pub enum TimestampError {
    /// Not a response in the sense of RFC 3161.
    #[error("the response cannot be read as a time stamp: {0}")]
    Unreadable(String),
    /// The authority did not stamp.
    #[error("the authority refused to stamp (status {status}): {text}")]
    Refused {
        /// The status of the response: 2 to 5, RFC 3161 section 2.4.2.
        status: u64,
        /// What the authority says about it.
        text: String,
    },
    /// A stamp of something else.
    #[error("it stamps {stamped} and not {head}")]
    OtherHead {
        /// What it stamps.
        stamped: Hash,
        /// What it should stamp.
        head: Hash,
    },
    /// Signed by somebody whom the given certificates do not vouch for.
    #[error("its signer is not vouched for by {trust}: {detail}", trust = trust.display())]
    Untrusted {
        /// The file of trusted certificates.
        trust: PathBuf,
        /// What openssl says.
        detail: String,
    },
    /// The signature does not fit: the token is not what the authority signed.
    #[error("its signature does not hold, the token is damaged or forged: {0}")]
    Signature(String),
    /// The file of trusted certificates cannot be read.
    #[error("the trusted certificates {path} cannot be read: {error}", path = path.display())]
    Trust {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        error: std::io::Error,
    },
    /// There is no openssl.
    #[error("checking a time stamp takes the program `openssl`, which cannot be started: {0}")]
    NoOpenssl(std::io::Error),
}

/// The query that asks an authority to stamp `head`, in DER.
///
/// Without a nonce: it would guard against an old response to the same query, and an old response to
/// this query is a better stamp, not a worse one.
pub fn request(head: Hash) -> Vec<u8> {
    // TimeStampReq { version 1, messageImprint { { sha256, NULL }, OCTET STRING }, certReq TRUE }
    const BEFORE: &[u8] = &[
        0x30, 0x39, 0x02, 0x01, 0x01, 0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
        0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20,
    ];
    const AFTER: &[u8] = &[0x01, 0x01, 0xff];
    [BEFORE, head.bytes(), AFTER].concat()
}

/// What a response says. Nothing of it is verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    /// The stamped hash.
    pub stamped: Hash,
    /// The authority's time, to the second.
    pub time: Utc,
    /// The authority, as the token names it.
    pub authority: String,
}

impl Read {
    /// Itself, if it stamps `head`.
    pub(crate) fn must_stamp(self, head: Hash) -> Result<Self, TimestampError> {
        let stamped = self.stamped;
        if stamped == head { Ok(self) } else { Err(TimestampError::OtherHead { stamped, head }) }
    }
}

/// Reads a response without checking its signature.
pub fn read(response: &[u8]) -> Result<Read, TimestampError> {
    let response = response::response(response).map_err(TimestampError::Unreadable)?;
    match response {
        Response::Refused { status, text } => Err(TimestampError::Refused { status, text }),
        Response::Granted { imprint, time, authority } => {
            Ok(Read { stamped: imprint, time, authority })
        }
    }
}

/// Checks, offline, that `response` is a stamp of `head` whose signer the certificates in the file
/// `trust` (PEM) vouch for.
pub fn verify(head: Hash, response: &[u8], trust: &Path) -> Result<Read, TimestampError> {
    let read = read(response)?.must_stamp(head)?;
    backcut_files::open(trust)
        .map_err(|error| TimestampError::Trust { path: trust.into(), error })?;
    let mut command = Command::new("openssl");
    command.args(["ts", "-verify", "-in", "/dev/stdin"]);
    command.args(["-digest", &head.to_string(), "-attime", &read.time.unix().to_string()]);
    command.arg("-CAfile").arg(trust);
    let output = run(command, response)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(read)
    } else if said.contains("certificate verify error") {
        Err(TimestampError::Untrusted { trust: trust.into(), detail: reason(&said) })
    } else {
        Err(TimestampError::Signature(reason(&said)))
    }
}

fn run(mut command: Command, input: &[u8]) -> Result<Output, TimestampError> {
    let (piped, quiet) = (Stdio::piped, Stdio::null);
    let child = command.stdin(piped()).stdout(quiet()).stderr(piped()).spawn();
    let mut child = child.map_err(TimestampError::NoOpenssl)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A child that gives up before it has read everything says why itself.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().map_err(TimestampError::NoOpenssl)
}

/// The telling part of what openssl says: its error lines are `id:error:code:library:function:reason:
/// file:line:data`, the first is the cause.
fn reason(said: &str) -> String {
    let line = said.lines().find(|line| line.contains(":error:"));
    let Some(line) = line else { return "openssl gives no reason".into() };
    let parts: Vec<&str> = line.split(':').collect();
    let data = parts.get(8..).unwrap_or_default().join(":");
    let reason = parts.get(5).copied().unwrap_or(line);
    if data.is_empty() { reason.into() } else { format!("{reason} ({data})") }
}

impl Stamp {
    /// The entry body that keeps a response, with what it says of itself.
    pub fn of_response(response: &[u8]) -> Result<Body, TimestampError> {
        let Read { stamped, time, authority } = read(response)?;
        Ok(Body::Timestamp(Self { of: stamped, token: hex(response), authority, time }))
    }

    /// Checks the kept response against trusted certificates.
    pub fn verify(&self, trust: &Path) -> Result<Read, TimestampError> {
        let token = unhex(&self.token);
        let token = token.ok_or_else(|| TimestampError::Unreadable("not hexadecimal".into()))?;
        verify(self.of, &token, trust)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let error = run(Command::new("no-such-program-as-openssl"), b"").unwrap_err();
        assert!(error.to_string().contains("takes the program `openssl`"), "{error}");
    }

    #[test]
    fn the_cause_is_found_in_what_openssl_says() {
        let said = "Using configuration from /etc/openssl.cnf\nVerification: FAILED\n\
            4087:error:17800064:time stamp routines:ts_verify_cert:certificate verify error:\
            ../crypto/ts/ts_rsp_verify.c:190:Verify error:certificate has expired\n";
        let want = "certificate verify error (Verify error:certificate has expired)";
        assert_eq!(reason(said), want);
        assert_eq!(reason(""), "openssl gives no reason");
    }
}
