//! What the policy is told about its velocity.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::QuadrotorError;

/// How the policy reads its velocity.
///
/// Written and read as a number of metres per second or the word `hidden`, in text and in files.
/// The canonical form is the shortest decimal that reads back to the same number: `0.20` becomes
/// `0.2`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub enum VelocityReading {
    /// The true velocity plus normal noise of this standard deviation, m/s.
    Noise(f64),
    /// No reading: every entry of the token that depends on velocity is zero.
    Hidden,
}

impl VelocityReading {
    /// The reading, if its noise is a finite number that is not negative.
    pub fn check(self) -> Result<Self, QuadrotorError> {
        match self {
            Self::Noise(sigma) if !sigma.is_finite() || sigma < 0.0 => {
                Err(QuadrotorError::Noise(sigma))
            }
            // Adding zero turns -0 into 0, so that equal readings print alike.
            Self::Noise(sigma) => Ok(Self::Noise(sigma + 0.0)),
            Self::Hidden => Ok(Self::Hidden),
        }
    }
}

impl fmt::Display for VelocityReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noise(sigma) => write!(f, "{sigma}"),
            Self::Hidden => f.write_str("hidden"),
        }
    }
}

impl FromStr for VelocityReading {
    type Err = QuadrotorError;

    fn from_str(text: &str) -> Result<Self, QuadrotorError> {
        if text == "hidden" {
            return Ok(Self::Hidden);
        }
        match text.parse() {
            Ok(sigma) => Self::Noise(sigma).check(),
            Err(_) => Err(QuadrotorError::Reading(text.to_owned())),
        }
    }
}

/// The form in files.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

impl From<VelocityReading> for Written {
    fn from(reading: VelocityReading) -> Self {
        match reading {
            VelocityReading::Noise(sigma) => Self::Number(sigma),
            VelocityReading::Hidden => Self::Text(reading.to_string()),
        }
    }
}

impl TryFrom<Written> for VelocityReading {
    type Error = QuadrotorError;

    fn try_from(written: Written) -> Result<Self, QuadrotorError> {
        match written {
            Written::Number(sigma) => Self::Noise(sigma).check(),
            Written::Text(text) => text.parse(),
        }
    }
}
