//! As much of DER as reading a time stamp takes: the way from a `TimeStampResp` down to its `TSTInfo`
//! (RFC 3161, sections 2.4.1 and 2.4.2). It reads; what it reads is verified by others.

use crate::hash::Hash;
use crate::utc::Utc;

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// Context tag 0, constructed.
const EXPLICIT_0: u8 = 0xa0;

const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];

/// What a response says.
pub(crate) enum Response {
    Refused { status: u64, text: String },
    Granted { imprint: Hash, time: Utc, authority: String },
}

/// Reads a whole response.
pub(crate) fn response(bytes: &[u8]) -> Result<Response, String> {
    let mut file = Reader(bytes);
    let mut response = file.inside(SEQUENCE, "TimeStampResp")?;
    if !file.0.is_empty() {
        return Err("there are bytes after its end".into());
    }
    let mut status_info = response.inside(SEQUENCE, "PKIStatusInfo")?;
    let status = status_info.take(INTEGER, "status")?;
    let status =
        status.iter().try_fold(0_u64, |n, byte| n.checked_mul(256)?.checked_add((*byte).into()));
    let status = status.ok_or("the status is no small number")?;
    // 0 is granted, 1 granted with modifications.
    if status > 1 {
        let text = texts(status_info.0, DEEPEST).join(" ");
        let text = if text.is_empty() { "no reason given".into() } else { text };
        return Ok(Response::Refused { status, text });
    }
    let mut content = response.inside(SEQUENCE, "timeStampToken")?;
    content.expect(OID, SIGNED_DATA, "signed data")?;
    let mut signed = content.inside(EXPLICIT_0, "content")?.inside(SEQUENCE, "SignedData")?;
    signed.take(INTEGER, "version")?;
    signed.take(SET, "digestAlgorithms")?;
    let mut encapsulated = signed.inside(SEQUENCE, "encapContentInfo")?;
    encapsulated.expect(OID, TST_INFO, "a TSTInfo")?;
    let mut info = encapsulated.inside(EXPLICIT_0, "eContent")?;
    let info = info.take(OCTETS, "eContent")?;
    tst_info(Reader(info).inside(SEQUENCE, "TSTInfo")?)
}

fn tst_info(mut info: Reader) -> Result<Response, String> {
    info.take(INTEGER, "version")?;
    info.take(OID, "policy")?;
    let mut imprint = info.inside(SEQUENCE, "messageImprint")?;
    imprint.inside(SEQUENCE, "hashAlgorithm")?.expect(OID, SHA256, "SHA-256")?;
    let imprint = <[u8; 32]>::try_from(imprint.take(OCTETS, "hashedMessage")?)
        .map_err(|_| "the imprint has not 32 bytes")?;
    info.take(INTEGER, "serialNumber")?;
    let time = info.take(GENERALIZED_TIME, "genTime")?;
    let time = generalized_time(time).ok_or("genTime is no time in UTC")?;
    for optional in [SEQUENCE, BOOLEAN, INTEGER] {
        info.skip(optional)?;
    }
    let named =
        info.take(EXPLICIT_0, "tsa").map(|tsa| texts(tsa, DEEPEST)).unwrap_or_default().join(", ");
    let authority = if named.is_empty() { "not named in the token".into() } else { named };
    Ok(Response::Granted { imprint: Hash::from_bytes(imprint), time, authority })
}

/// `20261115120000Z`, maybe with a fraction of a second, which is dropped.
fn generalized_time(text: &[u8]) -> Option<Utc> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if whole.len() != 14 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let number = |from: usize, to: usize| whole[from..to].parse().unwrap_or(-1);
    Utc::from_civil(
        [(0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14)].map(|(a, b)| number(a, b)),
    )
}

/// A name is some five levels deep; a forged one shall not exhaust the stack.
const DEEPEST: usize = 16;

/// All texts inside, in order: the parts of a name.
fn texts(bytes: &[u8], depth: usize) -> Vec<String> {
    let (mut found, mut reader) = (Vec::new(), Reader(bytes));
    while let Ok((tag, content)) = reader.next() {
        match tag {
            // UTF8String, PrintableString, T61String, IA5String; a URI or DNS name in a GeneralName.
            0x0c | 0x13 | 0x14 | 0x16 | 0x82 | 0x86 => {
                found.push(String::from_utf8_lossy(content).into_owned());
            }
            constructed if constructed & 0x20 != 0 && depth > 0 => {
                found.extend(texts(content, depth - 1));
            }
            _ => {}
        }
    }
    found
}

#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next element: its tag and content.
    fn next(&mut self) -> Result<(u8, &'a [u8]), String> {
        let short = || "it ends too early".to_owned();
        let [tag, length, rest @ ..] = self.0 else { return Err(short()) };
        let (length, rest) = match *length {
            length @ 0..=0x7f => (usize::from(length), rest),
            0x81..=0x84 => {
                let count = usize::from(*length - 0x80);
                let (digits, rest) = rest.split_at_checked(count).ok_or_else(short)?;
                (digits.iter().fold(0, |n, digit| n << 8 | usize::from(*digit)), rest)
            }
            _ => return Err("it is not DER (a length of unknown form)".into()),
        };
        let (content, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok((*tag, content))
    }

    fn take(&mut self, tag: u8, what: &str) -> Result<&'a [u8], String> {
        match self.next() {
            Ok((found, content)) if found == tag => Ok(content),
            Ok((found, _)) => Err(format!("tag {found:#04x} where `{what}` ({tag:#04x}) belongs")),
            Err(error) => Err(format!("no `{what}`: {error}")),
        }
    }

    fn inside(&mut self, tag: u8, what: &str) -> Result<Reader<'a>, String> {
        self.take(tag, what).map(Reader)
    }

    fn expect(&mut self, tag: u8, content: &[u8], what: &str) -> Result<(), String> {
        let found = self.take(tag, what)?;
        if found == content { Ok(()) } else { Err(format!("it does not hold {what}")) }
    }

    /// Passes over an optional element.
    fn skip(&mut self, tag: u8) -> Result<(), String> {
        if self.0.first() == Some(&tag) { self.next().map(|_| ()) } else { Ok(()) }
    }
}
