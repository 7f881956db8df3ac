//! The way from a `TimeStampResp` down to its `TSTInfo` (RFC 3161, sections 2.4.1 and 2.4.2). It reads;
//! what it reads is verified by others.
//!
//! The bytes are read by the crate `der`. Its companion `x509-tsp` has these structures too, but its
//! `genTime` takes whole seconds alone, and RFC 3161 lets an authority state fractions. What a
//! signature needs (certificates, signers) is passed over unread.

use der::asn1::Utf8StringRef;
use der::asn1::{AnyRef, BitStringRef, IntRef, ObjectIdentifier, OctetStringRef, SequenceRef};
use der::{Decode, DecodeValue, FixedTag, Header, Reader, Sequence, SliceReader, Tag, Tagged};

use crate::hash::Hash;
use crate::utc::Utc;

const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const TST_INFO: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");

/// No response comes near: it holds a few certificates and a signature.
pub(crate) const LARGEST: usize = 1 << 20;

/// What a response says.
pub(crate) enum Response {
    Refused { status: u64, text: String },
    Granted { imprint: Hash, time: Utc, authority: String },
}

/// Reads a whole response.
pub(crate) fn response(bytes: &[u8]) -> Result<Response, String> {
    if bytes.len() > LARGEST {
        return Err(format!("it has more than {LARGEST} bytes"));
    }
    let response = TimeStampResp::from_der(bytes).map_err(|error| error.to_string())?;
    let PkiStatusInfo { status, text, .. } = response.status;
    // 0 is granted, 1 granted with modifications.
    if status > 1 {
        let text: Vec<&str> = text.iter().flatten().map(AsRef::as_ref).collect();
        let text = if text.is_empty() { "no reason given".into() } else { text.join(" ") };
        return Ok(Response::Refused { status, text });
    }
    let token = response.token.ok_or("it holds no token")?;
    if token.kind != SIGNED_DATA {
        return Err("it does not hold signed data".into());
    }
    let signed = token.content.decode_as::<SignedData>().map_err(|error| error.to_string())?;
    if signed.content.kind != TST_INFO {
        return Err("it does not hold a TSTInfo".into());
    }
    let info = TstInfo::from_der(signed.content.bytes.as_bytes());
    granted(&info.map_err(|error| error.to_string())?)
}

fn granted(info: &TstInfo) -> Result<Response, String> {
    if info.imprint.algorithm.kind != SHA256 {
        return Err("its imprint is not by SHA-256".into());
    }
    let imprint = <[u8; 32]>::try_from(info.imprint.value.as_bytes())
        .map_err(|_| "its imprint has not 32 bytes")?;
    let named = match info.authority {
        Some(name) => texts(name).map_err(|error| error.to_string())?.join(", "),
        None => String::new(),
    };
    let authority = if named.is_empty() { "not named in the token".into() } else { named };
    Ok(Response::Granted { imprint: Hash::from_bytes(imprint), time: info.time.0, authority })
}

/// The texts of a `GeneralName`: the values of a name of a directory, a DNS name or a URI.
fn texts(name: AnyRef) -> der::Result<Vec<String>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let number = name.tag().number().value();
    if name.tag().is_constructed() && number == 4 {
        let mut found = Vec::new();
        for part in Vec::<AnyRef>::from_der(name.value())? {
            part.tag().assert_eq(Tag::Set)?;
            let mut attributes = SliceReader::new(part.value())?;
            while !attributes.is_finished() {
                let value = Attribute::decode(&mut attributes)?.value;
                if WRITTEN.contains(&value.tag()) {
                    found.push(text(value.value()));
                }
            }
        }
        return Ok(found);
    }
    Ok(if matches!(number, 2 | 6) { vec![text(name.value())] } else { vec![] })
}

/// The kinds of text that a name is made of.
const WRITTEN: [Tag; 4] =
    [Tag::Utf8String, Tag::PrintableString, Tag::TeletexString, Tag::Ia5String];

/// `20261115120000Z`, maybe with a fraction of a second, which is dropped.
fn generalized_time(text: &[u8]) -> Option<Utc> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if whole.len() != 14 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let number = |from: usize, to: usize| whole[from..to].parse().unwrap_or_default();
    Utc::from_civil(
        [(0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14)].map(|(a, b)| number(a, b)),
    )
}

struct GenTime(Utc);

impl FixedTag for GenTime {
    const TAG: Tag = Tag::GeneralizedTime;
}

impl<'a> DecodeValue<'a> for GenTime {
    type Error = der::Error;

    fn decode_value<R: Reader<'a>>(reader: &mut R, header: Header) -> der::Result<Self> {
        let text = reader.read_slice(header.length())?;
        generalized_time(text).map(Self).ok_or_else(|| reader.error(Self::TAG.value_error()))
    }
}

