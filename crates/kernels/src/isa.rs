//! Which vector instructions a kernel may use, decided at run time.
//!
//! An [`Isa`] value is a proof: the only way to obtain one for AVX2 or AVX-512 is to have asked the
//! processor. That is what makes the `unsafe` calls inside `dispatch!` sound.

use std::fmt;
use std::str::FromStr;

/// A code path of the kernels. All paths give the same bits; they differ only in speed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Isa(Path);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Path {
    Avx512,
    Avx2,
    Portable,
}

impl Isa {
    /// The fastest path this processor offers.
    pub fn detect() -> Self {
        let faster = [Path::Avx512, Path::Avx2];
        faster.into_iter().find_map(Self::checked).unwrap_or(Self::portable())
    }

    /// Every path this processor can run, fastest first. `Portable` is always the last entry.
    pub fn available() -> Vec<Self> {
        [Path::Avx512, Path::Avx2, Path::Portable].into_iter().filter_map(Self::checked).collect()
    }

    /// Plain Rust without vector features: slow (fused multiply-add in software), same bits.
    pub fn portable() -> Self {
        Self(Path::Portable)
    }

    pub(crate) fn path(self) -> Path {
        self.0
    }

    fn checked(path: Path) -> Option<Self> {
        let supported = match path {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => {
                std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
            }
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => {
                std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Path::Avx512 | Path::Avx2 => false,
            Path::Portable => true,
        };
        supported.then_some(Self(path))
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Path::Avx512 => "avx512f",
            Path::Avx2 => "avx2+fma",
            Path::Portable => "portable",
        })
    }
}

/// A path that was asked for by name and cannot be had.
#[derive(Debug, PartialEq, Eq)]
pub struct IsaUnavailable(String);

impl fmt::Display for IsaUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = Isa::available().iter().map(ToString::to_string).collect();
        write!(f, "code path `{}` is not available; this machine has {}", self.0, names.join(", "))
    }
}

impl std::error::Error for IsaUnavailable {}

impl FromStr for Isa {
    type Err = IsaUnavailable;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::available()
            .into_iter()
            .find(|isa| isa.to_string().eq_ignore_ascii_case(name))
            .ok_or_else(|| IsaUnavailable(name.to_owned()))
    }
}

/// Defines a public kernel that runs `$body` compiled for the code path that `isa` names. With two names,
/// `sum, sum_on`, the first is for callers who do not choose: it takes no `isa` and detects.
///
/// `$body` must be `#[inline(always)]` safe code: it is inlined into one wrapper per path, so the
/// compiler vectorises the same source three times. Nothing else in the
/// workspace is `unsafe`, but for the vector registers of `product`.
macro_rules! dispatch {
    (
        $(#[$meta:meta])*
        $vis:vis fn $name:ident, $on:ident<R: Real>($($arg:ident: $ty:ty),* $(,)?)
        $(-> $ret:ty)? = $body:path;
    ) => {
        $crate::isa::dispatch! {
            #[doc = concat!("[`", stringify!($name), "`] on a chosen code path: the same bits.")]
            $vis fn $on<R: Real>($($arg: $ty),*) $(-> $ret)? = $body;
        }
        $(#[$meta])*
        $vis fn $name<R: Real>($($arg: $ty),*) $(-> $ret)? {
            $on($crate::Isa::detect(), $($arg),*)
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis fn $name:ident<R: Real $(, $set:ident: $bound:path)*>($($arg:ident: $ty:ty),* $(,)?)
        $(-> $ret:ty)? = $body:path;
    ) => {
        $(#[$meta])*
        $vis fn $name<R: Real $(, $set: $bound)*>(isa: $crate::Isa, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
            fn avx512<R: Real $(, $set: $bound)*>($($arg: $ty),*) $(-> $ret)? { $body($($arg),*) }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<R: Real $(, $set: $bound)*>($($arg: $ty),*) $(-> $ret)? { $body($($arg),*) }
            match isa.path() {
                // SAFETY: an `Isa` of this path exists only after the processor reported exactly
                // the features that the wrapper enables (`Isa::checked`); the body is safe code.
                #[cfg(target_arch = "x86_64")]
                #[allow(unsafe_code)]
                $crate::isa::Path::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above, for AVX2 and FMA.
                #[cfg(target_arch = "x86_64")]
                #[allow(unsafe_code)]
                $crate::isa::Path::Avx2 => unsafe { avx2($($arg),*) },
                _ => $body($($arg),*),
            }
        }
    };
}
pub(crate) use dispatch;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for isa in Isa::available() {
            assert_eq!(isa.to_string().parse::<Isa>(), Ok(isa));
        }
        assert!("sse9".parse::<Isa>().is_err());
    }
}
