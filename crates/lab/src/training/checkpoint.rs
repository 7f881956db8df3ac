//! Everything that continues a run, in one safetensors file.
//!
//! Tensors `param/NAME`, and what the optimizer's rule remembers under its own names, as
//! `moment1/NAME` and `moment2/NAME` (f32, row-major, `in x out` for a linear site). Format 1 knows
//! AdamW with a clip and nothing else, and is still written for it; format 2 is that of every other
//! optimizer. The metadata has one key, `backcut`, whose value is the JSON of a [`Header`].
//!
//! Reading trusts nothing: lengths are compared with the file's size before anything is allocated,
//! the header is understood before the tensors are read, and a digest covers all of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use backcut_engine::Layout;
use backcut_files::Hash;
use backcut_kernels::NUMERICS_VERSION;
use backcut_systems::{Optimizer, Stream};
use backcut_text::Hinted;
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::training::config::{RunConfig, Start, ValidRun, canonical};
use crate::training::digest::sha256;
use crate::training::optimizer::Moments;
use crate::training::tensors::{KEY, Tensors};
use crate::training::trainer::State;

/// The newest format, which this build writes where an older one would not do.
pub const FORMAT: u32 = 2;
/// A header beyond this is no checkpoint's.
const MAX_HEADER: u64 = 16 << 20;
/// A file beyond this is no checkpoint.
const MAX_FILE: u64 = 4 << 30;

/// The families of tensors under an optimizer: parameters, then its memory.
fn families(optimizer: &Optimizer) -> impl Iterator<Item = &'static str> {
    ["param"].into_iter().chain(optimizer.rule.kind().memory().iter().copied())
}

/// What a checkpoint says of itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Always `checkpoint`.
    pub kind: String,
    /// Version of the format.
    pub format: u32,
    /// Version of the kernels' bits.
    pub numerics: u32,
    /// Updates done.
    pub update: u64,
    /// The optimizer's own count of steps.
    pub adam_step: u64,
    /// The stream of batches it was made with.
    pub stream: Stream,
    /// Fingerprint of the parameters, as in the log, hexadecimal.
    pub parameter_hash: String,
    /// The run's configuration.
    pub config: RunConfig,
    /// SHA-256 of the configuration's canonical JSON.
    pub config_hash: String,
    /// SHA-256 over counters, configuration and tensors.
    pub digest: String,
}

/// A checkpoint as read: its header, and its tensors by name.
#[derive(Clone, PartialEq, Debug)]
pub struct Checkpoint {
    header: Header,
    tensors: BTreeMap<String, Tensor>,
    path: PathBuf,
}

/// One tensor of a checkpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// Rows and columns.
    pub shape: Vec<usize>,
    /// Row-major values.
    pub values: Vec<f32>,
}

/// A file that is no usable checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Shorter or longer than its own header says.
    #[error("{}: truncated or damaged: {what}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Which length is wrong.
        what: String,
    },
    /// Another kind of file.
    #[error("{}: not a checkpoint of this project: {what}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What gives it away.
        what: String,
    },
    /// Written by a later version.
    #[error("{}: checkpoint format {found}; this build reads up to {FORMAT}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// The content contradicts itself.
    #[error("{}: damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A checkpoint of another policy.
    #[error("{}: does not fit this policy: {what}", path.display())]
    Misfit {
        /// The file.
        path: PathBuf,
        /// The first difference.
        what: String,
    },
}

impl Hinted for CheckpointError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Io { .. } => "check the path and its permissions",
            Self::Truncated { .. } | Self::Damaged { .. } => {
                "the file changed after it was written: use another copy, or rerun what made it"
            }
            Self::Foreign { .. } => "give a checkpoint written by `backcut train`",
            Self::Newer { .. } => "use the version of backcut that wrote it, or a later one",
            Self::Misfit { .. } => "use the system and sizes that the checkpoint was made with",
        }
        .into()
    }
}