macro_rules! sequences {
    ($($name:ident)*) => { $(impl<'a> Sequence<'a> for $name<'a> {})* };
}

sequences! { TimeStampResp PkiStatusInfo ContentInfo SignedData Encapsulated TstInfo Imprint Algorithm Attribute }

#[derive(DecodeValue)]
struct TimeStampResp<'a> {
    status: PkiStatusInfo<'a>,
    #[asn1(optional = "true")]
    token: Option<ContentInfo<'a>>,
}

#[derive(DecodeValue)]
#[expect(dead_code)]
struct PkiStatusInfo<'a> {
    status: u64,
    #[asn1(optional = "true")]
    text: Option<Vec<Utf8StringRef<'a>>>,
    #[asn1(optional = "true")]
    failure: Option<BitStringRef<'a>>,
}

#[derive(DecodeValue)]
struct ContentInfo<'a> {
    kind: ObjectIdentifier,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT")]
    content: AnyRef<'a>,
}

#[derive(DecodeValue)]
#[expect(dead_code)]
struct SignedData<'a> {
    version: IntRef<'a>,
    digests: AnyRef<'a>,
    content: Encapsulated<'a>,
    #[asn1(context_specific = "0", tag_mode = "IMPLICIT", optional = "true")]
    certificates: Option<&'a SequenceRef>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", optional = "true")]
    revocations: Option<&'a SequenceRef>,
    signers: AnyRef<'a>,
}

#[derive(DecodeValue)]
struct Encapsulated<'a> {
    kind: ObjectIdentifier,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT")]
    bytes: &'a OctetStringRef,
}

#[derive(DecodeValue)]
#[expect(dead_code)]
struct TstInfo<'a> {
    version: IntRef<'a>,
    policy: ObjectIdentifier,
    imprint: Imprint<'a>,
    serial: IntRef<'a>,
    time: GenTime,
    #[asn1(optional = "true")]
    accuracy: Option<&'a SequenceRef>,
    #[asn1(optional = "true")]
    ordering: Option<bool>,
    #[asn1(optional = "true")]
    nonce: Option<IntRef<'a>>,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    authority: Option<AnyRef<'a>>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", optional = "true")]
    extensions: Option<&'a SequenceRef>,
}

#[derive(DecodeValue)]
struct Imprint<'a> {
    algorithm: Algorithm<'a>,
    value: &'a OctetStringRef,
}

#[derive(DecodeValue)]
#[expect(dead_code)]
struct Algorithm<'a> {
    kind: ObjectIdentifier,
    parameters: Option<AnyRef<'a>>,
}

