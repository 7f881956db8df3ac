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
    let number = |from: usize, to: usize| whole[from..to].parse().unwrap_or(-1);
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