/// The bytes of a checkpoint.
pub fn to_bytes(layout: &Layout, state: &State<f32>, run: &ValidRun) -> Vec<u8> {
    let mut tensors = Tensors::default();
    let optimizer = &run.config().optimizer;
    let vectors = [&state.params, &state.moments.first, &state.moments.second];
    for (family, values) in families(optimizer).zip(vectors) {
        tensors.add_parameters(family, layout, values);
    }
    let mut header = Header {
        kind: "checkpoint".to_owned(),
        format: if optimizer.is_of_first_version() { 1 } else { FORMAT },
        numerics: NUMERICS_VERSION,
        update: state.update,
        adam_step: state.moments.step,
        stream: run.config().stream,
        parameter_hash: format!("{:016x}", state.hash()),
        config: run.config().clone(),
        config_hash: run.hash().to_owned(),
        digest: String::new(),
    };
    header.digest = digest(&header, tensors.iter());
    let json = serde_json::to_value(&header).expect("a header holds nothing but plain data");
    tensors.to_bytes(&json)
}

/// Writes a checkpoint: whole or not at all.
pub fn save(
    path: &Path,
    layout: &Layout,
    state: &State<f32>,
    run: &ValidRun,
) -> Result<(), CheckpointError> {
    backcut_files::replace(path, &to_bytes(layout, state, run))
        .map_err(|source| CheckpointError::Io { path: path.to_owned(), source })
}

fn digest<'a>(
    header: &Header,
    tensors: impl Iterator<Item = (&'a str, &'a [usize], &'a [u8])>,
) -> String {
    let mut sha = Sha256::new();
    let Header { kind, format, numerics, update, adam_step, config_hash, .. } = header;
    let Header { stream, parameter_hash, .. } = header;
    sha.update(format!("{kind} {format} {numerics} {update} {adam_step} {config_hash}\n"));
    sha.update(format!("{stream:?} {parameter_hash}\n"));
    for (name, shape, bytes) in tensors {
        sha.update(format!("{name} {shape:?}\n"));
        sha.update(bytes);
    }
    Hash::from_bytes(sha.finalize().into()).to_string()
}

/// Where a branch starts.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    /// How its configuration names the checkpoint.
    pub start: Start,
    /// Parameters, moments and counters at its first update.
    pub state: State<f32>,
}