#[derive(DecodeValue)]
#[expect(dead_code)]
struct Attribute<'a> {
    kind: ObjectIdentifier,
    value: AnyRef<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let length = content.len();
        let mut bytes = match length {
            0..128 => vec![tag, length as u8],
            128..256 => vec![tag, 0x81, length as u8],
            _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
        };
        bytes.extend(content);
        bytes
    }

    const SEQUENCE: u8 = 0x30;
    const SET: u8 = 0x31;
    const EXPLICIT_0: u8 = 0xa0;

    fn oid(kind: ObjectIdentifier) -> Vec<u8> {
        der(0x06, &[kind.as_bytes()])
    }

    fn integer(value: u8) -> Vec<u8> {
        der(0x02, &[&[value]])
    }

    /// A response whose parts can be bent.
    struct Forged {
        status: Vec<u8>,
        kind: ObjectIdentifier,
        content: ObjectIdentifier,
        algorithm: ObjectIdentifier,
        imprint: Vec<u8>,
        time: &'static str,
        authority: Option<Vec<u8>>,
    }

    impl Default for Forged {
        fn default() -> Self {
            Self {
                status: integer(0),
                kind: SIGNED_DATA,
                content: TST_INFO,
                algorithm: SHA256,
                imprint: vec![7; 32],
                time: "20261115120000Z",
                authority: None,
            }
        }
    }

    impl Forged {
        fn bytes(&self) -> Vec<u8> {
            let algorithm = der(SEQUENCE, &[&oid(self.algorithm), &[0x05, 0]]);
            let imprint = der(SEQUENCE, &[&algorithm, &der(0x04, &[&self.imprint])]);
            let time = der(0x18, &[self.time.as_bytes()]);
            let authority = self.authority.as_ref().map(|name| der(EXPLICIT_0, &[name]));
            let authority = authority.unwrap_or_default();
            let (version, policy, serial) = (integer(1), oid(SHA256), integer(9));
            let info: [&[u8]; 6] = [&version, &policy, &imprint, &serial, &time, &authority];
            let content = der(EXPLICIT_0, &[&der(0x04, &[&der(SEQUENCE, &info)])]);
            let content = der(SEQUENCE, &[&oid(self.content), &content]);
            let signed = der(SEQUENCE, &[&integer(3), &der(SET, &[]), &content, &der(SET, &[])]);
            let token = der(SEQUENCE, &[&oid(self.kind), &der(EXPLICIT_0, &[&signed])]);
            der(SEQUENCE, &[&der(SEQUENCE, &[&self.status]), &token])
        }

        fn read(&self) -> Result<(Hash, String, String), String> {
            match response(&self.bytes())? {
                Response::Granted { imprint, time, authority } => {
                    Ok((imprint, time.to_string(), authority))
                }
                Response::Refused { status, text } => Err(format!("refused ({status}): {text}")),
            }
        }
    }

    #[test]
    fn a_grant_tells_imprint_time_and_that_nobody_is_named() {
        let (imprint, time, authority) = Forged::default().read().unwrap();
        assert_eq!(imprint, Hash::from_bytes([7; 32]));
        assert_eq!(time, "2026-11-15T12:00:00Z");
        assert_eq!(authority, "not named in the token");
    }

    #[test]
    fn granted_with_modifications_is_granted_and_every_higher_status_is_a_refusal() {
        assert!(Forged { status: integer(1), ..Forged::default() }.read().is_ok());
        let refused = Forged { status: integer(2), ..Forged::default() }.read().unwrap_err();
        assert_eq!(refused, "refused (2): no reason given");
        let text = der(SEQUENCE, &[&der(0x0c, &[b"no"]), &der(0x0c, &[b"clock"])]);
        let status = [integer(5), text].concat();
        let refused = Forged { status, ..Forged::default() }.read().unwrap_err();
        assert_eq!(refused, "refused (5): no clock");
        assert!(Forged { status: integer(0xff), ..Forged::default() }.read().is_err(), "negative");
    }

    #[test]
    fn other_contents_and_other_hashes_are_refused() {
        let other = ObjectIdentifier::new_unwrap("1.2.3");
        for (forged, why) in [
            (Forged { kind: other, ..Forged::default() }, "signed data"),
            (Forged { content: other, ..Forged::default() }, "TSTInfo"),
            (Forged { algorithm: other, ..Forged::default() }, "SHA-256"),
            (Forged { imprint: vec![7; 31], ..Forged::default() }, "32 bytes"),
            (Forged { imprint: vec![7; 33], ..Forged::default() }, "32 bytes"),
        ] {
            let error = forged.read().unwrap_err();
            assert!(error.contains(why), "`{error}` lacks `{why}`");
        }
        let bare = der(SEQUENCE, &[&der(SEQUENCE, &[&integer(0)])]);
        assert_eq!(response(&bare).err().as_deref(), Some("it holds no token"));
    }

    #[test]
    fn fractions_of_a_second_are_dropped_and_other_times_refused() {
        let read = |time| Forged { time, ..Forged::default() }.read();
        assert_eq!(read("20261115120000.25Z").unwrap().1, "2026-11-15T12:00:00Z");
        for time in [
            "20261115120000",
            "20261115120000.Z",
            "20261115120000.2xZ",
            "20261115120000,5Z",
            "2026111512000Z",
            "202611151200000Z",
            "2026111512x000Z",
            "+0261115120000Z",
            "20261315120000Z",
            "20261115120000+0100",
            "Z",
            "",
        ] {
            assert!(read(time).is_err(), "{time}");
        }
    }

    #[test]
    fn an_authority_is_named_by_its_directory_name_its_host_or_its_address() {
        let read = |name: &[u8]| {
            Forged { authority: Some(name.to_vec()), ..Forged::default() }.read().map(|read| read.2)
        };
        let attribute = |tag, text: &[u8]| der(SEQUENCE, &[&oid(SHA256), &der(tag, &[text])]);
        let part = |attributes: &[&[u8]]| der(SET, attributes);
        let name = |parts: &[&[u8]]| der(0xa4, &[&der(SEQUENCE, parts)]);
        let two = part(&[&attribute(0x13, b"DE"), &attribute(0x0c, b"Test")]);
        let (third, number) =
            (part(&[&attribute(0x16, b"clock")]), part(&[&attribute(0x02, b"1")]));
        assert_eq!(read(&name(&[&two, &number, &third])).unwrap(), "DE, Test, clock");
        assert_eq!(read(&name(&[&number])).unwrap(), "not named in the token");
        assert_eq!(read(&der(0x82, &[b"tsa.example"])).unwrap(), "tsa.example");
        assert_eq!(read(&der(0x86, &[b"http://tsa"])).unwrap(), "http://tsa");
        assert_eq!(read(&der(0x87, &[&[127, 0, 0, 1]])).unwrap(), "not named in the token");
        // Neither a name that is none nor a number that only looks like one is followed.
        assert_eq!(read(&der(0x84, &[b"x"])).unwrap(), "not named in the token");
        assert_eq!(read(&der(0xa0, &[b"x"])).unwrap(), "not named in the token");
        assert!(read(&name(&[&attribute(0x0c, b"Test")])).is_err(), "a sequence for a set");
        assert!(read(&name(&[&der(SET, &[b"x"])])).is_err());
    }

    #[test]
    fn a_response_has_a_largest_size() {
        let refusal = |bytes: &[u8]| response(bytes).err().unwrap_or_default();
        assert!(!refusal(&vec![0x30; LARGEST]).contains("more than"));
        assert!(refusal(&vec![0x30; LARGEST + 1]).contains("more than 1048576 bytes"));
        assert!(refusal(&vec![0x30; LARGEST + 2]).contains("more than 1048576 bytes"));
    }
}
