//! Named tensors on their way into a safetensors file.
//!
//! The crate writes metadata in the order of a hash map, and equal content must be equal files. So
//! the metadata has one key, `backcut`, whose value is canonical JSON.

use std::collections::BTreeMap;

use backcut_engine::Layout;
use backcut_kernels::Real;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::Value;

use crate::training::config::canonical;

/// The metadata's only key.
pub const KEY: &str = "backcut";

/// Tensors in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Tensors {
    of_name: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl Tensors {
    /// Adds a row-major tensor. Panics if the shape does not have as many elements as `values`.
    pub fn add<R: Real>(&mut self, name: &str, shape: &[usize], values: &[R]) {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "shape of `{name}`");
        let is_single = size_of::<R>() == 4;
        let dtype = if is_single { Dtype::F32 } else { Dtype::F64 };
        // The low bytes of the widened bit pattern are the number's own.
        let bytes =
            values.iter().flat_map(|v| v.bits().to_le_bytes().into_iter().take(size_of::<R>()));
        self.of_name.insert(name.to_owned(), (dtype, shape.to_vec(), bytes.collect()));
    }

    /// Adds a flat vector in a program's layout as one tensor `family/NAME` per parameter.
    pub fn add_parameters<R: Real>(&mut self, family: &str, layout: &Layout, values: &[R]) {
        for parameter in layout.parameters() {
            let shape = [parameter.rows, parameter.cols];
            let name = format!("{family}/{}", parameter.name);
            self.add(&name, &shape, &values[parameter.range()]);
        }
    }

    /// Names, shapes and bytes in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[usize], &[u8])> {
        let all = self.of_name.iter();
        all.map(|(name, (_, shape, bytes))| (name.as_str(), shape.as_slice(), bytes.as_slice()))
    }

    /// The bytes of a safetensors file with this metadata.
    pub fn to_bytes(&self, metadata: &Value) -> Vec<u8> {
        let views = self.of_name.iter().map(|(name, (dtype, shape, bytes))| {
            let view = TensorView::new(*dtype, shape.clone(), bytes);
            (name.as_str(), view.expect("a tensor has as many bytes as its shape says"))
        });
        let metadata = [(KEY.to_owned(), canonical(metadata))].into_iter().collect();
        safetensors::serialize(views, Some(metadata)).expect("names are unique and sizes agree")
    }
}