impl Checkpoint {
    /// Reads a checkpoint and verifies all of it.
    pub fn load(path: &Path) -> Result<Self, CheckpointError> {
        let io = |source| CheckpointError::Io { path: path.to_owned(), source };
        let mut file = backcut_files::open(path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        Self::read(path, &mut file, size)
    }

    /// Reads from `source`, which holds `size` bytes; `path` is for messages.
    pub fn read(path: &Path, source: &mut impl Read, size: u64) -> Result<Self, CheckpointError> {
        let place = || path.to_owned();
        let io = |source| CheckpointError::Io { path: path.to_owned(), source };
        let foreign = |what: String| CheckpointError::Foreign { path: path.to_owned(), what };
        let truncated = |what: String| CheckpointError::Truncated { path: path.to_owned(), what };
        let mut length = [0; 8];
        if size < 8 {
            return Err(truncated(format!("{size} bytes")));
        }
        source.read_exact(&mut length).map_err(io)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER || size > MAX_FILE {
            return Err(foreign(format!("a header of {length} bytes in a file of {size}")));
        }
        if length + 8 > size {
            return Err(truncated(format!("a header of {length} bytes in a file of {size}")));
        }
        let mut header = vec![0; length as usize];
        source.read_exact(&mut header).map_err(io)?;
        let metadata: Metadata = serde_json::from_slice(&header)
            .map_err(|error| foreign(format!("no safetensors header: {error}")))?;
        let header = Header::find(path, &metadata)?;
        let want = metadata.data_len() as u64;
        if want != size - 8 - length {
            return Err(truncated(format!("{want} bytes of tensors in a file of {size}")));
        }
        let mut data = vec![0; want as usize];
        source.read_exact(&mut data).map_err(io)?;
        let damaged = |what: String| CheckpointError::Damaged { path: path.to_owned(), what };
        let infos: BTreeMap<_, _> = metadata.tensors().into_iter().collect();
        let bytes_of = |offsets: (usize, usize)| {
            data.get(offsets.0..offsets.1)
                .ok_or_else(|| damaged("a tensor lies outside".to_owned()))
        };
        let mut tensors = BTreeMap::new();
        for (name, info) in &infos {
            if info.dtype != Dtype::F32 {
                return Err(damaged(format!("tensor `{name}` is {}, not F32", info.dtype)));
            }
            let (words, _) = bytes_of(info.data_offsets)?.as_chunks::<4>();
            let values = words.iter().map(|w| f32::from_le_bytes(*w)).collect();
            tensors.insert(name.clone(), Tensor { shape: info.shape.clone(), values });
        }
        let views = infos.iter().map(|(name, info)| {
            let bytes = data.get(info.data_offsets.0..info.data_offsets.1).unwrap_or(&[]);
            (name.as_str(), info.shape.as_slice(), bytes)
        });
        if digest(&header, views) != header.digest {
            return Err(damaged("its digest does not match its content".to_owned()));
        }
        Ok(Self { header, tensors, path: place() })
    }

    /// What it says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Its tensors in the order of their names.
    pub fn tensors(&self) -> &BTreeMap<String, Tensor> {
        &self.tensors
    }

    /// How a branch's configuration names it.
    pub fn start(&self) -> Start {
        self.header.start()
    }

    /// As the start of a branch that carries everything over.
    pub fn branch(&self, layout: &Layout) -> Result<Branch, CheckpointError> {
        Ok(Branch { start: self.start(), state: self.state(layout)? })
    }

    /// The state it holds, arranged for a policy.
    pub fn state(&self, layout: &Layout) -> Result<State<f32>, CheckpointError> {
        let misfit = |what: String| CheckpointError::Misfit { path: self.path.clone(), what };
        let names = families(&self.header.config.optimizer);
        let count = 1 + self.header.config.optimizer.rule.kind().memory().len();
        let mut families = names.map(|family| {
            let mut flat = Vec::with_capacity(layout.len());
            for parameter in layout.parameters() {
                let name = format!("{family}/{}", parameter.name);
                let tensor =
                    self.tensors.get(&name).ok_or_else(|| misfit(format!("it has no `{name}`")))?;
                let want = [parameter.rows, parameter.cols];
                if tensor.shape != want {
                    let found = &tensor.shape;
                    return Err(misfit(format!("`{name}` is {found:?}, the policy's {want:?}")));
                }
                flat.extend_from_slice(&tensor.values);
            }
            Ok(flat)
        });
        let mut next = || families.next().unwrap_or_else(|| Ok(vec![0.0; layout.len()]));
        let (params, first, second) = (next()?, next()?, next()?);
        if self.tensors.len() != count * layout.parameters().len() {
            return Err(misfit(format!("it has {} tensors in all", self.tensors.len())));
        }
        let Header { update, adam_step, .. } = self.header;
        Ok(State { update, params, moments: Moments { step: adam_step, first, second } })
    }
}

impl Header {
    /// How a branch's configuration names the checkpoint.
    pub fn start(&self) -> Start {
        let Self { update, config_hash, digest, .. } = self;
        Start { update: *update, config: config_hash.clone(), digest: digest.clone() }
    }

    /// Understands the metadata before any tensor is read.
    fn find(path: &Path, metadata: &Metadata) -> Result<Self, CheckpointError> {
        let foreign =
            |what: &str| CheckpointError::Foreign { path: path.to_owned(), what: what.to_owned() };
        let damaged = |what: String| CheckpointError::Damaged { path: path.to_owned(), what };
        let text = metadata.metadata().as_ref().and_then(|m| m.get(KEY));
        let text = text.ok_or_else(|| foreign("a safetensors file of another origin"))?;
        let value: Value =
            serde_json::from_str(text).map_err(|e| damaged(format!("its metadata: {e}")))?;
        match value.get("kind").and_then(Value::as_str) {
            Some("checkpoint") => {}
            Some(other) => return Err(foreign(&format!("it is of kind `{other}`"))),
            None => return Err(damaged("its metadata names no kind".to_owned())),
        }
        let found = value.get("format").and_then(Value::as_u64).unwrap_or(0);
        if found > u64::from(FORMAT) {
            return Err(CheckpointError::Newer { path: path.to_owned(), found });
        }
        let header: Self =
            serde_json::from_value(value).map_err(|e| damaged(format!("its metadata: {e}")))?;
        let config = serde_json::to_value(&header.config)
            .map_err(|e| damaged(format!("its configuration: {e}")))?;
        if sha256(canonical(&config).as_bytes()) != header.config_hash {
            return Err(damaged("its configuration does not match its hash".to_owned()));
        }
        Ok(header)
    }
}
